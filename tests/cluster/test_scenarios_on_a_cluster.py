"""Scenarios of the project on a real control plane: the live scheduler brings about what they say.

The scheduler is started when all objects are there, as a scenario is one moment. A sample runs
every time; all of them with ``-m soak``.
"""

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from apportion.adapters.inputs import Asked, Case, scenario_cases
from cluster.client import Client
from cluster.scheduler import Scheduler, Schedulers
from cluster.staging import Staged, can_be_staged, stage
from cluster.waiting import until

SCENARIOS = Path(__file__).parents[1] / "scenarios"
AREAS = ("affinity", "fairness", "gang", "lifecycle", "preempt", "queue", "reclaim", "security")
EVERY = 5
"""Of so many scenarios one runs every time."""


def cases() -> Iterator[object]:
    number = itertools.count()
    for area in AREAS:
        for path in sorted((SCENARIOS / area).glob("*.yaml")):
            for case in scenario_cases([str(path)], Asked()):
                if can_be_staged(case):
                    marks = [] if next(number) % EVERY == 0 else [pytest.mark.soak]
                    yield pytest.param(case, id=f"{area}/{case.title}", marks=marks)


def is_at_rest(scheduler: Scheduler, since: int) -> bool:
    """Whether the last of its cycles since then changed nothing."""
    cycles = scheduler.events("cycle")[since:]
    return bool(cycles) and not (cycles[-1]["bound"] or cycles[-1]["evicted"])


@pytest.mark.usefixtures("volcano", "kwok", "controllers")
@pytest.mark.parametrize("case", list(cases()))
def test_scenario_comes_true(client: Client, schedulers: Schedulers, case: Case) -> None:
    staged = stage(case, client)

    settle(client, schedulers.start(), staged)

    assert staged.faults() == []


def settle(client: Client, scheduler: Scheduler, staged: Staged) -> None:
    """Wait until two cycles in a row, the second asked for, have changed nothing."""
    for number in range(2):
        since = len(scheduler.events("cycle")) if number else 0
        client.create(
            {
                "apiVersion": "v1", "kind": "Node", "metadata": {"name": f"tick-{number}"},
                "spec": {"unschedulable": True},
            }
        )  # fmt: skip

        def rests(since: int = since) -> bool:
            before = len(staged.evicted)
            staged.bring_back()
            return len(staged.evicted) == before and is_at_rest(scheduler, since)

        until(rests, f"scenario {staged.case.title} comes to rest", 30)
