"""Greedy plans carry bounds: by counting where all starts that could."""

import pytest
from benchmarks.priority_instances import Small, small

from apportion.models import Config, Plan, TierRow
from apportion.policies.fairness import Work
from apportion.policies.levels import TIERS
from apportion.policies.outcome import Outcome
from apportion.policies.registry import rules_for
from apportion.policies.scene import Scene
from apportion.solver.certificate import certified
from apportion.solver.decode import outcome_of
from apportion.solver.entry import plan, settle_greedy
from apportion.solver.greedy import rank_and_place
from apportion.solver.leveling import levels_of
from apportion.solver.rows import TierResult
from oracle.build import Members, node, queue, snapshot

from .children import InProcess

GREEDY = Config(engine="greedy", deterministic=True)


def tier(made: Plan, name: str) -> TierRow:
    (row,) = [t for t in made.objective if t.name == name]
    return row


def test_tiers_of_work_are_proven_where_all_starts_and_nobody_leaves() -> None:
    made = plan(
        snapshot(
            node("n1", 8), queue("q"),
            Members("gang", "q", 2, waiting=3, minimum=2), Members("one", "q", 1, waiting=1),
            Members("old", "q", 1, on=["n1"]),
        ),
        GREEDY,
    )  # fmt: skip

    assert len(made.places) == 4
    assert made.solver.gap == 0
    for name in (*TIERS, "returning victims", "victims", "gangs broken", "lost work"):
        assert tier(made, name).value == tier(made, name).bound


@pytest.mark.parametrize("waiting", [2, 3])
def test_what_could_never_run_counts_for_nothing(waiting: int) -> None:
    made = plan(
        snapshot(
            node("n1", 4), queue("q"), Members("small", "q", 2, waiting=1),
            Members("huge", "q", 3, waiting=waiting, minimum=2),
        ),
        GREEDY,
    )  # fmt: skip

    assert made.solver.gap == 0
    assert [h.group for h in made.held] == ["x/huge"]


def test_that_no_victims_help_is_proven_without_a_search() -> None:
    """What is due stays; a gang of another queue is told that nobody's leaving would help it."""
    process = InProcess()
    made = plan(
        snapshot(
            node("n1", 4), node("n2", 4), queue("old", due=8), queue("new", due=0),
            *(Members(f"old{i}", "old", on=[f"n{1 + i % 2}"]) for i in range(8)),
            Members("gang", "new", 4, waiting=2, minimum=2, priority=9),
        ),
        Config(deterministic=True),
        process=process,
    )  # fmt: skip

    assert process.asked == []
    assert (made.solver.engine, made.solver.status, made.solver.gap) == ("exact", "optimal", 0)
    assert [r.rule for r in made.held[0].reasons] == ["capacity", "preemption"]
    assert "no set of running pods" in made.held[0].reasons[1].message


def test_group_that_fits_nowhere_is_told_of_no_victims_where_nobody_runs() -> None:
    made = plan(snapshot(node("n1", 1), queue("q"), Members("big", "q", 2, waiting=1)))

    assert [r.rule for r in made.held[0].reasons] == ["capacity"]


def planned() -> Outcome:
    """Return what greedy makes of a cluster of which more is asked than it has."""
    config = Config()
    scene = Scene(small(Small(16, 4, 2, 105, 0)), config, rules_for(config))
    ranking = rank_and_place(scene)
    levels = levels_of(scene, ranking)
    return outcome_of(scene, settle_greedy(scene, ranking, levels), levels)


def test_bounds_without_time_are_wider_and_right() -> None:
    outcome = planned()
    tiers = [TierResult(w, w.measure(outcome), None) for w in map(Work, TIERS)]

    tight, wide = certified(outcome, tiers), certified(outcome, tiers, limit_s=0.0)

    for near, far in zip(tight, wide, strict=True):
        assert near.bound is not None
        assert far.bound is not None
        assert near.value <= near.bound <= far.bound
    assert [t.bound for t in tight] != [t.bound for t in wide]
