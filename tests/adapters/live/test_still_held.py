"""What a full plan has held still waits as long as nothing gives it more; else it is planned."""

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from apportion.adapters.live.still_held import FRESH_S, StillHeld
from apportion.models import (
    Amounts,
    Config,
    GroupKey,
    HostPort,
    NodeName,
    PodKey,
    PodState,
    PodTerm,
    Reclaims,
    Snapshot,
    snapshot_of,
)
from oracle.build import NOW, Members, budget, foreign, node, only, queue, snapshot

from .worlds import GREEDY, planned

GANG = Members("gang", "q", cpu=3, waiting=3, minimum=3, priority=5)
QUIET = Members("gang", "q", cpu=3, waiting=3, minimum=3)
"""The same without a right to what runs."""
NEW = Members("new", "q", waiting=1, created_s=NOW + 1)


def full(*more: Any, gang: Members = QUIET, **of_queue: Any) -> Snapshot:
    """Return three nodes with 4, 3 and 2 free cores, and a gang that needs 3 on each."""
    runs = [Members("r", "q", on=["n2"]), Members("s", "q", cpu=2, on=["n3"])]
    nodes = [node("n1", 4), node("n2", 4), node("n3", 4)]
    return snapshot(*nodes, queue("q", **of_queue), *runs, gang, *more)


def stuck(*more: Any) -> Snapshot:
    """Return a cluster whose gang may evict a pod, which does not help: others have the room."""
    nodes = [node("n1", 4), node("n2", 4), node("n3", 4)]
    runs = (Members("r", "q", on=["n1"]), foreign("f", 2, "n3"))
    return snapshot(*nodes, queue("q"), *runs, GANG, *more)


def two_queues(due: int, other: int = 0, **more: Any) -> Snapshot:
    """Return a gang that asks for 6 cores, and three of another queue that it could not use."""
    nodes = [node(n, 4) for n in ("n1", "n2", "n3")]
    gang = Members("gang", "q", cpu=2, waiting=3, minimum=3)
    there = [Members(f"o{i}", "q2", on=[f"n{i + 1}"]) for i in range(3)]
    stays = [foreign("f", 3, "n1"), foreign("g", 3, "n2"), foreign("h", 3, "n3")]
    return snapshot(*nodes, queue("q", due, **more), queue("q2", other), gang, *there, *stays)


def beside_one(*more: Any, spec: Any = None, **of_queue: Any) -> Snapshot:
    """Return a node with a pod of one core, and another one that waits for what that keeps."""
    waits = Members("waits", "q", waiting=1, spec=spec)
    host = {"kubernetes.io/hostname": "n1"}
    return snapshot(node("n1", 4, labels=host), queue("q", **of_queue), waits, *more)


def told_apart(seen: Snapshot, change: Callable[[Snapshot], Snapshot]) -> Snapshot | None:
    """Plan what was seen, and return what is planned of the changed cluster beside what waits."""
    kept = StillHeld()
    kept.note(seen, GREEDY, planned(seen))
    return kept.beside(change(seen), GREEDY)


def later(seen: Snapshot, *more: Members, gone: str = "", s: int = 1, **changed: Any) -> Snapshot:
    """Return the cluster a second later, with more work, and without some."""
    pods = [p for p in seen.pods if p.name != gone]
    left = {p.group for p in pods}
    fields = {
        "nodes": seen.nodes, "queues": seen.queues, "budgets": seen.budgets,
        "groups": [g for g in seen.groups if g.key in left] + [m.group for m in more],
        "pods": pods + [p for m in more for p in m.pods],
        "taken_at_s": seen.taken_at_s + s,
    }  # fmt: skip
    return snapshot_of(**{**fields, **changed})


def replaced(seen: Snapshot, gone: str, cpu: int = 1) -> Snapshot:
    """Return the cluster once somebody else's pod has as much on n1 as the one that has gone."""
    now = later(seen, gone=gone)
    return replace(now, pods=(foreign("f", cpu, "n1"), *now.pods))


def with_pod(seen: Snapshot, key: str, **fields: Any) -> Snapshot:
    pods = (replace(p, **fields) if p.key == key else p for p in seen.pods)
    return replace(seen, pods=tuple(pods))


def names(of: Snapshot) -> list[str]:
    return [p.name for p in of.pods]


def test_newcomers_are_planned_as_if_nothing_else_waited() -> None:
    rest = told_apart(full(), lambda seen: later(seen, NEW))

    assert rest is not None
    assert names(rest) == ["new0", "r0", "s0"]
    assert [g.name for g in rest.groups] == ["new", "r", "s"]


def test_a_group_of_which_some_run_stays_with_these() -> None:
    seen = full(Members("many", "q", cpu=4, on=["n1"], waiting=2))
    assert {h.group for h in planned(seen).held} == {"x/gang", "x/many"}

    rest = told_apart(seen, later)

    assert rest is not None
    assert names(rest) == ["many0", "r0", "s0"]
    assert "x/many" in rest.groups_by_key


def test_what_is_held_is_told_as_the_full_plan_told_it() -> None:
    kept, seen = StillHeld(), full()
    whole = planned(seen)
    kept.note(seen, GREEDY, whole)
    rest = kept.beside(later(seen, NEW), GREEDY)
    assert rest is not None

    made = kept.complete(planned(rest))

    assert made.held == whole.held
    assert [b.pod for b in made.binds] == ["x/new0"]
    assert made.queues[0].entitlement == whole.queues[0].entitlement
    assert made.queues[0].allocated["cpu"] == 4000


PROMISED = replace(
    foreign("p", 4, "n1"), state=PodState.PENDING, node=None, nominated=NodeName("n1")
)
"""Of another scheduler, which makes room for it on the node."""
SMALL = Members("small", "q", cpu=2, on=["n1"])
UNITS = [Members(f"u{i}", "q", on=["n1"]) for i in range(2)]


@pytest.mark.parametrize(
    ("seen", "change"),
    [
        pytest.param(full(), later, id="nothing"),
        pytest.param(
            full(NEW), lambda s: with_pod(s, "x/new0", state=PodState.RUNNING, node="n3"),
            id="a pod runs where it was bound",
        ),
        pytest.param(full(), lambda s: with_pod(s, "x/r0", ready=False), id="a pod is not ready"),
        pytest.param(full(SMALL), lambda s: later(s, gone="r0"), id="too little is free in all"),
        pytest.param(
            full(*UNITS), lambda s: later(s, gone="u00"),
            id="the node has not enough for one of its pods",
        ),
        pytest.param(
            full(foreign("f", 2, "n1")), lambda s: later(s, gone="s0"),
            id="the others have not room enough",
        ),
        pytest.param(
            beside_one(PROMISED),
            lambda s: with_pod(s, "sys/p", state=PodState.RUNNING, node="n1"),
            id="who was promised the room runs there",
        ),
    ],
)  # fmt: skip
def test_it_still_waits_after(seen: Snapshot, change: Callable[[Snapshot], Snapshot]) -> None:
    assert not planned(change(seen)).places.keys() & {f"x/gang{i}" for i in range(3)}

    assert told_apart(seen, change) is not None


LIMITED = full(
    node("n4", 4), Members("t", "q", cpu=1, on=["n3"]), capability={"cpu": 12_000}
)  # fmt: skip
"""There is room, but of 12 cores the queue uses 4, and the gang asks for 9."""
SHY = {"anti_affinity": (PodTerm("kubernetes.io/hostname", only("r"), None),)}
PORT = {"host_ports": (HostPort(80),)}
AWAY = {"anti_affinity": (PodTerm("kubernetes.io/hostname", only("waits"), None),)}
BEYOND_ITS_DUE = snapshot(
    node("n1", 4), queue("q", 2), Members("r", "q", cpu=2, on=["n1"], preemptable=False),
    Members("waits", "q", waiting=1, preemptable=False),
)  # fmt: skip
FIRST = Members("a", "q", cpu=2, waiting=1, priority=9, created_s=NOW - 200)


@pytest.mark.parametrize(
    ("seen", "change"),
    [
        pytest.param(full(), lambda s: later(s, gone="s0"), id="room for it"),
        pytest.param(
            full(NEW), lambda s: later(s, gone="s0"), id="room for it, and a bind that failed"
        ),
        pytest.param(full(), lambda s: later(s, s=FRESH_S), id="time"),
        pytest.param(full(), lambda s: later(s, s=-1), id="a clock that jumped"),
        pytest.param(
            full(), lambda s: later(s, nodes=[*s.nodes, node("n4", 1)]), id="another node"
        ),
        pytest.param(full(), lambda s: later(s, queues=[queue("q", weight=2)]), id="a queue"),
        pytest.param(
            full(), lambda s: with_pod(s, "x/gang1", priority=3), id="a pod of it is another one"
        ),
        pytest.param(full(), lambda s: later(s, gone="gang1"), id="a pod of it has gone"),
        pytest.param(
            full(), lambda s: with_pod(s, "x/gang1", state=PodState.RUNNING, node="n1"),
            id="a pod of it runs that nobody bound",
        ),
        pytest.param(
            full(), lambda s: with_pod(s, "x/r0", labels={"a": "b"}), id="a pod that runs changes"
        ),
        pytest.param(
            full(), lambda s: replace(s, nominations=((PodKey("x/gang0"), "n1"),)), id="a promise"
        ),
        pytest.param(
            full(Members("pair", "q", cpu=1, on=["n1", "n1"], minimum=2)),
            lambda s: later(s, gone="pair1"), id="a gang that may be broken",
        ),
        pytest.param(
            LIMITED, lambda s: later(s, gone="t0"), id="less in use of the limit of its queue"
        ),
        pytest.param(
            stuck(), lambda s: later(s, gone="r0"), id="room that is too little, and rights"
        ),
        pytest.param(
            stuck(budget("r", 0)), lambda s: replace(s, budgets=()), id="a budget, and rights"
        ),
        pytest.param(
            stuck(budget("r", 0)), lambda s: with_pod(s, "x/r0", ready=False),
            id="a pod under a budget that is not ready, and rights",
        ),
        pytest.param(
            two_queues(due=8), later, id="it may have a right to work of another queue"
        ),
        pytest.param(
            two_queues(due=8, other=3), lambda s: later(s, Members("new", "q2", waiting=1)),
            id="a newcomer makes what runs in its queue fair game",
        ),
        pytest.param(
            beside_one(Members("r", "q", on=["n1"], spec=PORT), spec=PORT),
            lambda s: replaced(s, "r0"), id="a port is free, and its room taken again",
        ),
        pytest.param(
            beside_one(Members("r", "q", on=["n1"], spec=AWAY)),
            lambda s: replaced(s, "r0"), id="one has gone that bore it not, and its room as well",
        ),
        pytest.param(
            beside_one(FIRST, capability={"cpu": 2000}),
            lambda s: replaced(s, "a0", 2), id="who was to start has gone, and its room as well",
        ),
        pytest.param(
            beside_one(PROMISED), lambda s: with_pod(s, "sys/p", nominated=None),
            id="another scheduler promises the room no more",
        ),
        pytest.param(
            beside_one(PROMISED), lambda s: later(s, gone="p"),
            id="whom another scheduler had promised the room has gone",
        ),
        pytest.param(
            BEYOND_ITS_DUE, lambda s: later(s, Members("c", "q", cpu=2, on=["n1"]), gone="r0"),
            id="less of a due is in use, if not of the queue in all",
        ),
    ],
)  # fmt: skip
def test_all_is_planned_again_after(seen: Snapshot, change: Callable[[Snapshot], Snapshot]) -> None:
    assert planned(seen).held

    assert told_apart(seen, change) is None


def test_rights_in_its_own_queue_do_no_harm_where_nothing_has_left() -> None:
    seen = stuck()
    assert planned(seen).held

    assert told_apart(seen, lambda s: later(s, NEW)) is not None
    assert told_apart(seen, lambda s: with_pod(s, "x/r0", ready=False)) is not None


@pytest.mark.parametrize(
    "seen",
    [
        pytest.param(two_queues(due=5, other=3), id="its due is too small, the others' is not"),
        pytest.param(two_queues(due=8, reclaims=Reclaims.NEVER), id="its queue takes nothing"),
        pytest.param(two_queues(due=8, other=3), id="the others have what they are due"),
    ],
)
def test_work_of_other_queues_to_which_it_has_no_right_lets_it_wait(seen: Snapshot) -> None:
    assert planned(seen).held

    assert told_apart(seen, later) is not None


def test_protection_that_ends_is_planned_where_it_has_rights() -> None:
    end = {"protected_until_s": NOW + 3}
    seen = stuck(Members("late", "q", on=["n1"], pod=end))
    assert planned(seen).held

    assert told_apart(seen, lambda s: later(s, s=2)) is not None
    assert told_apart(seen, lambda s: later(s, s=3)) is None


def test_runtimes_of_its_queue_that_are_over_are_planned() -> None:
    seen = stuck(Members("late", "q", on=["n1"], pod={"started_s": NOW - 57}))
    timed = replace(seen, queues=(replace(seen.queues[0], preempt_min_runtime_s=60),))
    assert planned(timed).held

    assert told_apart(timed, lambda s: later(s, s=2)) is not None
    assert told_apart(timed, lambda s: later(s, s=3)) is None


def test_groups_that_see_pods_are_always_planned() -> None:
    gang = Members("gang", "q", cpu=3, waiting=3, minimum=3, spec=SHY)

    assert told_apart(full(gang=gang), later) is None


def test_other_settings_are_planned_with() -> None:
    kept, seen = StillHeld(), full()
    kept.note(seen, GREEDY, planned(seen))

    assert kept.beside(later(seen), replace(GREEDY, grace_s=1)) is None


def test_all_is_planned_where_running_pods_may_be_moved() -> None:
    kept, seen, settings = StillHeld(), full(), replace(GREEDY, moves=1)
    kept.note(seen, settings, planned(seen))

    assert kept.beside(later(seen), settings) is None


def test_a_plan_made_for_want_of_a_better_one_is_not_relied_on() -> None:
    kept, seen = StillHeld(), full()
    made = planned(seen)
    kept.note(seen, GREEDY, replace(made, solver=replace(made.solver, status="fallback")))

    assert kept.beside(later(seen), GREEDY) is None


def test_nothing_is_held_after_a_plan_that_starts_all() -> None:
    kept, seen = StillHeld(), snapshot(node("n1", 4), queue("q"), NEW)
    kept.note(seen, GREEDY, planned(seen))

    assert kept.beside(seen, Config()) is None
    assert GroupKey("x/new") in seen.groups_by_key
    assert Amounts({"cpu": 4000}).items() <= seen.nodes[0].allocatable.items()
