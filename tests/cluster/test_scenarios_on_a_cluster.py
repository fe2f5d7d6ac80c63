"""Scenarios of the project on a real control plane: the live scheduler brings about what they say.

The scheduler is started when all objects are there, as a scenario is one moment. A sample runs
every time; all of them with ``-m soak``.
"""

import itertools
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from apportion.adapters.inputs import Asked, Case, scenario_cases
from cluster.client import Client
from cluster.objects import node
from cluster.scheduler import Scheduler, Schedulers
from cluster.staging import Staged, can_be_staged, stage
from cluster.waiting import PlaneError, until

SCENARIOS = Path(__file__).parents[1] / "scenarios"
AREAS = ("affinity", "fairness", "gang", "lifecycle", "preempt", "queue", "reclaim", "security")
SETTINGS = """
apiVersion: apportion.dev/v1alpha1
kind: Configuration
budget: 20s
polish: 20s
"""
"""Time enough to find the best plan on a machine that is busy with other things."""
EVERY = 5
"""Of so many scenarios one runs every time."""
REST_S = 300.0
"""A scenario has come to rest by then; mostly within seconds."""


def cases() -> Iterator[object]:
    number = itertools.count()
    for area in AREAS:
        for path in sorted((SCENARIOS / area).glob("*.yaml")):
            for case in scenario_cases([str(path)], Asked()):
                if can_be_staged(case):
                    marks = [] if next(number) % EVERY == 0 else [pytest.mark.soak]
                    yield pytest.param(case, id=f"{area}/{case.title}", marks=marks)


@pytest.mark.usefixtures("volcano", "kwok", "controllers")
@pytest.mark.parametrize("case", list(cases()))
def test_scenario_comes_true(
    client: Client, schedulers: Schedulers, tmp_path: Path, case: Case
) -> None:
    staged = stage(case, client)
    settings = tmp_path / "settings.yaml"
    settings.write_text(SETTINGS)

    settle(client, schedulers.start("--config", str(settings)), staged)

    assert staged.faults() == []


def settle(client: Client, scheduler: Scheduler, staged: Staged) -> None:
    """Wait until two cycles in a row, both asked for, have seen everything and changed nothing."""
    quiet, before, end = 0, staged.standing(), time.monotonic() + REST_S
    for number in itertools.count():
        until(lambda: not staged.leaving(), "those who leave are gone")
        staged.bring_back()
        if staged.standing() != before:
            quiet, before = 0, staged.standing()
        client.create(node(f"tick-{number}", 0, unschedulable=True))
        cycle = cycle_with(scheduler, len(client.find_all("nodes")))
        changed = cycle["bound"] or cycle["evicted"] or staged.standing() != before
        quiet = 0 if changed or cycle["pods"] != len(before) else quiet + 1
        if quiet == 2:
            return
        if time.monotonic() > end:
            raise PlaneError(f"scenario {staged.case.title} does not come to rest: {cycle}")


def cycle_with(scheduler: Scheduler, nodes: int) -> dict[str, Any]:
    """Return a cycle that has seen so many nodes, once there is one."""

    def found() -> dict[str, Any] | None:
        cycles = scheduler.events("cycle")
        return cycles[-1] if cycles and cycles[-1]["nodes"] == nodes else None

    return until(found, f"a cycle sees {nodes} nodes")
