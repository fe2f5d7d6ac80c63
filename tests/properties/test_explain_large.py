"""Explanations on clusters that are too large to be searched for every change.

Each change that is told is applied to a copy and the copy planned afresh, which shares nothing
with how it was found but the rules.
"""

import pytest
from benchmarks.explain import PLANNED, Tally, World, ask, starts, world

from apportion.adapters.ask.trial import is_small
from apportion.models import GroupKey
from apportion.solver.process import SolverProcess

NODES, WAITING = 40, 160
TOLD, NOT_SO = "smallest changes", "that a full plan does not bear out"
GROUPS = 6
"""Held groups of one cluster that are asked about."""


def judged(of: World, key: GroupKey, tally: Tally, solver: SolverProcess) -> list[str]:
    """Return what is wrong with the explanation of a group; counts go to the tally."""
    found = ask(of, key, tally, solver, PLANNED, False, 1e9)
    wrong: list[str] = []
    if found.held_by == "rules" and not (found.conflict and found.minimal):
        wrong.append(f"{key}: no minimal conflict")
    if found.held_by == "order" and found.order is None:
        wrong.append(f"{key}: held by the order, and nothing is told of it")
    for c in found.changes[:1]:
        tally.counts[TOLD] += 1
        if not starts(of, key, c.edits, found.state, PLANNED, solver):
            tally.counts[NOT_SO] += 1
    return wrong


def held_groups(seed: int, most: int, solver: SolverProcess) -> tuple[World, list[GroupKey]]:
    of = world(NODES, WAITING, seed, solver)
    assert not is_small(of.snapshot)
    return of, of.held[:most]


@pytest.mark.soak
def test_explanations_of_a_thousand_held_groups_are_true(solver: SolverProcess) -> None:
    tally = Tally()
    wrong: list[str] = []
    asked = seed = 0
    while asked < 1000:
        seed += 1
        of, keys = held_groups(seed, GROUPS, solver)
        asked += len(keys)
        wrong += [w for k in keys for w in judged(of, k, tally, solver)]

    assert wrong == []
    told = tally.counts[TOLD]
    assert told > 300, tally.note()
    assert tally.counts[NOT_SO] <= told // 100, tally.note()
