"""The mirror: the objects of a cluster as a watch tells of them, and the snapshot that they make.

An object is decoded once for each change of it. One that is bad is listed under ``rejected`` for as
long as it is bad.
"""

import asyncio
import gc
import sys
from collections.abc import Iterable
from dataclasses import replace

import msgspec

from ...models import PodKey, Snapshot
from ..files import Document
from ..kubernetes.body_pod import PodBody
from ..kubernetes.door import collector_off, snapshot_of_objects
from ..kubernetes.faults import Ledger
from ..kubernetes.kinds import readers_for
from ..kubernetes.meta import Thing, head_of, namespace_of
from ..kubernetes.options import ReadOptions
from ..kubernetes.pods import is_over
from ..kubernetes.reader import Objects, are_equal, read_thing
from .hearsay import is_hearsay, without_handshakes
from .increments import Increments, ReadAgain
from .sharing import Sharing
from .shelves import NODE, POD, Entry, Kind, Name, Shelves, complain

__all__ = ["SOURCE", "Entry", "Kind", "Mirror", "Name"]

SOURCE = "cluster"
_MANY = 10_000
"""Objects of which it costs too much to look for cycles among them."""


class Mirror:
    """The objects of a cluster by kind, namespace and name."""

    def __init__(self, options: ReadOptions) -> None:
        self.options = replace(options, live=True, now_s=None)
        self._readers = readers_for(options.queues_from)
        self._shelves = Shelves(self._readers)
        self._sharing = Sharing()
        self._increments: Increments | None = None
        self._waiting: list[tuple[frozenset[Kind], asyncio.Future[None]]] = []
        self.departed = 0
        """How many pods have left their nodes: they ended, or are gone."""
        self.arrived = 0
        """How many pods have come without a node, of any scheduler."""

    @property
    def readable(self) -> Iterable[Kind]:
        """The kinds that are read."""
        return self._readers.keys()

    def put(self, kind: Kind, raw: msgspec.Raw | bytes) -> bool:
        """Keep an object as its JSON says; say whether anything has changed that a plan may see."""
        document = Document(SOURCE, 0, raw=msgspec.Raw(raw))
        head = head_of(document)
        thing, faults, newest_s = read_thing(document, *kind, self._readers[kind], head)
        thing.source = SOURCE
        if kind == NODE:
            thing.annotations = without_handshakes(thing.annotations)
        meta = head.metadata if head is not None else None
        version = (meta.resource_version if meta is not None else None) or ""
        entry = Entry(thing.uid, version, thing, tuple(faults.found), newest_s)
        name = (sys.intern(thing.namespace), thing.name)
        old = self._shelves.entries[kind].get(name)
        if old is not None and old.faults == entry.faults and _say_the_same(old.thing, thing):
            old.version = version
            return False
        if kind == POD and old is not None and _is_on_node(old.thing):
            self.departed += not _is_on_node(thing)
        if kind == POD and old is None:
            self.arrived += not _is_on_node(thing)
        self._sharing.share(thing)
        self._shelves.put(kind, name, entry)
        self._tell(kind)
        if old is None or old.faults or entry.faults:
            return True
        return not is_hearsay(old.thing, thing)

    def remove(self, kind: Kind, namespace: str, name: str) -> bool:
        """Forget an object; say whether it was there."""
        return self._drop(kind, _place(kind, namespace, name))

    def keep_only(self, kind: Kind, names: Iterable[Name]) -> bool:
        """Forget all objects of a kind but these; say whether there were others."""
        gone = self._shelves.entries[kind].keys() - {_place(kind, *name) for name in names}
        for name in gone:
            self._drop(kind, name)
        return bool(gone)

    def names(self, kind: Kind) -> Iterable[Name]:
        """Return the objects of a kind, bad ones included."""
        return self._shelves.entries[kind].keys()

    def entry(self, kind: Kind, namespace: str, name: str) -> Entry | None:
        """Return an object as it was read; None where there is none, or it is bad."""
        entry = self._shelves.entries[kind].get(_place(kind, namespace, name))
        return None if entry is None or entry.faults else entry

    def entries(self, kind: Kind) -> Iterable[Entry]:
        """Return the objects of a kind as they were read, but for bad ones."""
        return [e for e in self._shelves.entries[kind].values() if not e.faults]

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

    @property
    def read_again(self) -> ReadAgain:
        """How many pods, and families of pods and groups, the last snapshot has read again."""
        return ReadAgain(0, 0) if self._increments is None else self._increments.read_again

    def snapshot(self, now_s: int) -> Snapshot:
        """Return what a reading of all objects gives, at a cost that follows what has changed.

        The moment is ``now_s``, or the newest in the objects where that is later: the clock of the
        server may be ahead of ours.
        """
        with collector_off():
            # Kept only once it has come to an end: what broke off is no base for the next.
            increments, self._increments = self._increments, None
            anew = increments is None
            if increments is None:
                increments = Increments(self._shelves, self.options)
                self._shelves.touch_all()
            out = increments.snapshot(self._moment_s(now_s))
            self._increments = increments
            if anew and len(self._shelves) > _MANY:
                gc.freeze()  # all of this lives long: collections need not go through it
            return out

    def fresh(self, now_s: int) -> Snapshot:
        """Return the same, read from the beginning; a second opinion that takes its time."""
        with collector_off():
            objects, ledger = Objects(), Ledger()
            for entries in self._shelves.entries.values():
                for _, entry in sorted(entries.items()):
                    if entry.faults:
                        complain(entry, ledger)
                    else:
                        objects.keep(entry.thing)
            options = replace(self.options, now_s=self._moment_s(now_s))
            return snapshot_of_objects(objects, options, ledger)

    def _moment_s(self, now_s: int) -> int:
        self._shelves.settle()
        return max(now_s, self._shelves.newest_s)

    def _drop(self, kind: Kind, name: Name) -> bool:
        old = self._shelves.entries[kind].get(name)
        if kind == POD and old is not None:
            self.departed += _is_on_node(old.thing)
        was_there = self._shelves.remove(kind, name)
        if was_there:
            self._tell(kind)
        return was_there

    def _tell(self, kind: Kind) -> None:
        """Wake those who wait for a change of the kind."""
        if self._waiting:
            for kinds, change in self._waiting:
                if kind in kinds and not change.done():
                    change.set_result(None)
            self._waiting = [w for w in self._waiting if not w[1].done()]

    def _pod(self, key: PodKey) -> Entry | None:
        namespace, _, name = key.partition("/")
        return self._shelves.entries[POD].get((namespace, name))


def _place(kind: Kind, namespace: str, name: str) -> Name:
    return namespace_of(kind[1], namespace), name


def _is_on_node(pod: Thing) -> bool:
    """Say whether the pod holds room on a node."""
    body = pod.body
    placed = isinstance(body, PodBody) and body.spec is not None and bool(body.spec.node_name)
    return placed and not is_over(pod)


def _say_the_same(a: Thing, b: Thing) -> bool:
    return a.generation == b.generation and are_equal(a, b)
