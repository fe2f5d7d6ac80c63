"""``apportion replay``: recorded cycles, verified and planned again."""

import dataclasses
import json
import sys
from contextlib import ExitStack
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from .words import count, plain

if TYPE_CHECKING:
    from ...models import Config, Plan, Snapshot
    from ..replay import Replayed

EXAMPLES = """
\b
Examples:
  apportion replay /var/lib/apportion/cycles
  apportion replay cycle-0000000042.json.gz --output json
"""


class Output(StrEnum):
    """What is printed."""

    TEXT = "text"
    JSON = "json"


def replay(
    where: Annotated[
        str, typer.Argument(metavar="DIR", help="A folder of recorded cycles, or one of its files.")
    ],
    output: Annotated[
        Output, typer.Option("--output", "-o", help="Lines to read, or a JSON object a cycle.")
    ] = Output.TEXT,
) -> int:
    """Verify recorded cycles, plan them again, and show where the plans differ.

    What apportion run --record DIR has kept. Each cycle is planned with its own settings, but by
    limits that no clock decides, so that a replay is always the same. Exit code 1 if a recorded
    plan breaks a rule.
    """
    from ..recording import recorded
    from ..replay import replayed
    from .solving import keeping, solver_for
    from .terminal import progress

    wrong = differ = total = 0
    with ExitStack() as stack:
        from ...models import Config
        from ...solver.entry import plan as solve

        process = solver_for(Config(), stack)

        def planner(snapshot: "Snapshot", config: "Config") -> "Plan":
            return solve(snapshot, config, process=process)

        for one in recorded(where):
            with keeping(one.snapshot), progress(f"cycle {one.number}"):
                done = replayed(one, planner)
            total += 1
            wrong += bool(done.violations)
            differ += bool(done.differences)
            _show(done, output)
    if output is Output.TEXT:
        print(f"{count(total, 'cycle')}: {total - wrong} legal, {differ} planned otherwise now")
    return 1 if wrong else 0


def _show(done: "Replayed", output: Output) -> None:
    if output is Output.JSON:
        sys.stdout.write(json.dumps(dataclasses.asdict(done)) + "\n")
        return
    same = "planned alike" if not done.differences else "planned otherwise"
    was, now = done.engines
    how = was if was == now else f"{was}; now {now}"
    print(f"cycle {done.number}  {'ILLEGAL, ' if done.violations else ''}{same} ({how})")
    for said in (*done.violations, *done.differences):
        print(f"    {plain(said)}")
