"""Greedy's choice of nodes looks at what the expected mix could use no more."""

from msgspec.structs import replace

from apportion.models import Config, ExpectedPod, Snapshot
from apportion.models.config import TierSettings
from apportion.policies.expected_fragmentation import ExpectedFragmentation
from apportion.policies.legality import verify
from apportion.policies.outcome import Outcome
from apportion.policies.registry import rules_for
from apportion.policies.scene import Scene
from apportion.solver.decode import outcome_of
from apportion.solver.entry import settle_greedy
from apportion.solver.fragments import fragments_of
from apportion.solver.greedy import rank_and_place
from apportion.solver.leveling import levels_of

from .test_repack import ask, cluster, crowd, node

HALVES = (ExpectedPod(1, 500, 1000), ExpectedPod(1, 1000, 1000))
GOAL = Config(engine="greedy", tiers=TierSettings(packing="expected-fragmentation", mix=HALVES))
PLAIN = replace(GOAL, tiers=TierSettings())


def greedy(snapshot: Snapshot, config: Config) -> Outcome:
    scene = Scene(snapshot, config, rules_for(config))
    ranking = rank_and_place(scene)
    levels = levels_of(scene, ranking)
    return outcome_of(scene, settle_greedy(scene, ranking, levels), levels)


def lost(outcome: Outcome) -> int:
    """Return the fragmentation of the places, by the goal's measure and mix."""
    scene = Scene(outcome.scene.snapshot, GOAL, rules_for(GOAL))
    return ExpectedFragmentation().measure(Outcome(scene, outcome.places))


def test_what_uses_up_a_node_leaves_no_device_without_cpu() -> None:
    # Tight on CPU is node a; there the pod would leave a device that nobody can use.
    nodes = [node("a", 2000, 2), node("b", 9000, 1)]
    snapshot = cluster(nodes, [[ask(2000, 1000)]])
    assert set(greedy(snapshot, PLAIN).places.values()) == {"a"}
    assert set(greedy(snapshot, GOAL).places.values()) == {"b"}


def test_over_many_clusters_less_is_lost_and_plans_stay_legal() -> None:
    with_goal = without = 0
    for seed in range(30):
        few = crowd(seed)
        kept = {g.key for g in few.groups[:9]}
        few = replace(
            few,
            groups=tuple(g for g in few.groups if g.key in kept),
            pods=tuple(p for p in few.pods if p.group in kept),
        )
        made, plain = greedy(few, GOAL), greedy(few, PLAIN)
        assert not verify(made)
        if len(made.places) == len(plain.places):
            with_goal += lost(made)
            without += lost(plain)
    assert 0 < with_goal < without


def test_without_the_goal_nothing_is_looked_at() -> None:
    snapshot = cluster([node("a", 2000, 1)], [[ask(1000, 500)]])
    assert fragments_of(Scene(snapshot, PLAIN, ())) is None
    off = replace(GOAL, off=("expected-fragmentation",))
    assert fragments_of(Scene(snapshot, off, ())) is None
