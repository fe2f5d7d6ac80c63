"""The feed under test, on a real API server, in a thread with an event loop of its own."""

import asyncio
import selectors
import threading
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

from apportion.adapters.kubernetes import ReadOptions
from apportion.adapters.live.access import opened
from apportion.adapters.live.feed import Feed, Pace
from apportion.adapters.live.mirror import Kind, Mirror
from apportion.models import Snapshot
from cluster.access import Access
from cluster.waiting import DEADLINE_S, until

T = TypeVar("T")


class Following:
    """A feed that follows a cluster, from `with` to its end."""

    def __init__(self, access: Access, folder: Path, pace: Pace | None = None) -> None:
        self._kubeconfig = access.write_kubeconfig(folder / "follower.kubeconfig")
        self._pace = pace or Pace(discover_s=0.2)
        self._mirror = Mirror(ReadOptions())
        self._selector = selectors.DefaultSelector()
        self._loop = asyncio.SelectorEventLoop(self._selector)
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._over = asyncio.Event()
        self.feed: Feed

    def __enter__(self) -> Self:
        self._thread.start()
        self._task = asyncio.run_coroutine_threadsafe(self._follow(), self._loop)
        until(lambda: self._task.done() or hasattr(self, "feed"), "the feed runs")
        until(lambda: self.ask(lambda: self.feed.synced.is_set()), "the feed is synced")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._loop.call_soon_threadsafe(self._over.set)
        self._task.result(DEADLINE_S)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(DEADLINE_S)
        self._loop.close()

    async def _follow(self) -> None:
        async with opened(str(self._kubeconfig)) as access:
            self.feed = Feed(access, self._mirror, self._pace)
            running = asyncio.create_task(self.feed.run())
            await self._over.wait()
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
        # TLS connections say goodbye after all is closed: the loop's own socket is left then.
        async with asyncio.timeout(DEADLINE_S):
            while len(self._selector.get_map()) > 1:
                await asyncio.sleep(0.01)

    def ask(self, question: Callable[[], T]) -> T:
        """Return the answer, found between two steps of the feed."""

        async def answer() -> T:
            return question()

        return asyncio.run_coroutine_threadsafe(answer(), self._loop).result(DEADLINE_S)

    def names(self, kind: Kind) -> set[str]:
        return self.ask(lambda: {name for _, name in self._mirror.names(kind)})

    def snapshot(self, now_s: int = 0) -> Snapshot:
        return self.ask(lambda: self._mirror.snapshot(now_s))

    def both(self, now_s: int = 0) -> tuple[Snapshot, Snapshot]:
        """Return the snapshot, and one read from the beginning, of the same moment."""
        return self.ask(lambda: (self._mirror.snapshot(now_s), self._mirror.fresh(now_s)))
