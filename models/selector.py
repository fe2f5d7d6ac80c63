"""Label selectors and node selector terms: values that answer ``matches``.

Semantics: https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/ ; node selector
operators Gt and Lt compare integers; a node selector term without any requirement matches nothing.
"""

import re
from collections.abc import Mapping

from .value import Value

IN, NOT_IN, EXISTS, DOES_NOT_EXIST, GT, LT = "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"
OPERATORS = frozenset({IN, NOT_IN, EXISTS, DOES_NOT_EXIST, GT, LT})


_INTEGER = re.compile(r"[+-]?[0-9]{1,19}")


def integer(text: str) -> int | None:
    """Read a 64-bit integer of plain digits, as Kubernetes does; None if it is none."""
    if not _INTEGER.fullmatch(text):
        return None
    value = int(text)
    return value if -(1 << 63) <= value < 1 << 63 else None


class Requirement(Value, frozen=True, order=True):
    """One expression over one key."""

    key: str
    operator: str
    values: tuple[str, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        value = labels.get(self.key)
        match self.operator:
            case "In":
                return value is not None and value in self.values
            case "NotIn":
                return value is None or value not in self.values
            case "Exists":
                return value is not None
            case "DoesNotExist":
                return value is None
            case "Gt" | "Lt":
                return value is not None and self._compares(value)
        return False

    def _compares(self, value: str) -> bool:
        here, bound = integer(value), integer(self.values[0]) if self.values else None
        if here is None or bound is None:
            return False
        return here > bound if self.operator == GT else here < bound

    def __str__(self) -> str:
        match self.operator:
            case "Exists":
                return self.key
            case "DoesNotExist":
                return f"!{self.key}"
            case "In" if len(self.values) == 1:
                return f"{self.key}={self.values[0]}"
        return f"{self.key} {self.operator} ({', '.join(self.values)})"


class LabelSelector(Value, frozen=True, order=True):
    """All requirements must hold; without any it matches everything."""

    requirements: tuple[Requirement, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        return all(r.matches(labels) for r in self.requirements)

    def keys(self) -> frozenset[str]:
        return frozenset(r.key for r in self.requirements)

    def __str__(self) -> str:
        return ", ".join(map(str, self.requirements)) or "everything"


class NodeSelectorTerm(Value, frozen=True, order=True):
    """Requirements on a node's labels and on its fields (only ``metadata.name`` exists)."""

    labels: tuple[Requirement, ...] = ()
    fields: tuple[Requirement, ...] = ()

    def matches(self, labels: Mapping[str, str], name: str) -> bool:
        if not self.labels and not self.fields:
            return False
        return all(r.matches(labels) for r in self.labels) and all(
            r.matches({"metadata.name": name}) for r in self.fields
        )

    def __str__(self) -> str:
        return ", ".join(map(str, (*self.labels, *self.fields)))
