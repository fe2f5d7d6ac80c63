"""When a cycle begins at once: single pods have come, and the last cycle is past."""

from dataclasses import dataclass

import pytest
from msgspec.structs import replace

from apportion.adapters.live.at_once import SHARE, AtOnce
from apportion.adapters.live.planning import DIRECT
from apportion.models import Plan, Snapshot
from oracle.build import Members, node, queue, snapshot

from .worlds import planned

LONG_S = 100.0


def world(*groups: Members) -> Snapshot:
    return snapshot(node("n1", 4), queue("q"), *groups)


SINGLE = Members("single", "q", waiting=1)
GANG = Members("gang", "q", waiting=2, minimum=2)
RUNS = Members("runs", "q", on=["n1"])


@dataclass
class Cluster:
    """A cluster that counts who has come, and how often it was looked at."""

    seen: Snapshot
    arrived: int = 1
    looks: int = 0

    def look(self) -> Snapshot:
        self.looks += 1
        return self.seen


def at_once(cluster: Cluster) -> AtOnce:
    return AtOnce(cluster, cluster.look)


@pytest.mark.parametrize(
    ("groups", "want"),
    [
        ([SINGLE], True),
        ([SINGLE, RUNS], True),
        ([GANG], False),
        ([SINGLE, GANG], False),
        ([RUNS], False),
    ],
    ids=["a single pod", "beside one that runs", "a gang", "both", "nobody waits"],
)
def test_only_single_pods_begin_a_cycle(groups: list[Members], want: bool) -> None:
    assert at_once(Cluster(world(*groups))).begins(LONG_S, 0.0, 0.1, changes=1) is want


def test_a_cycle_begins_once_as_long_again_as_the_last_has_gone_by() -> None:
    early, in_time = at_once(Cluster(world(SINGLE))), at_once(Cluster(world(SINGLE)))

    assert not early.begins(5 + SHARE * 0.1 - 0.001, 5.0, 0.1, changes=1)
    assert in_time.begins(5 + SHARE * 0.1 + 0.001, 5.0, 0.1, changes=1)


def test_it_is_looked_once_for_those_who_have_come() -> None:
    cluster = Cluster(world(GANG))
    tried = at_once(cluster)

    tried.begins(LONG_S, 0.0, 0.1, changes=1)
    tried.begins(LONG_S, 0.0, 0.1, changes=2)
    before = cluster.looks
    cluster.arrived += 1
    tried.begins(LONG_S, 0.0, 0.1, changes=3)

    assert (before, cluster.looks) == (1, 2)


def test_the_cycle_goes_by_what_was_seen_unless_something_has_changed() -> None:
    tried = at_once(Cluster(world(SINGLE)))

    tried.begins(LONG_S, 0.0, 0.1, changes=7)
    same = tried.taken(7)
    tried = at_once(Cluster(world(SINGLE)))
    tried.begins(LONG_S, 0.0, 0.1, changes=7)

    assert same is not None
    assert same[0] == LONG_S
    assert tried.taken(8) is None
    assert tried.taken(7) is None, "it was for one cycle"


def test_what_was_seen_is_forgotten_with_what_was_assumed() -> None:
    tried = at_once(Cluster(world(SINGLE)))

    tried.begins(LONG_S, 0.0, 0.1, changes=7)
    tried.forget()

    assert tried.taken(7) is None


def marked(plan: Plan, detail: str) -> Plan:
    return replace(plan, solver=replace(plan.solver, detail=detail))


def test_only_after_a_plan_that_placed_directly_and_moves_nobody_it_is_looked() -> None:
    whole = planned(world(SINGLE))
    short = planned(world(Members("large", "q", cpu=99, waiting=1)))
    low = Members("low", "q", cpu=3, on=["n1"])
    mover = planned(world(low, Members("high", "q", cpu=3, waiting=1, priority=9)))

    assert AtOnce.may_be(marked(whole, DIRECT))
    assert AtOnce.may_be(marked(short, DIRECT))
    assert not AtOnce.may_be(whole)
    assert mover.evictions
    assert not AtOnce.may_be(marked(mover, DIRECT))
    assert not AtOnce.may_be(None)


def test_what_is_still_held_begins_no_cycle_and_keeps_none_from_beginning() -> None:
    both = Cluster(world(SINGLE, GANG))
    without = world(SINGLE)

    assert AtOnce(both, both.look, lambda seen: without).begins(LONG_S, 0.0, 0.1, changes=1)
    assert not AtOnce(both, both.look, lambda seen: None).begins(LONG_S, 0.0, 0.1, changes=1)
    assert not AtOnce(both, both.look, lambda seen: world()).begins(LONG_S, 0.0, 0.1, changes=1)
