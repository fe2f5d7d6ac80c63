"""Documents of our own (scenarios, configurations): every mistake at once, each with its path."""

import re
from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

import pydantic
from pydantic.alias_generators import to_camel

from ..models import InputError
from ..models.unknown import did_you_mean
from .kubernetes.shape import checked

API_VERSION = "apportion.dev/v1alpha1"
_UNKNOWN = "Extra inputs are not permitted"
_MOST_SHOWN = 12
_STEPS = re.compile(r"[^.\[\]]+")
Schema = dict[str, Any]


class Strict(pydantic.BaseModel):
    """A part of a document of ours: camelCase, no coercion, no unknown keys."""

    model_config = pydantic.ConfigDict(
        strict=True, extra="forbid", alias_generator=to_camel, frozen=True
    )


M = TypeVar("M", bound=Strict)


def parsed(data: Any, kind: type[M], source: str, faults: Iterable[tuple[str, str]] = ()) -> M:
    """Return the document as a model.

    Raises
    ------
    InputError
        With everything that is wrong with it, each with its path.
    """
    model, found = checked(data, kind)
    wrong = [*faults, *(_worded(path, message, kind) for path, message in found)]
    if model is None or wrong:
        raise InputError(sentence(source, wrong))
    return model


def sentence(source: str, wrong: Iterable[tuple[str, str]]) -> str:
    """Return one line that names every mistake."""
    parts = list(
        dict.fromkeys(f"{path}: {message}" if path else message for path, message in wrong)
    )
    more = f"; and {len(parts) - _MOST_SHOWN} more" if len(parts) > _MOST_SHOWN else ""
    return f"{source}: " + "; ".join(parts[:_MOST_SHOWN]) + more


def _worded(path: str, message: str, kind: type[Strict]) -> tuple[str, str]:
    if not message.startswith(_UNKNOWN):
        return path, message
    meant = did_you_mean(path.rsplit(".", 1)[-1], _keys_beside(path, kind))
    return path, f"there is no such key here{f'; {meant}' if meant else ''}"


def _keys_beside(path: str, kind: type[Strict]) -> set[str]:
    """Return the keys that could stand where the path ends, by the JSON Schema of the document."""
    schema = kind.model_json_schema()
    here = [schema]
    for step in _STEPS.findall(path.rpartition(".")[0]):
        here = [below for at in here for below in _below(_options(at, schema), step)]
    return {
        key
        for at in here
        for option in _options(at, schema)
        for key in option.get("properties", ())
    }


def _options(at: Schema, whole: Schema) -> list[Schema]:
    """Return what a part of the schema stands for: references are followed."""
    if "$ref" in at:
        return _options(whole["$defs"][at["$ref"].rsplit("/", 1)[-1]], whole)
    if "anyOf" in at:
        return [option for other in at["anyOf"] for option in _options(other, whole)]
    return [at]


def _below(options: Iterable[Schema], step: str) -> Iterator[Schema]:
    """Yield the schemas of what a key of a mapping, or an index of a list, leads to."""
    for at in options:
        if step.isdigit() and "items" in at:
            yield at["items"]
        elif step in at.get("properties", {}):
            yield at["properties"][step]
        elif isinstance(at.get("additionalProperties"), dict):
            yield at["additionalProperties"]
