"""The objects of a mirror, by kind and name; each kind knows how often it has changed."""

from collections import Counter
from collections.abc import Iterable

import msgspec

from ..kubernetes.faults import Fault, Faults, Ledger
from ..kubernetes.meta import Thing
from ..kubernetes.reader import Objects, title_of

Kind = tuple[str, str]
"""API group and kind."""
Name = tuple[str, str]
"""Namespace and name; the namespace of a cluster-wide object is empty."""
POD: Kind = ("", "Pod")
NODE: Kind = ("", "Node")


class Entry(msgspec.Struct, gc=False):
    """One object: what was read of it, or what is wrong with it."""

    uid: str
    version: str
    """resourceVersion."""
    thing: Thing
    faults: tuple[Fault, ...] = ()
    newest_s: int = 0
    """The newest moment that it tells of."""


class Shelves(Objects):
    """The objects by kind and name; ``of`` gives those that are usable, sorted by name."""

    def __init__(self, kinds: Iterable[Kind]) -> None:
        super().__init__()
        self.entries: dict[Kind, dict[Name, Entry]] = {kind: {} for kind in kinds}
        self.versions: Counter[Kind] = Counter()
        """By kind, how often an object of it has changed, come or gone."""
        self.touched: dict[Kind, set[Name]] = {}
        """What has changed since somebody took note."""
        self._sorted: dict[Kind, list[Thing]] = {}
        self._newest_is_gone = False

    def __len__(self) -> int:
        return sum(map(len, self.entries.values()))

    def put(self, kind: Kind, name: Name, entry: Entry) -> None:
        self._let_go(self.entries[kind].get(name))
        self.entries[kind][name] = entry
        self.newest_s = max(self.newest_s, entry.newest_s)
        self._note(kind, name)

    def remove(self, kind: Kind, name: Name) -> bool:
        """Forget an object; say whether it was there."""
        entry = self.entries[kind].pop(name, None)
        if entry is None:
            return False
        self._let_go(entry)
        self._note(kind, name)
        return True

    def good(self, kind: Kind, name: Name) -> Thing | None:
        """Return an object if it is there and nothing is wrong with it."""
        entry = self.entries[kind].get(name)
        return None if entry is None or entry.faults else entry.thing

    def of(self, group: str, kind: str) -> list[Thing]:
        key = (group, kind)
        if key not in self._sorted:
            entries = self.entries.get(key, {})
            things = (entries[name] for name in sorted(entries))
            self._sorted[key] = [e.thing for e in things if not e.faults]
        return self._sorted[key]

    def version(self, *kinds: Kind) -> tuple[int, ...]:
        """Return what changes whenever an object of the kinds does."""
        return tuple(self.versions[kind] for kind in kinds)

    def touch_all(self) -> None:
        """Count every object as changed."""
        self.touched = {kind: set(of) for kind, of in self.entries.items() if of}

    def settle(self) -> None:
        """Find the newest moment again, if the object that told of it is gone."""
        if self._newest_is_gone:
            all_of_them = (e.newest_s for of in self.entries.values() for e in of.values())
            self.newest_s = max(all_of_them, default=0)
            self._newest_is_gone = False

    def _let_go(self, entry: Entry | None) -> None:
        if entry is not None and entry.newest_s == self.newest_s:
            self._newest_is_gone = True

    def _note(self, kind: Kind, name: Name) -> None:
        self.versions[kind] += 1
        self.touched.setdefault(kind, set()).add(name)
        self._sorted.pop(kind, None)


def complain(entry: Entry, ledger: Ledger) -> None:
    """Say what is wrong with a bad object."""
    faults = Faults()
    faults.extend(entry.faults)
    ledger.reject(title_of(entry.thing), faults)
