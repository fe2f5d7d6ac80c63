"""Groups without pods: let in while queue, ResourceQuota and cluster bear what they ask for."""

from typing import Any

import pytest

from apportion.models import (
    Admission,
    Amounts,
    Config,
    GroupKey,
    Node,
    NodeName,
    Queue,
    QueueName,
    QueueState,
    Reason,
    ResourceQuota,
    Snapshot,
    Violation,
)
from apportion.policies.admission import admit, check_admissions, could_enter
from apportion.policies.outcome import Outcome

from .builders import GPU, Members, after, cores, node, queue, replace, snapshot

BIG = Node(NodeName("n1"), Amounts({"cpu": 100_000, "memory": 1000, GPU: 8000, "pods": 20}))


def asks(name: str, cpu: int, queue: str = "q", **more: Any) -> Members:
    """Return a group without pods that asks to be let in."""
    amounts = more.pop("amounts", cores(cpu))
    return Members(name, queue, **{"asks_admission": True, **more}, min_resources=Amounts(amounts))


def reserves(name: str, cpu: int, queue: str = "q", **more: Any) -> Members:
    """Return a group without pods that was let in before."""
    return asks(name, cpu, queue, asks_admission=False, admitted=True, **more)


def let_in(world: Snapshot | Outcome, **settings: Any) -> list[str]:
    outcome = world if isinstance(world, Outcome) else after(world, config=Config(**settings))
    return [a.group.removeprefix("x/") for a in admit(outcome)[0]]


def why(world: Snapshot, group: str, **settings: Any) -> Reason:
    [reason] = admit(after(world, config=Config(**settings)))[1][GroupKey(f"x/{group}")]
    return reason


def limited(most: int, *groups: Members, **more: Any) -> Snapshot:
    return snapshot(BIG, queue("q", capability={"cpu": 1000 * most}, **more), *groups)


# The queue's limit


@pytest.mark.parametrize(("ask", "want"), [(3, ["g"]), (4, ["g"]), (5, [])])
def test_a_queue_bears_as_much_as_its_limit(ask: int, want: list[str]) -> None:
    assert let_in(limited(4, asks("g", ask))) == want


def test_what_is_let_in_is_what_was_asked_for() -> None:
    world = limited(4, asks("g", 3, amounts={"cpu": 3000, "memory": 5, "pods": 2}))

    assert admit(after(world))[0] == [
        Admission(GroupKey("x/g"), Amounts({"cpu": 3000, "memory": 5, "pods": 2}))
    ]


@pytest.mark.parametrize(
    "there",
    [
        pytest.param(Members("r", "q", on=["n1"] * 2), id="runs"),
        pytest.param(reserves("r", 2), id="is reserved"),
    ],
)
def test_use_and_reservations_count(there: Members) -> None:
    assert let_in(limited(4, there, asks("g", 2))) == ["g"]
    assert let_in(limited(4, there, asks("g", 3))) == []
    assert why(limited(4, there, asks("g", 3)), "g") == Reason(
        "admission", "queue q",
        "queue q has 2 in use or reserved of its limit of 4 cpu; 3 more are asked for",
    )  # fmt: skip


def test_use_is_what_runs_after_the_plan() -> None:
    groups = (
        Members("old", "q", on=["n1"] * 2, minimum=0),
        Members("new", "q", waiting=1, minimum=1, priority=1),
        asks("g", 2),
    )

    assert let_in(after(limited(4, *groups), "new0@n1")) == []
    assert let_in(after(limited(4, *groups), "new0@n1", "old0")) == ["g"]


def test_a_reservation_ends_when_the_pods_come() -> None:
    waits = Members("r", "q", waiting=1, admitted=True, min_resources=Amounts(cores(3)))

    assert let_in(limited(4, waits, asks("g", 4))) == ["g"]
    assert let_in(limited(4, reserves("r", 3), asks("g", 4))) == []


def test_a_limit_of_an_ancestor_counts() -> None:
    def world(ask: int) -> Snapshot:
        org = queue("org", capability={"cpu": 4000})
        sister = queue("b", parent="org")
        kin = reserves("r", 2, "b")
        return snapshot(BIG, org, queue("q", parent="org"), sister, kin, asks("g", ask))

    assert let_in(world(2)) == ["g"]
    assert why(world(3), "g").about == "queue org"


def test_a_limit_of_what_is_not_asked_for_refuses_nobody() -> None:
    full = Members("r", "q", on=["n1"] * 9)

    assert let_in(limited(4, full, asks("g", 0, amounts={GPU: 1000, "cpu": 0}))) == ["g"]
    assert let_in(limited(4, full, asks("g", 0, amounts={GPU: 1000, "cpu": 1}))) == []


def test_what_guarantees_keep_for_others_is_no_part_of_the_limit() -> None:
    def world(ask: int) -> Snapshot:
        kept = queue("kept", guarantee=Amounts(cores(60)))
        return snapshot(BIG, queue("q"), kept, asks("g", ask))

    assert let_in(world(40)) == ["g"]
    assert let_in(world(41)) == []


def test_where_the_rule_is_off_queues_have_no_limits() -> None:
    assert let_in(limited(4, asks("g", 5)), off=("quota",)) == ["g"]


# Access


@pytest.mark.parametrize(
    ("shut", "says"),
    [
        pytest.param(queue("q", state=QueueState.CLOSED), "queue q is Closed", id="closed"),
        pytest.param(queue("other"), "queue q not found", id="missing"),
        pytest.param(
            queue("q", namespaces=frozenset("y")), "queue q is not open to namespace x", id="list"
        ),
    ],
)
def test_a_queue_that_takes_no_group_lets_none_in(shut: Queue, says: str) -> None:
    world = snapshot(BIG, shut, asks("g", 1))

    assert let_in(world) == []
    assert why(world, "g").message == says


def test_what_holds_a_group_whatever_its_pods_keeps_it_out() -> None:
    hold = Reason("topology", "group x/g", "asks for one rack")

    assert why(snapshot(BIG, queue("q"), asks("g", 1, hold=(hold,))), "g") == hold


# ResourceQuota


def quota(used: int = 0, scoped: bool = False, **hard: int) -> ResourceQuota:
    by_key = {k.replace("_", "."): v for k, v in hard.items()}
    return ResourceQuota("x", "limits", by_key, dict.fromkeys(by_key, used), scoped)


@pytest.mark.parametrize(
    ("given", "want"),
    [
        (quota(cpu=2000), ["g"]),
        (quota(cpu=1999), []),
        (quota(requests_cpu=2000), ["g"]),
        (quota(requests_cpu=1999), []),
        (quota(1, cpu=2000), []),
        (quota(cpu=1, scoped=True), ["g"]),
        (quota(requests_memory=0), ["g"]),
        (quota(pods=3), ["g"]),
        (quota(pods=2), []),
        (replace(quota(cpu=1), namespace="y"), ["g"]),
    ],
)
def test_the_namespaces_quota_bears_it(given: ResourceQuota, want: list[str]) -> None:
    world = snapshot(BIG, queue("q"), asks("g", 2, amounts={"cpu": 2000, "pods": 3}))

    assert let_in(replace(world, quotas=(given,))) == want


@pytest.mark.parametrize(("most", "want"), [(3000, ["g"]), (2999, []), (None, ["g"])])
def test_limits_count_where_the_namespace_bounds_limits(most: int | None, want: list[str]) -> None:
    group = asks("g", 1, min_limits=Amounts(cores(2)))
    there = reserves("r", 1, min_limits=Amounts(cores(1)))
    world = snapshot(BIG, queue("q"), there, group)
    bound = quota(cpu=2000) if most is None else quota(limits_cpu=most)

    assert let_in(replace(world, quotas=(bound,))) == want


def test_reservations_of_the_namespace_count_in_its_quota() -> None:
    both = queue("q"), queue("b")
    near = snapshot(BIG, *both, reserves("r", 1, "b"), asks("g", 2))
    far = snapshot(BIG, *both, reserves("r", 1, "b", namespace="y"), asks("g", 2))
    three, two = ((quota(cpu=n),) for n in (3000, 2000))

    assert let_in(replace(near, quotas=three)) == ["g"]
    assert let_in(replace(near, quotas=two)) == []
    assert let_in(replace(far, quotas=two)) == ["g"]
    assert why(replace(near, quotas=two), "g").message == (
        "ResourceQuota x/limits has 1 in use or reserved of its 2 cpu; 2 more are asked for"
    )


# Overcommit


@pytest.mark.parametrize(
    ("percent", "ask", "want"), [(100, 6, ["g"]), (100, 7, []), (120, 8, ["g"]), (120, 9, [])]
)
def test_the_cluster_bears_the_factor_less_what_is_used(
    percent: int, ask: int, want: list[str]
) -> None:
    """Ten cores, of which four are used: by one of ours, by reservations, and by others."""
    world = snapshot(
        node("n1", 10),
        node("shut", 50, unschedulable=True),
        queue("q"),
        queue("b"),
        Members("r", "b", cpu=2, on=["n1"]),
        reserves("kept", 2, "b"),
        asks("g", ask),
    )

    assert let_in(world, overcommit_percent=percent) == want


def test_the_cluster_is_named_where_it_is_too_small() -> None:
    world = snapshot(node("n1", 10), queue("q"), asks("g", 13))

    assert why(world, "g").message == (
        "the cluster has 0 in use or reserved of its 12 cpu (120%); 13 more are asked for"
    )
    assert why(snapshot(BIG, queue("q"), asks("g", 0, amounts={"x.com/y": 1})), "g").message == (
        "the cluster has 0 in use or reserved of its 0 x.com/y (120%); 1m more are asked for"
    )


# Who comes first


def test_in_a_queue_priority_comes_first_then_age_and_who_is_refused_stops_nobody() -> None:
    def world(most: int) -> Snapshot:
        return limited(
            most,
            asks("high", 2, priority=1, created_s=9),
            asks("large", 9, created_s=1),
            asks("old", 2, created_s=2),
            asks("young", 1, created_s=3),
        )

    assert let_in(world(2)) == ["high"]
    assert let_in(world(3)) == ["high", "young"]
    assert let_in(world(4)) == ["high", "old"]
    assert let_in(world(5)) == ["high", "old", "young"]


def shared(cpu: int, *groups: Members, **of_b: Any) -> list[str]:
    world = snapshot(node("n1", cpu), queue("a"), queue("b", **of_b), *groups)
    return let_in(world, overcommit_percent=100)


def test_queues_take_turns_the_poorest_first() -> None:
    many = [asks(f"a{i}", 2, "a", created_s=1) for i in range(3)]
    other = [asks(f"b{i}", 2, "b", created_s=9) for i in range(3)]

    assert shared(4, *many, *other) == ["a0", "b0"]
    assert shared(6, *many, *other, weight=2) == ["a0", "b0", "b1"]
    assert shared(4, *many, *other, priority=1) == ["b0", "b1"]
    assert shared(4, *many, *other, weight=0) == ["a0", "b0"]
    assert shared(6, *many, *other, weight=0) == ["a0", "a1", "b0"]
    assert shared(5, *many, *other, Members("r", "b", on=["n1"])) == ["a0", "b0"]


def test_turns_are_taken_at_every_level_of_the_tree() -> None:
    tree = queue("org"), queue("a", parent="org"), queue("b", parent="org"), queue("c")
    groups = [asks(f"{q}{i}", 1, q) for q in "abc" for i in range(4)]

    world = snapshot(node("n1", 4), *tree, *groups)

    assert let_in(world, overcommit_percent=100) == ["a0", "b0", "c0", "c1"]


# What others' plans may let in


def groups_of(world: Snapshot, *names: str) -> list[Any]:
    return [world.group(GroupKey(f"x/{n}")) for n in names]


def test_any_choice_that_is_borne_is_legal() -> None:
    world = limited(4, asks("a", 2, priority=1), asks("b", 2), asks("c", 2))

    for names in ("", "a", "b", "bc", "ac"):
        assert not [*check_admissions(after(world), groups_of(world, *names))]
    assert let_in(world) == ["a", "b"]


def test_too_much_and_what_is_held_is_refused_by_name() -> None:
    world = limited(4, asks("a", 2), asks("b", 3), reserves("r", 0))

    found = [*check_admissions(after(world), groups_of(world, "a", "b"))]
    shut = replace(world, queues=(Queue(QueueName("q"), state=QueueState.CLOSED),))

    assert found == [
        Violation("admission", f"group x/{g}", "queue q would have 5 of its limit of 4 cpu")
        for g in "ab"
    ]
    assert [*check_admissions(after(shut), groups_of(shut, "a"))] == [
        Violation("admission", "group x/a", "queue q is Closed")
    ]


def test_who_could_be_let_in_beside_the_others() -> None:
    world = limited(4, asks("a", 2), asks("b", 2), asks("c", 3), asks("d", 1, "none"))

    assert [g.name for g in could_enter(after(world), groups_of(world, "a"))] == ["b"]
    assert could_enter(after(world), groups_of(world, "a", "b")) == []
