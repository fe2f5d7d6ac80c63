"""``apportion check``: run scenarios, or verify a plan of whoever made it."""

import sys
from collections.abc import Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Annotated

import typer

from .options import (
    Budget,
    ConfigFile,
    Deterministic,
    Now,
    QueuesFromOption,
    SchedulerNames,
    Seed,
    TopologyLabels,
    asked,
    chosen,
)
from .solving import keeping, solver_for
from .words import count, plain

if TYPE_CHECKING:
    from ..inputs import Asked
    from .options import Chosen


EXAMPLES = """
\b
Examples:
  apportion check tests/scenarios
  apportion plan examples/small -o json > /tmp/plan.json
  apportion check --plan /tmp/plan.json --in examples/small --order
"""


def check(
    scenarios: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[SCENARIO...]", help="Scenario files and folders; with --plan: more input."
        ),
    ] = None,
    plan: Annotated[
        str | None, typer.Option("--plan", metavar="PLAN", help="Verify this plan instead.")
    ] = None,
    inputs: Annotated[
        list[str] | None,
        typer.Option("--in", metavar="FILE", help="The cluster that the plan is for. Repeatable."),
    ] = None,
    order: Annotated[
        bool, typer.Option("--order", help="Go through the order list as well.")
    ] = False,
    config: ConfigFile = None,
    budget: Budget = None,
    seed: Seed = None,
    deterministic: Deterministic = False,
    scheduler_name: SchedulerNames = None,
    queues_from: QueuesFromOption = None,
    topology_labels: TopologyLabels = None,
    now: Now = None,
) -> int:
    """Run scenarios, or verify a plan.

    A scenario is planned and settled, every plan on the way is verified, and what it expects is
    compared. With --plan, a plan from anywhere is verified by the plain-Python half of every
    rule, and with --order also by the list of what must never be seen in a plan. Exit code 1
    if anything does not hold.
    """
    picked = chosen(config, budget, seed, deterministic, topology_labels)
    reading = asked(scheduler_name, queues_from, now, picked)
    if plan is not None:
        return _verify(plan, [*(inputs or ()), *(scenarios or ())], order, picked, reading)
    from ...models import InputError

    if inputs or order:
        raise InputError("--in and --order go with --plan")
    if not scenarios:
        raise InputError("name scenario files or folders, or a plan with --plan")
    return _run(scenarios, picked, reading)


def _run(scenarios: Sequence[str], picked: "Chosen", reading: "Asked") -> int:
    from ...models import Config

    with ExitStack() as stack:
        process = solver_for(picked.over(Config()), stack)
        from ..inputs import scenario_cases
        from ..trial import attempt

        failed = total = 0
        for case in scenario_cases(scenarios, reading):
            with keeping(case.snapshot):
                verdict = attempt(case, picked.over(case.config), process)
            total += 1
            failed += not verdict.holds
            print(f"{'holds' if verdict.holds else 'FAILS'}  {plain(case.title)}")
            for said in verdict.failures:
                print(f"       {plain(said)}")
    if total > 1 or failed:
        print(f"{total - failed} of {count(total, 'scenario')} hold")
    return 1 if failed else 0


def _verify(
    path: str, inputs: Sequence[str], order: bool, picked: "Chosen", reading: "Asked"
) -> int:
    from ...models import InputError
    from ..inputs import read_case
    from ..plan_check import order_violations, scene_of, violations_of
    from ..plan_file import read_plan
    from .terminal import progress

    if not inputs:
        raise InputError("--plan needs the cluster that it is for: --in FILE")
    if path == "-" and "-" in inputs:
        raise InputError("standard input is the plan or the cluster; give '-' once only")
    with progress(f"reading {', '.join(inputs)}"):
        case = read_case(inputs, reading, sys.stdin)
    settings = picked.over(case.config)
    with keeping(case.snapshot):
        scene = scene_of(case.snapshot, settings)
        given = read_plan(path, case.snapshot, sys.stdin)
        found = violations_of(given, scene)
        if order and not found:
            found = list(order_violations(given, scene))
    for v in found:
        print(plain(str(v)))
    if order and scene.cut_short:
        print("note: a search for places was cut short, so more might object than was found")
    if found and given.plan.config not in ("", settings.digest):
        print("note: the plan was made with other settings; give the same --config and options")
    places = count(len(given.plan.places), "start")
    gone = count(len(given.plan.evictions), "eviction")
    if not found:
        what = "every rule and the order list hold" if order else "every rule holds"
        print(f"{what}: {places}, {gone}")
    else:
        print(f"{count(len(found), 'violation')}: {places}, {gone}")
    return 1 if found else 0
