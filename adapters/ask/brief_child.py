"""A process that says in brief what would start held groups, beside a scheduler that goes on.

It reads one question from its input, a line of JSON and then a snapshot to the end of the stream,
and writes a line of JSON for each group that it is done with. It comes after others where
processors are scarce, limits its memory, and ends by itself, or with whoever has started it.
"""

import os
import resource
import signal
import sys
import threading
import time
from typing import IO

from ...models import Config, GroupKey
from ...models import snapshot as snapshots
from ...models.value import Value, from_json, to_json
from ...solver.process import SolverProcess
from .brief import briefs

NICE = 10
"""Of a processor that others want as well, it gets about a tenth."""
MEMORY_MIB = 2048
"""Address space of this process; that of its solver is limited by the settings."""
START_S = 30.0
"""How long a plan waits for the solver process; it takes a second or two."""
LOOK_S = 1.0
LONGEST_S = 120
"""From the beginning to the end at most, however little of a processor there was."""


class Question(Value, frozen=True):
    """What is asked, but for the snapshot."""

    config: Config
    groups: tuple[GroupKey, ...]
    limit_s: float
    """Processor time, without that of the solver: what is begun by then is ended."""


def answer(source: IO[bytes], out: IO[bytes]) -> None:
    """Answer the question of the stream, a line for each group, until its time is over."""
    asked = from_json(source.readline(), Question)
    snapshot = snapshots.read(source.read())

    def is_over() -> bool:
        return time.process_time() >= asked.limit_s

    with SolverProcess(asked.config.memory_limit_mib) as process:
        if asked.config.engine != "greedy":
            process.wait(START_S)  # not out of the first plan's time
        for brief in briefs(snapshot, asked.config, asked.groups, process, is_over):
            out.write(to_json(brief) + b"\n")
            out.flush()


def end_with(parent: int) -> None:
    """Wait until the process has another parent, and end its group then, the solver with it.

    It has to lead a group of its own.
    """
    while os.getppid() == parent:
        time.sleep(LOOK_S)
    os.killpg(0, signal.SIGKILL)


def main() -> None:
    """Answer one question on the standard streams; an argument says whose child this is."""
    os.nice(NICE)
    signal.alarm(LONGEST_S)
    if len(sys.argv) > 1:
        threading.Thread(target=end_with, args=(int(sys.argv[1]),), daemon=True).start()
    limit = MEMORY_MIB << 20
    _, most = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (limit, most))
    answer(sys.stdin.buffer, sys.stdout.buffer)


if __name__ == "__main__":
    main()
