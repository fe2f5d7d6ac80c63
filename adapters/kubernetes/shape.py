"""Gives untyped data its shape: msgspec for the hot kinds, pydantic for the rest, one error format.

msgspec stops at the first error; the faulty part is then taken out and the rest tried again, so
that every error of an object is found.
"""

import re
from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec
import pydantic
from pydantic.alias_generators import to_camel

from ..paths import below, joined
from .faults import Fault

T = TypeVar("T")
M = TypeVar("M", bound=pydantic.BaseModel)

_MOST_FAULTS = 20
_ERROR = re.compile(r"(?P<what>.*?)(?: - at (?P<key>`key` in )?`(?P<path>\$[^`]*)`)?", re.DOTALL)
_STEP = re.compile(r"\.(\w+)|\[(\d+|\.\.\.)\]")
_TYPES = re.compile(r"Expected `(?P<want>[^`]+)`, got `(?P<got>[^`]+)`")
_BOUND = re.compile(r"Expected `(?:int|float)` (?P<which>[<>]=) (?P<bound>-?\d+)")
_WORDS = {
    "str": "text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "object": "a mapping",
    "array": "a list",
}
_ANY_VALUE = "..."


class Outside(pydantic.BaseModel):
    """A part of an object of a rarer kind: camelCase, strict, unknown fields passed over."""

    model_config = pydantic.ConfigDict(
        strict=True, extra="ignore", alias_generator=to_camel, populate_by_name=True, frozen=True
    )


class Hot(msgspec.Struct, rename="camel", gc=False):
    """A part of an object that comes by the ten thousand."""


def shaped(data: Any, kind: type[T]) -> tuple[T | None, list[Fault]]:
    """Return the data as a struct, or None and everything that is wrong with it."""
    try:
        return msgspec.convert(data, kind), []
    except msgspec.ValidationError as e:
        return None, _every_fault(data, kind, e)


def checked(data: Any, kind: type[M]) -> tuple[M | None, list[Fault]]:
    """Return the data as a model, or None and everything that is wrong with it."""
    try:
        return kind.model_validate(data), []
    except pydantic.ValidationError as e:
        return None, [_pydantic_fault(error) for error in e.errors(include_url=False)]


def _every_fault(data: Any, kind: type[Any], error: msgspec.ValidationError) -> list[Fault]:
    found: list[Fault] = []
    while len(found) < _MOST_FAULTS:
        steps, message = _read(error)
        for place, value in _faulty(data, steps, kind):
            found.append((joined(place), _said(message, value)))
            data = _without(data, place)
        try:
            msgspec.convert(data, kind)
            break
        except msgspec.ValidationError as e:
            error = e
    return list(dict.fromkeys(found))


def _read(error: msgspec.ValidationError) -> tuple[tuple[str | int, ...], str]:
    """Return the steps of the path (``...`` for a mapping's unnamed value) and the message."""
    match = _ERROR.fullmatch(str(error))
    if match is None or match["path"] is None:
        return (), str(error) if match is None else match["what"]
    steps = tuple(
        name or (_ANY_VALUE if index == _ANY_VALUE else int(index))
        for name, index in _STEP.findall(match["path"])
    )
    return steps, match["what"]


def _faulty(
    data: Any, steps: tuple[str | int, ...], kind: type[Any]
) -> list[tuple[tuple[str | int, ...], Any]]:
    """Return the places that the path means, with their values."""
    if _ANY_VALUE not in steps:
        value = data
        for step in steps:
            value = value[step]
        return [(steps, value)]
    cut = steps.index(_ANY_VALUE)
    mapping = data
    for step in steps[:cut]:
        mapping = mapping[step]
    places: list[tuple[tuple[str | int, ...], Any]] = []
    for key, value in mapping.items():
        alone = _replaced(data, steps[:cut], {key: value})
        try:
            msgspec.convert(alone, kind)
        except msgspec.ValidationError as e:
            if _read(e)[0] == steps:
                places.append(((*steps[:cut], key), value))
    return places or [(steps[:cut], mapping)]


def _replaced(data: Any, place: tuple[str | int, ...], value: Any) -> Any:
    if not place:
        return value
    copy: Any = dict(data) if isinstance(data, Mapping) else list(data)
    copy[place[0]] = _replaced(data[place[0]], place[1:], value)
    return copy


def _without(data: Any, place: tuple[str | int, ...]) -> Any:
    """Return the data without what stands there; a list goes whole, so that indices stay true."""
    while place and isinstance(place[-1], int):
        place = place[:-1]
    if not place:
        return {}
    *front, last = place
    parent = data
    for step in front:
        parent = parent[step]
    return _replaced(data, tuple(front), {k: v for k, v in parent.items() if k != last})


def _said(message: str, value: Any) -> str:
    types = _TYPES.search(message)
    if types is not None:
        return _wanted(types["want"].split(" | "), value)
    bound = _BOUND.search(message)
    if bound is not None:
        return _out_of_range("least" if bound["which"] == ">=" else "most", bound["bound"], value)
    return f"{message.replace('`', '')}, got {_shown(value)}"


def _wanted(kinds: list[str], value: Any) -> str:
    words = " or ".join(_WORDS.get(k, k) for k in kinds if k != "null")
    said = f"expected {words}, got {_shown(value)}"
    if "str" not in kinds or isinstance(value, dict | list):
        return said
    if isinstance(value, bool):
        said += "; YAML reads a bare yes, no, on or off as true or false"
    return f"{said}; put it in quotes"


def _out_of_range(end: str, bound: object, value: Any) -> str:
    return f"must be at {end} {bound}, got {_shown(value).removeprefix('the number ')}"


def _shown(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int) and abs(value) >= 1 << 64:
        return "a number that is far too large"
    if isinstance(value, int | float):
        return f"the number {value}"
    if isinstance(value, str):
        return repr(value if len(value) <= 60 else value[:57] + "...")
    return "a list" if isinstance(value, list) else "a mapping"


_PYDANTIC_TYPES = {
    "string_type": ["str"],
    "int_type": ["int"],
    "int_from_float": ["int"],
    "int_parsing_size": ["int"],
    "float_type": ["float"],
    "bool_type": ["bool"],
    "dict_type": ["object"],
    "model_type": ["object"],
    "model_attributes_type": ["object"],
    "list_type": ["array"],
}


def _pydantic_fault(error: Any) -> Fault:
    path = joined(step for step in error["loc"] if step != "[key]")
    kind, value = error["type"], error["input"]
    if kind in _PYDANTIC_TYPES:
        return path, _wanted(_PYDANTIC_TYPES[kind], value)
    if kind in ("greater_than_equal", "less_than_equal"):
        end, bound = ("least", "ge") if kind == "greater_than_equal" else ("most", "le")
        return path, _out_of_range(end, error["ctx"][bound], value)
    if kind == "missing":
        return path, "is missing; write it"
    if kind == "value_error":
        return path, str(error["ctx"]["error"])
    return path, f"{error['msg']}, got {_shown(value)}"


def text_map(raw: dict[str, str | None] | None) -> dict[str, str]:
    """Return labels or annotations; a null value is empty text, as the API server reads it."""
    if not raw:
        return {}
    if None in raw.values():
        return {k: v or "" for k, v in raw.items()}
    return raw  # type: ignore[return-value]  # no value is None


__all__ = ["Hot", "Outside", "below", "checked", "joined", "shaped", "text_map"]
