"""Recording cycles beside the loop: one at a time, in a thread; the loop never waits for a disk."""

import asyncio
import logging

from ..recording import Recorder
from .logs import event
from .loop import Cycle


class Recording:
    """Hands cycles to a recorder. One that comes while another is being written is left out."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._writing: asyncio.Task[None] | None = None
        self.skipped = 0
        """Cycles that were left out."""
        self.trouble = ""
        """Why the last cycle was not written; empty if it was."""

    def note(self, cycle: Cycle) -> None:
        """Have the cycle written."""
        if self._writing is not None and not self._writing.done():
            self.skipped += 1
            return
        self._writing = asyncio.create_task(self._write(cycle))

    async def finish(self) -> None:
        """Wait until what was begun is written."""
        if self._writing is not None:
            await self._writing

    async def _write(self, cycle: Cycle) -> None:
        try:
            await asyncio.to_thread(self._recorder.keep, cycle.snapshot, cycle.config, cycle.plan)
        except OSError as e:
            if str(e) != self.trouble:
                event("the cycle was not recorded", logging.WARNING, why=str(e))
            self.trouble = str(e)
        else:
            self.trouble = ""
