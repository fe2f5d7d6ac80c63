"""Limits, guarantees and capacity of queues, computed by hand (order.md, section 2)."""

from typing import Any

import pytest

from apportion.models import Amounts, Config, PodState, Queue, QueueName, QueueShare, Snapshot
from apportion.policies.limits import Limits, limits_of

from .builders import Members, cores, foreign, node, queue, replace, scene, snapshot


def cpu(world: Snapshot, config: Config | None = None) -> tuple[Limits, int]:
    here = scene(world, config)
    return limits_of(here), here.ledger.column["cpu"]


def cores_of(rows: Any, column: int) -> dict[str, float | None]:
    return {q: None if row[column] is None else row[column] / 1000 for q, row in rows.items()}


def limits(world: Snapshot, config: Config | None = None) -> dict[str, float | None]:
    found, column = cpu(world, config)
    return cores_of(found.limit, column)


def guarantees(world: Snapshot) -> dict[str, float | None]:
    found, column = cpu(world)
    return cores_of(found.guarantee, column)


def keeps(name: str, n: int, parent: str | None = None, **more: Any) -> Queue:
    return queue(name, parent=parent, guarantee=Amounts(cores(n)), **more)


# What there is


def test_the_root_has_what_nodes_offer_less_foreign_pods() -> None:
    world = snapshot(
        node("n1", 8),
        node("n2", 4),
        queue("q"),
        Members("g", "q", cpu=2, on=["n1"]),
        foreign("f", 1, "n1"),
        foreign("leaving", 2, "n2", PodState.TERMINATING),
    )

    found, column = cpu(world)

    assert (found.capacity[column], found.root[column]) == (12_000, 11_000)


def test_closed_nodes_offer_nothing_and_our_pods_there_count() -> None:
    world = snapshot(
        node("n1", 8),
        node("cordoned", 8, unschedulable=True),
        node("dead", 8, ready=False),
        queue("q"),
        Members("g", "q", cpu=2, on=["n1", "cordoned", "unknown"]),
        foreign("f", 3, "cordoned"),
    )

    found, column = cpu(world)

    assert (found.capacity[column], found.root[column]) == (8000, 12_000)


def test_the_root_has_never_less_than_nothing() -> None:
    ours = Members("g", "q", waiting=1)

    found, column = cpu(snapshot(node("n1", 1), queue("q"), ours, foreign("f", 3, "n1")))

    assert found.root[column] == 0


def test_a_foreign_pod_on_its_way_is_taken_off_as_well() -> None:
    there = foreign("f", 3, "n1")
    coming = replace(there, state=PodState.PENDING, node=None, nominated=there.node)

    found, column = cpu(snapshot(node("n1", 8), queue("q"), Members("g", "q", waiting=1), coming))

    assert found.root[column] == 5000


# Limits


def world_of(*queues: Queue) -> Snapshot:
    return snapshot(node("n1", 10), *queues, Members("g", queues[0].name, waiting=1))


@pytest.mark.parametrize(
    ("about", "queues", "want"),
    [
        ("nothing is limited", [queue("a"), queue("b")], {"a": None, "b": None}),
        (
            "capability alone limits where it is written",
            [queue("a", capability={"cpu": 3000}), queue("b")],
            {"a": 3, "b": None},
        ),
        (
            "a guarantee is out of reach for the others",
            [keeps("a", 4), queue("b")],
            {"a": 10, "b": 6},
        ),
        (
            "two guarantees: all, less the other's",
            [keeps("a", 4), keeps("b", 3), queue("c")],
            {"a": 7, "b": 6, "c": 3},
        ),
        (
            "capability below that counts",
            [keeps("a", 4, capability={"cpu": 5000}), queue("b", capability={"cpu": 9000})],
            {"a": 5, "b": 6},
        ),
        (
            "three levels: each is what the limit above leaves",
            [
                queue("top", capability={"cpu": 8000}),
                keeps("other", 1),
                keeps("mid", 2, "top"),
                queue("side", parent="top"),
                keeps("leaf", 1, "mid"),
                queue("low", parent="mid"),
            ],
            {"top": 8, "other": 10, "mid": 8, "side": 6, "leaf": 8, "low": 7},
        ),
    ],
)
def test_limits_by_hand(about: str, queues: list[Queue], want: dict[str, float | None]) -> None:
    assert limits(world_of(*queues)) == want, about


def test_percentages_are_of_the_cluster_and_only_lower_a_capability() -> None:
    queues = [queue("a", capability={"cpu": 3000}), queue("b")]
    shares = {n: QueueShare(capability_percent={"cpu": p}) for n, p in (("a", 50), ("b", 33))}
    low = {"a": QueueShare(capability_percent={"cpu": 20})}

    assert limits(world_of(*queues), Config(queues=shares)) == {"a": 3, "b": 3.3}
    assert limits(world_of(*queues), Config(queues=low)) == {"a": 2, "b": None}


def test_percentages_of_dues_and_guarantees_replace_the_queues_own_rounded_down() -> None:
    world = snapshot(
        node("n1", 7),
        keeps("a", 5, deserved={"cpu": 5000}),
        queue("b"),
        Members("g", "a", waiting=1),
    )
    share = QueueShare(deserved_percent={"cpu": 33}, guarantee_percent={"cpu": 33})

    found, column = cpu(world, Config(queues={"a": share}))

    a = QueueName("a")
    assert (found.deserved[a][column], found.guarantee[a][column]) == (2310, 2310)


# Guarantees


@pytest.mark.parametrize(
    ("about", "queues", "want"),
    [
        ("as written", [keeps("a", 4), keeps("b", 6)], {"a": 4, "b": 6}),
        ("half of all", [keeps("a", 15), keeps("b", 5)], {"a": 7.5, "b": 2.5}),
        (
            "rounded down",
            [keeps("a", 10), keeps("b", 10), keeps("c", 10)],
            {"a": 3.333, "b": 3.333, "c": 3.333},
        ),
        (
            "below a queue: of what that queue may have",
            [
                queue("up", capability={"cpu": 3000}),
                keeps("a", 4, "up"),
                keeps("b", 2, "up"),
            ],
            {"up": 0, "a": 2, "b": 1},
        ),
    ],
)
def test_guarantees_beyond_what_there_is_are_scaled_down(
    about: str, queues: list[Queue], want: dict[str, float]
) -> None:
    assert guarantees(world_of(*queues)) == want, about


def test_scaling_down_is_said_with_the_sums() -> None:
    found, _ = cpu(world_of(keeps("a", 15), keeps("b", 5), queue("c")))

    [said] = found.warnings
    assert (said.object, said.path) == ("Queue a, b", "spec.guarantee.resource[cpu]")
    assert said.message == (
        "the guarantees add up to 20 where the cluster has 10; each is scaled down to 50%: "
        "lower the guarantees"
    )


def test_guarantees_that_fit_are_not_warned_about() -> None:
    assert cpu(world_of(keeps("a", 4), keeps("b", 6)))[0].warnings == ()


# Use


def test_use_is_what_runs_in_the_subtree() -> None:
    world = snapshot(
        node("n1", 20),
        queue("up"),
        queue("a", parent="up"),
        queue("b", parent="up"),
        Members("g", "a", on=["n1", "elsewhere"], waiting=1),
        Members("h", "b", cpu=3, on=["n1"]),
        Members("old", "up", cpu=5, on=["n1"]),
        Members("lost", "missing", cpu=7, on=["n1"]),
    )

    found, column = cpu(world)

    assert cores_of(found.use, column) == {"up": 10, "a": 2, "b": 3}
