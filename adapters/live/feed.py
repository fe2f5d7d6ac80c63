"""The feed: lists and watches every kind that is read, and keeps the mirror as the cluster is.

Kinds are found by discovery; one that is not installed is looked for again. A watch that breaks off
goes on from where it was; where the server no longer knows that place (410), the kind is listed
again, and what is not in the list is gone.
"""

import asyncio
import random
import time
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator
from contextlib import aclosing
from dataclasses import dataclass, field

import msgspec

from .access import Api, LostError, RefusedError
from .discovery import Resource, installed
from .mirror import Mirror
from .shelves import Kind, Name

_REQUIRED = frozenset((("", "Pod"), ("", "Node")))
_DISCOVERY = ("", "")
"""In whose name troubles with discovery are told."""
_EXPIRED = 410
_FUTURE = "Too large resource version"
"""Said where etcd was restored from a backup: what we know has not happened yet."""
_NOT_FOUND = 404
_SHORT_S = 1.0
"""A watch that ends within this time without a word is begun again after a wait."""
_MOST_RESTARTS = 2
"""A list whose pages expired so often is asked for in one piece."""


@dataclass(frozen=True, slots=True)
class Pace:
    """How fast the feed goes; times in seconds."""

    page: int = 1000
    """Objects of one page of a list."""
    watch_s: int = 300
    """After this long the server ends a watch, and it is begun again."""
    discover_s: float = 30.0
    """Kinds that are not installed are looked for this often."""
    first_wait_s: float = 0.1
    longest_wait_s: float = 3.0
    """Before another try: from the first to the longest, doubled each time, less up to half."""


@dataclass(slots=True)
class Means:
    """Time and chance, which tests bring their own of."""

    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    clock: Callable[[], float] = time.monotonic
    chance: random.Random = field(default_factory=random.Random)


class _Meta(msgspec.Struct):
    resource_version: str = msgspec.field(default="", name="resourceVersion")
    more: str | None = msgspec.field(default=None, name="continue")


class _Page(msgspec.Struct):
    metadata: _Meta
    items: list[msgspec.Raw] | None = None


class _Event(msgspec.Struct):
    type: str
    object: msgspec.Raw


class _HeadMeta(msgspec.Struct):
    name: str = ""
    namespace: str = ""
    resource_version: str = msgspec.field(default="", name="resourceVersion")


class _Head(msgspec.Struct):
    """Of an object what the feed itself needs; of a Status its code and message."""

    metadata: _HeadMeta = msgspec.field(default_factory=_HeadMeta)
    code: int = 0
    reason: str = ""
    message: str = ""


_PAGE = msgspec.json.Decoder(_Page).decode
_EVENT = msgspec.json.Decoder(_Event).decode
_HEAD = msgspec.json.Decoder(_Head).decode


class _BadAnswerError(Exception):
    """The server's answer cannot be read."""


class Feed:
    """Keeps a mirror as a cluster is. ``run`` does the work until it is cancelled."""

    def __init__(
        self, api: Api, mirror: Mirror, pace: Pace | None = None, means: Means | None = None
    ) -> None:
        self.synced = asyncio.Event()
        """Set once every installed kind has been listed."""
        self.changed = asyncio.Event()
        """Set when something that is read has changed; whoever waits for it clears it."""
        self.changes = 0
        """How many times something has changed."""
        self.restarts: Counter[str] = Counter()
        """How many times a watch could not go on, by resource."""
        self.resources: dict[Kind, Resource] = {}
        """What is installed of what is read."""
        self.troubles: dict[Kind, str] = {}
        """By kind, why the mirror may be behind; empty while all is well."""
        self._api = api
        self._mirror = mirror
        self._pace = pace or Pace()
        self._means = means or Means()
        self._listed: set[Kind] = set()
        self._versions: dict[Kind, str] = {}
        """How far each watch has come; "" where the kind has to be listed."""
        self._heard: Counter[Kind] = Counter()
        """Events of each kind."""

    @property
    def relists(self) -> int:
        """How many times a watch of any kind could not go on."""
        return self.restarts.total()

    async def run(self) -> None:
        """Discover, list and watch for ever."""
        waits = self._waits()
        async with asyncio.TaskGroup() as tasks:
            while True:
                try:
                    found = await installed(self._api, self._missing())
                except (RefusedError, LostError, msgspec.MsgspecError) as e:
                    self.troubles[_DISCOVERY] = f"discovery: {e}"
                    await self._means.sleep(next(waits))
                    continue
                waits = self._waits()
                self.troubles.pop(_DISCOVERY, None)
                for kind, resource in found.items():
                    self.resources[kind] = resource
                    tasks.create_task(self._follow(resource))
                self._look_whether_synced()
                await self._means.sleep(self._pace.discover_s)

    def _missing(self) -> list[Kind]:
        return [k for k in self._mirror.readable if k not in self.resources]

    def _look_whether_synced(self) -> None:
        if self._listed >= self.resources.keys() >= _REQUIRED:
            self.synced.set()

    # One kind

    async def _follow(self, resource: Resource) -> None:
        """List and watch one kind until the server has it no longer."""
        kind = (resource.group, resource.kind)
        waits = self._waits()
        while True:
            before, heard = self._versions.get(kind, ""), self._heard[kind]
            wait_s: float | None = None
            try:
                await self._once(resource)
            except RefusedError as e:
                if e.status == _NOT_FOUND and (moved := await self._found_again(kind)) != resource:
                    if moved is None:
                        return
                    resource = moved
                if e.status == _EXPIRED or _FUTURE in e.message:
                    self._versions[kind] = ""
                else:
                    self.troubles[kind] = f"{resource.plural}: {e}"
                wait_s = e.retry_after_s
            except LostError as e:
                self.troubles[kind] = f"{resource.plural}: {e}"
            except _BadAnswerError as e:
                self.troubles[kind] = f"{resource.plural}: {e}"
                if self._versions.get(kind, "") == before:
                    self._versions[kind] = ""
            else:
                waits = self._waits()
                continue
            if self._heard[kind] != heard:
                waits = self._waits()
            await self._means.sleep(next(waits) if wait_s is None else wait_s)

    async def _once(self, resource: Resource) -> None:
        """List the kind if that is due, then watch it until the server ends that."""
        kind = (resource.group, resource.kind)
        if not self._versions.get(kind):
            if kind in self._listed:
                self.restarts[resource.title] += 1
            self._versions[kind] = await self._list(resource)
            self._listed.add(kind)
            self._look_whether_synced()
        elif kind in self.troubles:
            # A quiet watch says nothing for a minute: ask whether the server is there again.
            await self._api.get(resource.root, {"limit": "1", "resourceVersion": "0"})
        self.troubles.pop(kind, None)
        began_s = self._means.clock()
        before = self._versions[kind]
        await self._watch(resource)
        short = self._means.clock() - began_s < _SHORT_S
        if short and self._versions[kind] == before:
            raise LostError("the server ends the watch at once")

    async def _found_again(self, kind: Kind) -> Resource | None:
        """Return where the kind is now; None, and all its objects gone, if it is there no longer.

        A server that is starting up may not find what it has.
        """
        try:
            found = await installed(self._api, [kind])
        except (RefusedError, LostError, msgspec.MsgspecError):
            return self.resources[kind]
        if kind in found:
            self.resources[kind] = found[kind]
            return found[kind]
        for of in (self.resources, self._versions, self.troubles):
            of.pop(kind, None)
        self._listed.discard(kind)
        if self._mirror.keep_only(kind, ()):
            self._note()
        self._look_whether_synced()
        return None

    # Lists

    async def _list(self, resource: Resource) -> str:
        """Put every object into the mirror, and forget the others; return the list's version."""
        kind = (resource.group, resource.kind)
        for restarts in range(_MOST_RESTARTS + 1):
            names: set[Name] = set()
            try:
                version = await self._pages(resource, names, whole=restarts == _MOST_RESTARTS)
            except RefusedError as e:
                if e.status != _EXPIRED or restarts == _MOST_RESTARTS:
                    raise
                continue
            if self._mirror.keep_only(kind, names):
                self._note()
            return version
        raise AssertionError("the last try returns or raises")

    async def _pages(self, resource: Resource, names: set[Name], whole: bool) -> str:
        kind = (resource.group, resource.kind)
        params = {} if whole else {"limit": str(self._pace.page)}
        while True:
            body = await self._api.get(resource.root, params)
            try:
                page = _PAGE(body)
                for raw in page.items or ():
                    meta = _HEAD(raw).metadata
                    names.add((meta.namespace, meta.name))
                    if self._mirror.put(kind, raw):
                        self._note()
            except msgspec.MsgspecError as e:
                raise _BadAnswerError(f"the list cannot be read: {e}") from e
            if not page.metadata.more:
                return page.metadata.resource_version
            params = {**params, "continue": page.metadata.more}

    # Watches

    async def _watch(self, resource: Resource) -> None:
        kind = (resource.group, resource.kind)
        params = {
            "resourceVersion": self._versions[kind],
            "allowWatchBookmarks": "true",
            # Not all at the same moment.
            "timeoutSeconds": str(int(self._pace.watch_s * (1 + self._means.chance.random()))),
        }
        async with aclosing(_closable(self._api.watch(resource.root, params))) as lines:
            async for line in lines:
                try:
                    event = _EVENT(line)
                    head = _HEAD(event.object)
                except msgspec.MsgspecError as e:
                    raise _BadAnswerError(f"an event cannot be read: {e}") from e
                if event.type == "ERROR" and head.code == _EXPIRED:
                    raise RefusedError(_EXPIRED, head.reason, head.message)
                if event.type == "ERROR":
                    raise _BadAnswerError(f"the watch fails: {head.reason} {head.message}")
                self._heard[kind] += 1
                version = head.metadata.resource_version
                if _is_older(version, self._versions[kind]):
                    continue  # told before: within a kind, versions only rise
                if self._takes(kind, event, head.metadata):
                    self._note()
                self._versions[kind] = version or self._versions[kind]

    def _takes(self, kind: Kind, event: _Event, meta: _HeadMeta) -> bool:
        """Say whether the event has changed anything."""
        if event.type in ("ADDED", "MODIFIED"):
            return self._mirror.put(kind, event.object)
        if event.type == "DELETED":
            return self._mirror.remove(kind, meta.namespace, meta.name)
        return False  # a bookmark, or what a later server may tell

    def _note(self) -> None:
        self.changes += 1
        self.changed.set()

    def _waits(self) -> Iterator[float]:
        """Yield how long to wait before each further try."""
        wait_s = self._pace.first_wait_s
        while True:
            yield wait_s * (1 - self._means.chance.random() / 2)
            wait_s = min(2 * wait_s, self._pace.longest_wait_s)


def _is_older(a: str, b: str) -> bool:
    return a.isdecimal() and b.isdecimal() and int(a) < int(b)


def _closable(lines: AsyncIterator[bytes]) -> AsyncGenerator[bytes]:
    assert isinstance(lines, AsyncGenerator)
    return lines
