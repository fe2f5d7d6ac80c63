"""Explanations on clusters that are too large to be searched for every change.

Each change that is told is applied to a copy and the copy planned afresh, which shares nothing
with how it was found but the rules.
"""

import pytest
from benchmarks.explained import LARGE, Kept, Of, told, tried

from apportion.solver.process import SolverProcess

GROUPS = 1000


@pytest.mark.soak
def test_explanations_of_a_thousand_held_groups_are_true(solver: SolverProcess) -> None:
    kept, seed = Kept(None), 0
    while kept.groups < GROUPS:
        seed += 1
        kept.add(tried(Of(LARGE, seed), solver))

    trials = list(kept.trials.values())
    changes = [c for t in trials for g in t.groups for c in g.changes]
    assert [w for t in trials for w in t.faults] == [], "\n".join(told(trials))
    assert len(changes) > 300
