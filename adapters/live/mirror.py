"""The mirror: the objects of a cluster as a watch tells of them, and the snapshot that they make.

An object is decoded once for each change of it. One that is bad is listed under ``rejected`` for as
long as it is bad.
"""

import asyncio
from collections.abc import Iterable, Iterator
from dataclasses import replace

import msgspec

from ...models import PodKey, Snapshot
from ..files import Document
from ..kubernetes.door import collector_off, snapshot_of_objects
from ..kubernetes.faults import Fault, Faults, Ledger
from ..kubernetes.kinds import readers_for
from ..kubernetes.meta import Thing, head_of, namespace_of
from ..kubernetes.options import ReadOptions
from ..kubernetes.reader import Objects, are_equal, read_thing, title_of

Kind = tuple[str, str]
"""API group and kind."""
Name = tuple[str, str]
"""Namespace and name; the namespace of a cluster-wide object is empty."""
SOURCE = "cluster"
_POD = ("", "Pod")


class Entry(msgspec.Struct, gc=False):
    """One object: what was read of it, or what is wrong with it."""

    uid: str
    version: str
    """resourceVersion."""
    thing: Thing
    faults: tuple[Fault, ...] = ()
    newest_s: int = 0
    """The newest moment that it tells of."""


class Mirror:
    """The objects of a cluster by kind, namespace and name."""

    def __init__(self, options: ReadOptions) -> None:
        self.options = replace(options, live=True, now_s=None)
        self.kinds: dict[Kind, int] = {}
        """Which kinds have changed, and how often."""
        self._readers = readers_for(options.queues_from)
        self._entries: dict[Kind, dict[Name, Entry]] = {kind: {} for kind in self._readers}
        self._waiting: list[tuple[frozenset[Kind], asyncio.Future[None]]] = []

    @property
    def readable(self) -> Iterable[Kind]:
        """The kinds that are read."""
        return self._readers.keys()

    def put(self, kind: Kind, raw: msgspec.Raw | bytes) -> bool:
        """Keep an object as its JSON says; say whether anything that is read has changed."""
        document = Document(SOURCE, 0, raw=msgspec.Raw(raw))
        head = head_of(document)
        thing, faults, newest_s = read_thing(document, *kind, self._readers[kind], head)
        thing.source = SOURCE
        meta = head.metadata if head is not None else None
        version = (meta.resource_version if meta is not None else None) or ""
        entry = Entry(thing.uid, version, thing, tuple(faults.found), newest_s)
        entries, name = self._entries[kind], (thing.namespace, thing.name)
        old = entries.get(name)
        if old is not None and old.faults == entry.faults and _say_the_same(old.thing, thing):
            entry.thing = old.thing
            entries[name] = entry
            return False
        entries[name] = entry
        self._note(kind)
        return True

    def remove(self, kind: Kind, namespace: str, name: str) -> bool:
        """Forget an object; say whether it was there."""
        if self._entries[kind].pop(_place(kind, namespace, name), None) is None:
            return False
        self._note(kind)
        return True

    def keep_only(self, kind: Kind, names: Iterable[Name]) -> bool:
        """Forget all objects of a kind but these; say whether there were others."""
        gone = self._entries[kind].keys() - {_place(kind, *name) for name in names}
        for namespace, name in gone:
            self.remove(kind, namespace, name)
        return bool(gone)

    def names(self, kind: Kind) -> Iterable[Name]:
        """Return the objects of a kind, bad ones included."""
        return self._entries[kind].keys()

    def entry(self, kind: Kind, namespace: str, name: str) -> Entry | None:
        """Return an object as it was read; None where there is none, or it is bad."""
        entry = self._entries[kind].get(_place(kind, namespace, name))
        return None if entry is None or entry.faults else entry

    def entries(self, kind: Kind) -> Iterable[Entry]:
        """Return the objects of a kind as they were read, but for bad ones."""
        return [e for e in self._entries[kind].values() if not e.faults]

    def next_change(self, *kinds: Kind) -> asyncio.Future[None]:
        """Return what is done at the next change of an object of these kinds.

        Whoever waits no longer cancels it.
        """
        change: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((frozenset(kinds), change))
        return change

    def is_there(self, key: PodKey) -> bool:
        """Say whether there is a pod of this key, be it a bad one."""
        return self._pod(key) is not None

    def uid_of(self, key: PodKey) -> str:
        """Return the pod's uid; "" where there is no such pod."""
        entry = self._pod(key)
        return "" if entry is None else entry.uid

    def version_of(self, key: PodKey) -> str:
        """Return the pod's resourceVersion; "" where there is no such pod."""
        entry = self._pod(key)
        return "" if entry is None else entry.version

    def snapshot(self, now_s: int) -> Snapshot:
        """Return what a reading of all objects gives.

        The moment is ``now_s``, or the newest in the objects where that is later: the clock of the
        server may be ahead of ours.
        """
        with collector_off():
            objects, ledger = Objects(), Ledger()
            for entry in self._in_order():
                if entry.faults:
                    faults = Faults()
                    faults.extend(entry.faults)
                    ledger.reject(title_of(entry.thing), faults)
                else:
                    objects.keep(entry.thing)
                    objects.newest_s = max(objects.newest_s, entry.newest_s)
            options = replace(self.options, now_s=max(now_s, objects.newest_s))
            return snapshot_of_objects(objects, options, ledger)

    def _pod(self, key: PodKey) -> Entry | None:
        namespace, _, name = key.partition("/")
        return self._entries[_POD].get((namespace, name))

    def _note(self, kind: Kind) -> None:
        self.kinds[kind] = self.kinds.get(kind, 0) + 1
        if self._waiting:
            for kinds, change in self._waiting:
                if kind in kinds and not change.done():
                    change.set_result(None)
            self._waiting = [w for w in self._waiting if not w[1].done()]

    def _in_order(self) -> Iterator[Entry]:
        for entries in self._entries.values():
            for name in sorted(entries):
                yield entries[name]


def _place(kind: Kind, namespace: str, name: str) -> Name:
    return namespace_of(kind[1], namespace), name


def _say_the_same(a: Thing, b: Thing) -> bool:
    return a.generation == b.generation and are_equal(a, b)
