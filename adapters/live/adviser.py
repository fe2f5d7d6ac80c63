"""The adviser: asks in the background what would start held groups; no cycle waits for it.

Questions go to a process of their own, one after the other, a few groups at a time. It comes after
others where processors are scarce, and rests several times as long as it works.
"""

import asyncio
import logging
import os
import signal
import sys
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass

import msgspec
from msgspec.structs import replace

from ...models import GroupKey, Snapshot
from ...models import snapshot as snapshots
from ...models.value import from_json, to_json
from ..ask.brief import Brief
from ..ask.brief_child import LONGEST_S, Question
from .advice import FOUND, LATE, NONE, SETTLE_S, Advice, Ground
from .logs import event
from .loop import Cycle
from .verdicts import Verdict

LIMIT_S = 20.0
"""Processor time for the groups of one question, and for reading the cluster."""
REST = 4
"""After a question, so many times as long as it took nothing is asked."""
MEMORY_MIB = 1024
"""The solver of a question may take no more; the settings may say less."""
MOST_PODS = 20_000
"""Of clusters with more pods nothing is asked: a second copy of them takes too much memory."""
_LINE = 1 << 20
"""Bytes that one answer may have."""


Ask = Callable[[Question, Snapshot], AsyncGenerator[Brief]]
"""Whoever answers: a process, or what tests bring."""
COMMAND = (sys.executable, "-m", "apportion.adapters.ask.brief_child")


async def by_child(
    question: Question, snapshot: Snapshot, command: Sequence[str] = COMMAND
) -> AsyncGenerator[Brief]:
    """Ask a process, which ends with the last answer; whoever closes this ends it before."""
    written = await asyncio.to_thread(snapshots.write, snapshot)
    child = await asyncio.create_subprocess_exec(
        *command, str(os.getpid()),
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL, start_new_session=True, limit=_LINE,
    )  # fmt: skip
    assert child.stdin is not None
    assert child.stdout is not None
    try:
        with suppress(BrokenPipeError, ConnectionResetError):
            child.stdin.writelines((to_json(question), b"\n", written))
            del written
            await child.stdin.drain()
            child.stdin.close()
        async for line in child.stdout:
            yield from_json(line, Brief)
    finally:
        # The solver that it has started is in its process group.
        with suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        await child.wait()


@dataclass(slots=True)
class Means:
    """Time and who answers, which tests bring their own of."""

    now_s: Callable[[], float] = time.monotonic
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    ask: Ask = by_child


class Adviser:
    """Keeps advice on held groups; ``run`` asks for it until cancelled.

    Parameters
    ----------
    most
        Groups of one question.
    news
        Told when there is something new to tell.
    count
        Told of each question about a group what came of it: one of ``RESULTS``.
    """

    def __init__(
        self,
        most: int,
        news: Callable[[], None],
        count: Callable[[str], None] = lambda result: None,
        means: Means | None = None,
    ) -> None:
        self.advice = Advice()
        self._most = most
        self._news = news
        self._count = count
        self._means = means or Means()
        self._noted = asyncio.Event()

    def over(
        self, cycle: Cycle, verdicts: Mapping[GroupKey, Verdict]
    ) -> Mapping[GroupKey, Verdict]:
        """Take a cycle, and return its verdicts with what is known."""
        if len(cycle.snapshot.pods) > MOST_PODS:
            self.advice = Advice()
            return verdicts
        self.advice.note(cycle.snapshot, cycle.config, verdicts, self._means.now_s())
        self._noted.set()
        return self.advice.over(verdicts)

    async def run(self) -> None:
        """Ask whenever somebody is held of whom nothing is known."""
        while True:
            await self._noted.wait()
            self._noted.clear()
            await self._means.sleep(SETTLE_S)
            while (took_s := await self.once()) is not None:
                await self._means.sleep(REST * took_s)

    async def once(self) -> float | None:
        """Ask one question; return how many seconds it took, None where nothing is to be asked."""
        now_s, advice = self._means.now_s, self.advice
        began_s = now_s()
        due = advice.due(began_s, self._most)
        if not due:
            return None
        config = replace(
            advice.config, memory_limit_mib=min(MEMORY_MIB, advice.config.memory_limit_mib)
        )
        open_ = dict(due)
        try:
            async with asyncio.timeout(LONGEST_S + 10):
                question = Question(config, tuple(due), LIMIT_S)
                async with aclosing(self._means.ask(question, advice.snapshot)) as answers:
                    async for brief in answers:
                        self._learn(brief, open_)
        except (TimeoutError, OSError, ValueError, msgspec.MsgspecError) as e:
            event("no advice", logging.WARNING, groups=len(open_), why=repr(e))
        if len(open_) == len(due):
            # Who had all the time there is, and it was not enough, comes again much later.
            advice.late(*next(iter(due.items())), now_s())
        for _ in open_:
            self._count(LATE)
        return now_s() - began_s

    def _learn(self, brief: Brief, open_: dict[GroupKey, Ground]) -> None:
        ground = open_.pop(brief.group, None)
        if ground is None:
            return
        self._count(FOUND if brief.says else NONE)
        if self.advice.learn(brief, ground, self._means.now_s()):
            self._news()
