"""Shared claims: pods that have one volume claim are where they can use it together."""

from typing import Any

import pytest

from apportion.models import Volume
from apportion.policies.testing import accepts, refuses

from .builders import Members, after, evicted, node, nodes, placed, queue, rule, snapshot
from .conftest import Solve

CLAIMS = rule("shared-claims")
ON_ONE_NODE = Volume("x/c", sharing="node")
ONE_POD = Volume("x/c", sharing="pod")
ANYWHERE = Volume("x/c")
IN_ONE_ZONE = Volume("x/c", keys=("zone",))


def has(*volumes: Volume) -> dict[str, Any]:
    return {"volumes": volumes}


@pytest.mark.parametrize(
    ("about", "volume", "starts", "want"),
    [
        ("ReadWriteOnce on one node", ON_ONE_NODE, "g0@a1 g1@a1", True),
        ("ReadWriteOnce on two nodes", ON_ONE_NODE, "g0@a1 g1@a2", False),
        ("ReadWriteOncePod, one pod", ONE_POD, "g0@a1", True),
        ("ReadWriteOncePod, two pods", ONE_POD, "g0@a1 g1@a1", False),
        ("ReadWriteMany anywhere", ANYWHERE, "g0@a1 g1@b1", True),
        ("not made yet, in one zone", IN_ONE_ZONE, "g0@a1 g1@a2", True),
        ("not made yet, in two zones", IN_ONE_ZONE, "g0@a1 g1@b1", False),
    ],
)
def test_pods_that_share_a_claim(about: str, volume: Volume, starts: str, want: bool) -> None:
    there = snapshot(
        *nodes("a1 a2", zone="a"), *nodes("b1", zone="b"), queue("q"),
        Members("g", "q", waiting=2, minimum=1, spec=has(volume)),
    )  # fmt: skip

    outcome = after(there, starts)

    assert bool(accepts(CLAIMS, outcome)) is want, about
    assert bool(refuses(CLAIMS, outcome, "pod x/g0", "x/c")) is not want, about


def test_who_runs_draws_the_others_to_its_node(solve: Solve) -> None:
    there = snapshot(
        *nodes("n1 n2"), queue("q"),
        Members("old", "q", on=["n2"], spec=has(ON_ONE_NODE)),
        Members("g", "q", waiting=2, spec=has(ON_ONE_NODE)),
    )  # fmt: skip

    assert refuses(CLAIMS, after(there, "g0@n1"), "pod x/g0", "shares claim x/c with x/old0")
    assert placed(solve(there)) == {"g0": "n2", "g1": "n2"}


def test_a_gang_that_fits_no_single_node_waits(solve: Solve) -> None:
    there = snapshot(
        node("n1", 1), node("n2", 1), queue("q"),
        Members("g", "q", waiting=2, minimum=2, spec=has(ON_ONE_NODE)),
    )  # fmt: skip

    plan = solve(there)

    assert (plan.binds, plan.solver.order_proven) == ((), True)


@pytest.mark.parametrize(("priority", "want"), [(1, ({"g0": "n1"}, {"low0"})), (0, ({}, set()))])
def test_a_claim_for_one_pod_is_taken_over_by_right_only(
    priority: int, want: tuple[dict[str, str], set[str]], solve: Solve
) -> None:
    there = snapshot(
        node("n1", 4), queue("q"),
        Members("low", "q", on=["n1"], spec=has(ONE_POD)),
        Members("g", "q", waiting=1, priority=priority, spec=has(ONE_POD)),
    )  # fmt: skip

    plan = solve(there)

    assert (placed(plan), evicted(plan)) == want
    assert plan.binds == (), "what leaves has the claim until it is gone"
