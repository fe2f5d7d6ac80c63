"""Amounts of resources: an immutable, hashable mapping from resource name to exact integer.

Units: cpu and every extended resource in thousandths (milli-CPU, milli-GPU), so that shares of a
device stay exact; memory, ephemeral-storage, storage and hugepages in bytes; pods in pods.
A resource that is not named has amount 0.
"""

from collections.abc import ItemsView, Iterable, Iterator, Mapping

BYTES = frozenset({"memory", "ephemeral-storage", "storage"})


def unit_of(resource: str) -> int:
    """Return how many canonical units make one: 1000 for cpu and devices, 1 for bytes and pods."""
    if resource in BYTES or resource == "pods" or resource.startswith("hugepages-"):
        return 1
    return 1000


class Amounts(Mapping[str, int]):
    """An immutable vector of non-negative amounts; zero entries are dropped."""

    __slots__ = ("_hash", "_of")

    def __init__(self, of: Mapping[str, int] | Iterable[tuple[str, int]] = ()) -> None:
        self._of: dict[str, int] = {r: v for r, v in sorted(dict(of).items()) if v}
        self._hash: int | None = None

    def __getitem__(self, resource: str) -> int:
        return self._of.get(resource, 0)

    def __contains__(self, resource: object) -> bool:
        return resource in self._of

    def __iter__(self) -> Iterator[str]:
        return iter(self._of)

    def __len__(self) -> int:
        return len(self._of)

    def items(self) -> ItemsView[str, int]:
        """Return the entries; the dictionary's own view, as these are read often."""
        return self._of.items()

    @property
    def entries(self) -> dict[str, int]:
        """The entries as they are kept, for those who only read them."""
        return self._of

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(tuple(self._of.items()))
        return self._hash

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Amounts):
            return self._of == other._of
        return NotImplemented

    def __repr__(self) -> str:
        return f"Amounts({self._of})"

    def plus(self, other: Mapping[str, int], times: int = 1) -> "Amounts":
        """Return self + times · other."""
        out = dict(self._of)
        for r, v in other.items():
            out[r] = out.get(r, 0) + times * v
        return Amounts(out)

    def minus(self, other: Mapping[str, int]) -> "Amounts":
        """Return self − other; may hold negative entries."""
        return self.plus(other, -1)

    def times(self, n: int) -> "Amounts":
        """Return n · self."""
        return Amounts({r: n * v for r, v in self._of.items()})

    def fits(self, room: Mapping[str, int]) -> bool:
        """Say whether every named amount is at most the room's; what is not asked plays no part."""
        return all(v <= room.get(r, 0) for r, v in self._of.items())

    def nonnegative(self) -> "Amounts":
        """Return the vector with negative entries raised to zero."""
        return Amounts({r: v for r, v in self._of.items() if v > 0})


ZERO = Amounts()


def total(parts: Iterable[Mapping[str, int]]) -> Amounts:
    """Return the sum of the vectors."""
    out: dict[str, int] = {}
    for part in parts:
        for r, v in part.items():
            out[r] = out.get(r, 0) + v
    return Amounts(out)


def at_least(a: Mapping[str, int], b: Mapping[str, int]) -> Amounts:
    """Return the entrywise maximum."""
    return Amounts({r: max(a.get(r, 0), b.get(r, 0)) for r in {*a, *b}})
