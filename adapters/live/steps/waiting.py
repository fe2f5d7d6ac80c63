"""Waiting for what the watches tell, with a deadline; nothing asks the server again and again."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from ..binder import ToBind
from ..mirror import Entry, Kind
from ..prepare import NotReadyError

T = TypeVar("T")
POD: Kind = ("", "Pod")
LULL_S = 0.1
"""Changes come by the hundred in a second: what is waited for is looked at so often at most."""


class Seen(Protocol):
    """The objects of the cluster as they were last told of; the mirror is one."""

    def entry(self, kind: Kind, namespace: str, name: str) -> Entry | None: ...

    def entries(self, kind: Kind) -> Iterable[Entry]: ...

    def next_change(self, *kinds: Kind) -> asyncio.Future[None]: ...


@dataclass(slots=True)
class Means:
    """Time, which tests bring their own of."""

    now_s: Callable[[], float] = time.monotonic
    wall_s: Callable[[], float] = time.time
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep


class Waiting:
    """Waits for changes of what is seen."""

    def __init__(self, seen: Seen, means: Means) -> None:
        self._seen = seen
        self._means = means

    async def until(
        self, found: Callable[[], T | None], kinds: Iterable[Kind], most_s: float
    ) -> T | None:
        """Return what is found as soon as it is something; None after ``most_s`` seconds.

        Objects of other kinds must not matter to what is found.
        """
        end_s = self._means.now_s() + most_s
        while True:
            there = found()
            left_s = end_s - self._means.now_s()
            if there is not None or left_s <= 0:
                return there
            change = self._seen.next_change(*kinds)
            pause = asyncio.ensure_future(self._means.sleep(left_s))
            try:
                await asyncio.wait((change, pause), return_when=asyncio.FIRST_COMPLETED)
            finally:
                change.cancel()
                pause.cancel()
            await self._means.sleep(LULL_S)


async def together(*works: Coroutine[Any, Any, None]) -> None:
    """Do all at once, begun in this order; the first failure ends the others and is raised."""
    tasks = [asyncio.ensure_future(w) for w in works]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def split(key: str) -> tuple[str, str]:
    """Return namespace and name."""
    namespace, _, name = key.rpartition("/")
    return namespace, name


def is_at(entry: Entry, version: str) -> bool:
    """Say whether what is seen is at least as new as a version that was written."""
    seen = entry.version
    return not (seen.isdecimal() and version.isdecimal() and int(seen) < int(version))


def check_there(seen: Seen, b: ToBind) -> None:
    """Raise NotReadyError if the pod is gone, leaves, or is another one."""
    entry = seen.entry(POD, b.pod.namespace, b.pod.name)
    if entry is None or entry.uid != b.pod.uid or entry.thing.deleted_s is not None:
        raise NotReadyError(f"pod {b.pod.key} is gone")
