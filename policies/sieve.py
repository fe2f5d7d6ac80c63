"""Sieves: what asks for pods with certain labels, found from the labels that a pod has.

A selector that names values for some key is found only by pods with one of them; all others by
every pod. What a sieve returns still has to be asked whether it matches.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Generic, TypeVar

from ..models import LabelSelector, Pod

T = TypeVar("T")
Change = tuple[Pod, int, int]
"""A pod, its node, and how many times it came."""


def anchor_of(selector: LabelSelector | None) -> tuple[str, tuple[str, ...]] | None:
    """Return a key, and the values one of which a pod must have; None if there is no such key."""
    if selector is None:
        return None
    return next(((r.key, r.values) for r in selector.requirements if r.operator == "In"), None)


class Sieve(Generic[T]):
    """Things by the labels that they ask for."""

    def __init__(self) -> None:
        self._by_label: dict[tuple[str, str], list[T]] = {}
        self._keys: set[str] = set()
        self._all: list[T] = []

    def add(self, selector: LabelSelector | None, thing: T) -> None:
        anchor = anchor_of(selector)
        if anchor is None:
            self._all.append(thing)
            return
        key, values = anchor
        self._keys.add(key)
        for v in dict.fromkeys(values):
            self._by_label.setdefault((key, v), []).append(thing)

    def find(self, labels: Mapping[str, str]) -> Iterator[T]:
        """Yield, once each, what may match these labels."""
        yield from self._all
        for key in self._keys:
            value = labels.get(key)
            if value is not None:
                yield from self._by_label.get((key, value), ())


class History:
    """Pods that came and went, found from what a selector asks for."""

    def __init__(self, changes: Iterable[Change]) -> None:
        self._changes: list[Change] = list(changes)
        self._by_key: dict[str, dict[str, list[Change]]] = {}

    def note(self, pod: Pod, node: int, times: int) -> None:
        change = (pod, node, times)
        self._changes.append(change)
        for key, by_value in self._by_key.items():
            value = pod.labels.get(key)
            if value is not None:
                by_value.setdefault(value, []).append(change)

    def of(self, selector: LabelSelector | None) -> Iterable[Change]:
        """Return the changes of pods that the selector may match."""
        anchor = anchor_of(selector)
        if anchor is None:
            return self._changes
        key, values = anchor
        if key not in self._by_key:
            by_value: dict[str, list[Change]] = {}
            for change in self._changes:
                value = change[0].labels.get(key)
                if value is not None:
                    by_value.setdefault(value, []).append(change)
            self._by_key[key] = by_value
        return (c for v in dict.fromkeys(values) for c in self._by_key[key].get(v, ()))
