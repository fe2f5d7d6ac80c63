"""Values in the order of their keys, kept in order while some of them change."""

from bisect import bisect_left, insort
from collections.abc import Iterable
from typing import Generic, TypeVar

T = TypeVar("T")
_FEW = 8
"""Up to one in so many keys that came or went are put in their places; else all are sorted."""


class Ordered(Generic[T]):
    """A mapping whose values come sorted by key, at little cost where few keys have changed."""

    def __init__(self) -> None:
        self._values: dict[str, T] = {}
        self._keys: list[str] = []
        self._came: set[str] = set()
        self._went: set[str] = set()
        self._all: tuple[T, ...] | None = ()

    def __len__(self) -> int:
        return len(self._values)

    def values(self) -> Iterable[T]:
        """Return the values in any order."""
        return self._values.values()

    def get(self, key: str) -> T | None:
        return self._values.get(key)

    def put(self, key: str, value: T) -> None:
        if key not in self._values:
            if key in self._went:
                self._went.remove(key)
            else:
                self._came.add(key)
        self._values[key] = value
        self._all = None

    def drop(self, key: str) -> None:
        if self._values.pop(key, None) is None:
            return
        if key in self._came:
            self._came.remove(key)
        else:
            self._went.add(key)
        self._all = None

    def all(self) -> tuple[T, ...]:
        """Return the values, sorted by key."""
        if self._all is None:
            self._sort()
            self._all = tuple(map(self._values.__getitem__, self._keys))
        return self._all

    def _sort(self) -> None:
        if _FEW * (len(self._came) + len(self._went)) > len(self._keys):
            self._keys = sorted(self._values)
        else:
            for key in self._went:
                del self._keys[bisect_left(self._keys, key)]
            for key in self._came:
                insort(self._keys, key)
        self._came.clear()
        self._went.clear()
