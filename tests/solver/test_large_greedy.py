"""In clusters where a hunt is judged by what it touches alone, the draft is legal all the same."""

import pytest
from benchmarks.edges import reclaim
from benchmarks.large import Large, large

from apportion.models import Config
from apportion.policies.legality import verify
from apportion.policies.registry import rules_for
from apportion.policies.scene import Scene
from apportion.solver.decode import Decision, outcome_of
from apportion.solver.greedy import rank_and_place
from apportion.solver.hunt import LARGE
from apportion.solver.leveling import levels_of

CASES = [
    Large(nodes=100, waiting=400, queues=20, seed=seed, fill=fill)
    for seed in (1, 2, 3)
    for fill in (0.8, 0.98)
]


@pytest.mark.parametrize("of", CASES, ids=lambda of: f"{of.seed}-{of.fill}")
def test_the_draft_is_legal_before_anything_is_withdrawn(of: Large) -> None:
    config = Config()
    scene = Scene(large(of), config, rules_for(config))
    assert len(scene.snapshot.pods) > LARGE
    ranking = rank_and_place(scene)
    draft = ranking.draft
    decision = Decision(dict(draft.places), frozenset(draft.evicted))
    assert draft.places
    assert verify(outcome_of(scene, decision, levels_of(scene, ranking))) == []


def test_a_gang_reclaims_exactly_what_it_needs() -> None:
    config = Config()
    scene = Scene(reclaim(100, 50), config, rules_for(config))
    draft = rank_and_place(scene).draft
    assert (len(draft.places), len(draft.evicted)) == (50, 400)
