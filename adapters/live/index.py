"""An index both ways: what each has, and who has it."""

from collections.abc import Hashable, Iterable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V", bound=Hashable)


class Index(Generic[K, V]):
    """Several values to each key, found from either side."""

    def __init__(self) -> None:
        self._values: dict[K, tuple[V, ...]] = {}
        self._keys: dict[V, set[K]] = {}

    def of(self, key: K) -> tuple[V, ...]:
        return self._values.get(key, ())

    def having(self, value: V) -> frozenset[K] | set[K]:
        """Return the keys that have the value."""
        return self._keys.get(value, frozenset())

    def put(self, key: K, values: Iterable[V]) -> None:
        """Give a key other values than it had; none: forget it."""
        old, new = self._values.get(key, ()), tuple(dict.fromkeys(values))
        if old == new:
            return
        for value in old:
            keys = self._keys[value]
            keys.discard(key)
            if not keys:
                del self._keys[value]
        for value in new:
            self._keys.setdefault(value, set()).add(key)
        if new:
            self._values[key] = new
        else:
            del self._values[key]
