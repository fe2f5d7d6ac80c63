"""YAML as Kubernetes reads it: text stays text, keys are text, aliases are bounded.

Differences to PyYAML's SafeLoader: timestamps and sexagesimal numbers (``12:30``) stay text, a key
that is written twice is reported with its path, tags other than YAML's own are refused, and
aliases may not expand without bound or contain themselves.
"""

import re
from collections.abc import Hashable, Iterator
from typing import Any

import yaml
from yaml.nodes import Node, ScalarNode, SequenceNode

from ..models import InputError

Place = tuple[str | int, ...]
Fault = tuple[Place, str]

MOST_VALUES = 5_000_000
"""Values that the aliases of one document may expand to."""
DEEPEST = 200
"""Levels of nesting in one document."""

_TAG = "tag:yaml.org,2002:"
_MERGE = _TAG + "merge"
_INT = re.compile(r"[-+]?(?:0b[01_]+|0x[0-9a-fA-F_]+|0o?[0-7_]+|[1-9][0-9_]*|0)")


class _Loader(yaml.CSafeLoader):
    """Composes nodes with C; resolves plain scalars by the rules above."""

    yaml_implicit_resolvers = {  # noqa: RUF012 - PyYAML's own way to say it
        first: [(tag, form) for tag, form in forms if not tag.endswith((":timestamp", ":int"))]
        for first, forms in yaml.CSafeLoader.yaml_implicit_resolvers.items()
    }


_Loader.add_implicit_resolver(_TAG + "int", _INT, list("-+0123456789"))


def yaml_documents(text: str, source: str) -> Iterator[tuple[Any, list[Fault]]]:
    """Yield the value of each document with what is wrong inside it.

    Raises
    ------
    InputError
        If it is not YAML.
    """
    try:
        loader = _Loader(text)
        while loader.check_node():
            build = _Build(source)
            node = loader.get_node()
            if node is not None:
                yield build.value(node, ()), build.faults
    except yaml.YAMLError as e:
        raise InputError(f"{source} is neither YAML nor JSON: {_place(e)}") from e


def _place(error: yaml.YAMLError) -> str:
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or str(error).splitlines()[0]
    if mark is None:
        return problem
    return f"line {mark.line + 1}, column {mark.column + 1}: {problem}"


class _Build:
    """Turns the nodes of one document into values; each node once, however many aliases it has."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.faults: list[Fault] = []
        self._done: dict[Node, tuple[Any, int]] = {}
        self._open: set[Node] = set()

    def value(self, node: Node, place: Place) -> Any:
        return self._sized(node, place)[0]

    def _sized(self, node: Node, place: Place) -> tuple[Any, int]:
        """Return the value and how many values it expands to."""
        done = self._done.get(node)
        if done is not None:
            return done
        if isinstance(node, ScalarNode):
            return self._scalar(node), 1
        if node in self._open:
            raise self._refused(node, "an alias that contains itself")
        if len(place) >= DEEPEST:
            raise self._refused(node, f"more than {DEEPEST} levels of nesting")
        self._open.add(node)
        if not node.tag.startswith(_TAG):
            raise self._refused(node, f"the tag {node.tag}, which Kubernetes does not know")
        out: tuple[Any, int]
        if isinstance(node, SequenceNode):
            out = self._sequence(node, place)
        else:
            out = self._mapping(node, place)
        self._open.discard(node)
        if out[1] > MOST_VALUES:
            raise self._refused(node, f"aliases that expand to over {MOST_VALUES} values")
        self._done[node] = out
        return out

    def _sequence(self, node: SequenceNode, place: Place) -> tuple[list[Any], int]:
        pairs = [self._sized(child, (*place, i)) for i, child in enumerate(node.value)]
        return [value for value, _ in pairs], 1 + sum(size for _, size in pairs)

    def _mapping(self, node: Node, place: Place) -> tuple[dict[str, Any], int]:
        out: dict[str, Any] = {}
        merged: dict[str, Any] = {}
        total = 1
        for key_node, value_node in node.value:
            key = self._key(key_node)
            value, size = self._sized(value_node, (*place, key))
            total += size
            if key_node.tag == _MERGE:
                merged = {**self._merge(value, value_node), **merged}
            elif key in out:
                line = key_node.start_mark.line + 1
                self.faults.append(
                    ((*place, key), f"is written twice (again in line {line}); keep one of them")
                )
            else:
                out[key] = value
        return {**merged, **out}, total

    def _merge(self, value: Any, node: Node) -> dict[str, Any]:
        parts = value if isinstance(value, list) else [value]
        out: dict[str, Any] = {}
        for part in parts:
            if not isinstance(part, dict):
                raise self._refused(node, "a merge key (<<) whose value is no mapping")
            out = {**part, **out}
        return out

    def _key(self, node: Node) -> str:
        if not isinstance(node, ScalarNode):
            raise self._refused(
                node, "a key that is no text; a template with {{ }} must be rendered first"
            )
        return str(node.value)

    def _scalar(self, node: ScalarNode) -> Hashable:
        text = str(node.value)
        match node.tag.removeprefix(_TAG):
            case "null":
                return None
            case "bool":
                return text.lower() in ("yes", "true", "on")
            case "int":
                return _whole(text)
            case "float":
                return _real(text)
            case "str" | "value" | "merge" | "timestamp" | "binary":
                return text
        raise self._refused(node, f"the tag {node.tag}, which Kubernetes does not know")

    def _refused(self, node: Node, what: str) -> InputError:
        return InputError(f"{self.source}: line {node.start_mark.line + 1} has {what}")


def _whole(text: str) -> int | str:
    """Return the integer; text where Python would not read that many digits."""
    plain = text.replace("_", "")
    sign, digits = ("-", plain[1:]) if plain.startswith("-") else ("", plain.lstrip("+"))
    base = {"0b": 2, "0x": 16, "0o": 8}.get(digits[:2].lower(), 10)
    if base == 10 and len(digits) > 1 and digits[0] == "0":
        base = 8
    try:
        return int(sign + (digits[2:] if digits[1:2] in ("b", "x", "o") else digits), base)
    except ValueError:
        return text


def _real(text: str) -> float | str:
    plain = text.replace("_", "").lower().replace(".inf", "inf").replace(".nan", "nan")
    try:
        return float(plain)
    except ValueError:
        return text
