"""The live scheduler, put together: connection, watches, lease, loop, and an orderly end."""

import asyncio
import logging
import os
import signal
import socket
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ..kubernetes.options import ReadOptions
from ..recording import Recorder
from .access import Access, opened
from .adviser import Adviser
from .feed import Feed
from .lease import Lease, LeaseName
from .logs import event
from .loop import Cycle, Loop
from .metrics import Metrics
from .mirror import Kind, Mirror
from .pace import Pace
from .publisher import Publisher
from .recording import Recording
from .reviews import Reviews
from .settings import SettingsFile
from .steps import Options as ReservationOptions
from .steps import Reservations, Sweeper, steps_for
from .telling import count_cycle, log_cycle, summary
from .waits import first_of
from .web import SILENCE_S, Web

LOOK_S = 1.0
END_S = 20.0
"""After it was told to stop, the scheduler has so long for what it has begun."""


@dataclass(frozen=True, slots=True)
class Options:
    """What ``apportion run`` was told."""

    reading: ReadOptions
    kubeconfig: str | None = None
    context: str | None = None
    dry_run: bool = False
    lease: LeaseName | None = None
    """None: no other replica is reckoned with."""
    pace: Pace = field(default_factory=Pace)
    listen: tuple[str, int] | None = None
    """Host and port of the pages for health and metrics; None: there are none."""
    reservations: ReservationOptions = field(default_factory=ReservationOptions)
    recorder: Recorder | None = None
    """Where cycles are kept; None: nowhere."""
    advise: int = 3
    """Held groups of which it is tried at once what would start them; 0: of none."""


async def serve(options: Options, settings: SettingsFile, stop: asyncio.Event) -> None:
    """Run the scheduler until told to stop."""
    async with opened(options.kubeconfig, options.context) as access:
        service = Service(access, options, settings)
        await service.run(stop)


class Service:
    """One replica on one cluster."""

    def __init__(self, access: Access, options: Options, settings: SettingsFile) -> None:
        self.access = access
        self.options = options
        self.settings = settings
        self.mirror = Mirror(options.reading)
        self.feed = Feed(access, self.mirror)
        self.lease = (
            None
            if options.lease is None or options.dry_run
            else Lease(access, options.lease, time.monotonic, time.time, note=self.note)
        )
        self.metrics = Metrics()
        self.told_s = 0.0
        reservations = Reservations(access, self.mirror, options.reservations)
        self.sweeper = Sweeper(
            reservations,
            lambda: self.leads() and self.feed.synced.is_set() and not options.dry_run,
        )
        self.loop = Loop(
            access, self.mirror, self.feed, settings.current,
            leads=self.leads, dry_run=options.dry_run, pace=options.pace, listeners=(self._tell,),
            on_failure=self.metrics.cycle_failed,
            steps=steps_for(access, self.mirror, self.feed.resources, reservations, self.leads),
        )  # fmt: skip

        self.publisher = (
            None
            if options.dry_run
            else Publisher(
                access, self.mirror, self.feed.resources, options.reading.scheduler_names[0],
                identity(), self.leads, sent=self.metrics.told,
            )
        )  # fmt: skip
        self.adviser: Adviser | None = None
        if self.publisher is not None and options.advise:
            self.adviser = Adviser(options.advise, self.publisher.tell_again, self.metrics.advised)
            self.publisher.adviser = self.adviser
        self.recording = None if options.recorder is None else Recording(options.recorder)
        self.web = None
        if options.listen is not None:
            host, port = options.listen
            self.web = Web(
                self.metrics, Reviews(access).may_read, self.beaten_s, self.lacking,
                host, port, silence_s=SILENCE_S + 3 * settings.config.budget_ms / 1000,
            )  # fmt: skip

    def beaten_s(self) -> float:
        """Return when the loop last showed that it is alive: a follower does so by following."""
        works = self.leads() and self.feed.synced.is_set() and not self.loop.rests
        return self.loop.beat_s if works else time.monotonic()

    def lacking(self) -> str:
        """Return why the cluster has not been listed yet; empty once it was."""
        if self.feed.synced.is_set():
            return ""
        return next(iter(self.feed.troubles.values()), "the cluster is being listed")

    def note(self) -> str:
        """Return what the last cycle did, in short, for the Lease."""
        last = self.loop.last
        return "" if last is None else summary(last, self.told_s)

    def leads(self) -> bool:
        """Whether this replica may write."""
        return self.lease is None or self.lease.is_held

    async def run(self, stop: asyncio.Event) -> None:
        """Watch, and plan while leading; on ``stop`` end what has begun and hand the lease back."""
        began = time.monotonic()
        self.loop.start_solver()  # while the cluster is listed
        background = [self._task(self.feed.run(), stop), self._task(self.settings.run(), stop)]
        background.append(self._task(self._watch_parts(), stop))
        if self.lease is not None:
            background.append(self._task(self.lease.run(), stop))
        background.append(self._task(self.sweeper.run(), stop))
        if self.publisher is not None:
            background.append(self._task(self.publisher.run(), stop))
        if self.adviser is not None:
            background.append(self._task(self.adviser.run(), stop))
        try:
            if self.web is not None:
                await self.web.start()
                event("listening", host=self.web.host, port=self.web.port)
            await first_of(stop, self.feed.synced)
            if not stop.is_set():
                event("synced", seconds=time.monotonic() - began, requests=self.access.requests)
                if self.lease is not None:
                    await first_of(stop, self.lease.gained)
                await self._until_stopped(stop)
        finally:
            if self.lease is not None:
                await self.lease.release()
            for task in background:
                task.cancel()
            await asyncio.gather(*background, return_exceptions=True)
            self.loop.end_solver()
            if self.recording is not None:
                await self.recording.finish()
            if self.web is not None:
                await self.web.stop()
            event("stopped", cycles=self.loop.cycles)

    async def _until_stopped(self, stop: asyncio.Event) -> None:
        running = asyncio.create_task(self.loop.run(stop))
        await asyncio.wait(
            (running, asyncio.ensure_future(stop.wait())), return_when="FIRST_COMPLETED"
        )
        try:
            await asyncio.wait_for(running, END_S)
        except TimeoutError:
            event("the last cycle did not end in time", logging.WARNING, seconds=END_S)

    def _task(self, what: Any, stop: asyncio.Event) -> asyncio.Task[None]:
        """Start a task that must not end by itself; if it does, everything ends."""
        task: asyncio.Task[None] = asyncio.create_task(what)

        def ended(done: asyncio.Task[None]) -> None:
            if not done.cancelled() and done.exception() is not None:
                event("a part has failed; this is a bug", logging.ERROR, why=repr(done.exception()))
                stop.set()

        task.add_done_callback(ended)
        return task

    async def _tell(self, cycle: Cycle) -> None:
        if self.publisher is not None:
            self.publisher.note(cycle)
        if not cycle.is_news:
            return
        log_cycle(cycle, self.options.dry_run)
        self.told_s = time.time()
        report = count_cycle(self.metrics, cycle, self.told_s)
        self.metrics.configured(not self.settings.trouble)
        if self.web is not None:
            self.web.cycle(report)
        if self.recording is not None:
            self.recording.note(cycle)

    async def _watch_parts(self) -> None:
        """Keep what is shown of lease and watches up to date."""
        told, unread = Counter[str](), frozenset[Kind]()
        while True:
            unread = self._tell_unread(unread)
            self.metrics.leading(self.leads())
            for resource, times in (self.feed.restarts - told).items():
                self.metrics.watch_restarted(resource, times)
            told = self.feed.restarts.copy()
            await asyncio.sleep(LOOK_S)

    def _tell_unread(self, before: frozenset[Kind]) -> frozenset[Kind]:
        """Say which kinds cannot be read, when they have become others; return them."""
        troubles = dict(self.feed.troubles)
        now = frozenset(troubles)
        self.metrics.unread(len(now))
        if new := [why for kind, why in troubles.items() if kind not in before]:
            event("some kinds cannot be read", logging.WARNING, number=len(now), why=new[:3])
        elif before and not now:
            event("all kinds are read again")
        return now


def identity() -> str:
    """Return a name that no other replica has."""
    return f"{os.environ.get('POD_NAME') or socket.gethostname()}_{os.getpid()}"


def run_until_signalled(make: Callable[[asyncio.Event], Any]) -> None:
    """Run a coroutine that ends when its event is set; SIGTERM and SIGINT set it."""

    async def main() -> None:
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()
        for sign in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(sign, stop.set)
        await make(stop)

    asyncio.run(main())
