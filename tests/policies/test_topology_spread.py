"""Hard topology spread: no domain that takes a new pod gets too far ahead of the least."""

from typing import Any

import pytest

from apportion.models import PodState, Snapshot, Taint
from apportion.policies.testing import accepts, refuses
from apportion.policies.testing import after as after_plan
from kubernetes_objects import node as node_object
from kubernetes_objects import pod as pod_object
from kubernetes_objects import snapshot as read

from .builders import (
    HOST,
    Members,
    after,
    foreign,
    node,
    nodes,
    placed,
    queue,
    reasons,
    replace,
    rule,
    snapshot,
    spread,
)
from .conftest import Solve

SPREAD = rule("topology-spread")
ZONE = "zone"


def starting(*counts: int) -> str:
    """Return starts of g's pods: so many on n1, so many on n2, ..."""
    where = [f"n{i + 1}" for i, n in enumerate(counts) for _ in range(n)]
    return " ".join(f"g{i}@{n}" for i, n in enumerate(where))


def world_of(*constraints: Any, hosts: str = "n1 n2 n3", others: tuple[Any, ...] = ()) -> Snapshot:
    group = Members("g", "q", waiting=6, spec={"spread": constraints})
    return snapshot(*nodes(hosts, cpu=9), queue("q"), group, *others)


@pytest.mark.parametrize(
    ("skew", "counts", "want"),
    [
        (1, (1, 0, 0), True),
        (1, (1, 1, 1), True),
        (1, (2, 1, 1), True),
        (1, (2, 1, 0), False),
        (1, (2, 0, 0), False),
        (2, (2, 0, 0), True),
        (2, (3, 1, 1), True),
        (2, (3, 1, 0), False),
        (2, (3, 0, 0), False),
    ],
)
def test_no_domain_is_more_than_max_skew_ahead(
    skew: int, counts: tuple[int, ...], want: bool
) -> None:
    outcome = after(world_of(spread("g", skew)), starting(*counts))

    said = f"{HOST} n1 holds {counts[0]} of its kind"
    assert bool(accepts(SPREAD, outcome)) is want
    assert bool(refuses(SPREAD, outcome, "pod x/g0", said)) is not want


def test_what_stands_already_counts_and_what_leaves_does_not() -> None:
    there = Members("old", "q", on=["n1", "n2"], pod={"labels": {"app": "g"}})
    world = world_of(spread("g"), hosts="n1 n2", others=(there,))

    assert accepts(SPREAD, after(world, "g0@n1 g1@n2"))
    assert accepts(SPREAD, after(world, "g0@n1"))
    assert refuses(SPREAD, after(world, "g0@n1", "old1"), "pod x/g0", "least holds 0")
    assert refuses(SPREAD, after(world, "g0@n1 g1@n1"), "pod x/g0", "least holds 1")


def test_a_domain_that_takes_nothing_may_be_too_full() -> None:
    there = Members("old", "q", on=["n1"] * 3, pod={"labels": {"app": "g"}})
    world = world_of(spread("g"), hosts="n1 n2", others=(there,))

    assert accepts(SPREAD, after(world, "g0@n2"))
    assert refuses(SPREAD, after(world, "g0@n1"), "pod x/g0", "holds 4")


def test_terminating_pods_and_those_of_other_namespaces_do_not_count() -> None:
    leaving = replace(foreign("f", 1, "n1", PodState.TERMINATING), labels={"app": "g"})
    elsewhere = Members("old", "q", on=["n1"], namespace="y", pod={"labels": {"app": "g"}})
    world = world_of(spread("g"), hosts="n1 n2", others=(leaving, elsewhere))

    assert accepts(SPREAD, after(world, "g0@n1"))


def test_foreign_pods_of_the_kind_count() -> None:
    there = replace(foreign("f", 1, "n1"), namespace="x", labels={"app": "g"})

    assert refuses(
        SPREAD, after(world_of(spread("g"), hosts="n1 n2", others=(there,)), "g0@n1"), "pod x/g0"
    )


def test_a_pod_that_is_not_of_the_kind_itself_does_not_add_to_it() -> None:
    there = Members("old", "q", on=["n1"], pod={"labels": {"app": "kind"}})
    world = world_of(spread("kind"), hosts="n1 n2", others=(there,))

    assert accepts(SPREAD, after(world, "g0@n1 g1@n1"))
    more = Members("more", "q", on=["n1"], pod={"labels": {"app": "kind"}})
    fuller = world_of(spread("kind"), hosts="n1 n2", others=(there, more))
    assert refuses(SPREAD, after(fuller, "g0@n1"), "pod x/g0", "holds 2")


def test_a_constraint_without_a_selector_counts_nobody() -> None:
    assert accepts(SPREAD, after(world_of(replace(spread("g"), selector=None)), starting(3)))


def test_a_soft_constraint_is_no_rule() -> None:
    assert accepts(SPREAD, after(world_of(replace(spread("g"), hard=False)), starting(3)))


def test_a_node_without_the_label_takes_nobody_and_counts_for_nothing() -> None:
    bare = node("bare", 9)
    there = Members("old", "q", on=["bare"] * 4, pod={"labels": {"app": "g"}})
    world = world_of(spread("g"), hosts="n1 n2", others=(bare, there))

    assert accepts(SPREAD, after(world, "g0@n1 g1@n2"))
    assert refuses(SPREAD, after(world, "g0@bare"), "pod x/g0", f"bare has no {HOST}")


def test_all_constraints_hold_and_nodes_need_the_keys_of_all() -> None:
    group = Members("g", "q", waiting=4, spec={"spread": (spread("g"), spread("g", key=ZONE))})
    half = node("half", 9, labels={HOST: "half"})
    world = snapshot(
        *nodes("a1 a2", cpu=9, zone="a"), *nodes("b1", cpu=9, zone="b"), half, queue("q"), group
    )

    assert accepts(SPREAD, after(world, "g0@a1 g1@b1"))
    assert accepts(SPREAD, after(world, "g0@a1 g1@a2 g2@b1"))
    assert refuses(SPREAD, after(world, "g0@a1 g1@a2"), "pod x/g0", "zone a holds 2")
    assert refuses(SPREAD, after(world, "g0@half"), "pod x/g0", "half has no zone")


@pytest.mark.parametrize(
    ("least", "counts", "want"),
    [
        (1, (2, 1), True),
        (2, (2, 1), True),
        (3, (1, 1), True),
        (3, (2, 1), False),
        (3, (2, 2), False),
    ],
)
def test_with_fewer_domains_than_min_domains_the_least_is_0(
    least: int, counts: tuple[int, ...], want: bool
) -> None:
    world = world_of(spread("g", min_domains=least), hosts="n1 n2")

    outcome = after(world, starting(*counts))

    assert bool(accepts(SPREAD, outcome)) is want
    assert bool(refuses(SPREAD, outcome, "pod x/g0", "least holds 0")) is not want


# Which domains take part


def closed_off(constraint: Any, last: Any, **spec: Any) -> Snapshot:
    """Return three hosts, the last of which the group does not go to."""
    group = Members("g", "q", waiting=4, spec={"spread": (constraint,), **spec})
    return snapshot(*nodes("n1 n2", cpu=9, pool="ours"), last, queue("q"), group)


OTHER_POOL = node("n3", 9, labels={HOST: "n3", "pool": "other"})
TAINTED = node("n3", 9, labels={HOST: "n3", "pool": "ours"}, taints=(Taint("k", "NoSchedule"),))
SOFT = replace(TAINTED, taints=(Taint("k", "PreferNoSchedule"),))
CORDONED = replace(TAINTED, taints=(), unschedulable=True)


@pytest.mark.parametrize(
    ("about", "policies", "last", "want"),
    [
        ("affinity is honoured: it plays no part", {}, OTHER_POOL, True),
        ("affinity is ignored: it is empty", {"honor_affinity": False}, OTHER_POOL, False),
        ("taints are ignored: it is empty", {}, TAINTED, False),
        ("taints are honoured: it plays no part", {"honor_taints": True}, TAINTED, True),
        ("a soft taint keeps nobody out", {"honor_taints": True}, SOFT, False),
        ("a cordon is a taint", {"honor_taints": True}, CORDONED, True),
    ],
)
def test_policies_say_which_domains_take_part(
    about: str, policies: dict[str, Any], last: Any, want: bool
) -> None:
    pool = (("pool", "ours"),)
    world = closed_off(spread("g", **policies), last, node_selector=pool)

    assert bool(accepts(SPREAD, after(world, starting(2, 1)))) is want, about


def test_match_label_keys_tell_one_revision_from_the_next() -> None:
    """The reader merges the keys into the selector; here the rule judges what it read."""
    constraint = {
        "maxSkew": 1,
        "topologyKey": "kubernetes.io/hostname",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "web"}},
        "matchLabelKeys": ["hash", "missing"],
    }

    def pod(name: str, revision: str, **more: Any) -> Any:
        labels = {"app": "web", "hash": revision}
        return pod_object(name, labels=labels, topologySpreadConstraints=[constraint], **more)

    world = read(
        node_object("n1"), node_object("n2"),
        pod("old", "1", nodeName="n1"), pod("new", "2"), pod("newer", "2"),
    )  # fmt: skip

    assert accepts(SPREAD, after_plan(world, {"default/new": "n1"}))
    assert accepts(SPREAD, after_plan(world, {"default/new": "n1", "default/newer": "n2"}))
    assert refuses(
        SPREAD, after_plan(world, {"default/new": "n1", "default/newer": "n1"}), "pod default/new"
    )


# Plans


def test_a_gang_spreads_over_its_domains(solve: Solve) -> None:
    plan = solve(world_of(spread("g")))

    assert sorted(placed(plan).values()) == ["n1", "n1", "n2", "n2", "n3", "n3"]


def test_a_full_domain_holds_the_others_back(solve: Solve) -> None:
    world = snapshot(
        *nodes("n1", cpu=9),
        *nodes("n2", cpu=1),
        queue("q"),
        Members("g", "q", waiting=5, minimum=1, spec={"spread": (spread("g"),)}),
    )

    plan = solve(world)

    assert sorted(placed(plan).values()) == ["n1", "n1", "n2"]
    [reason] = reasons(plan, "g")
    assert (reason.rule, reason.about) == ("capacity", "group x/g")
    assert "no node takes one more member" in reason.message
