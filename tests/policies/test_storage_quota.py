"""Storage quota: ephemeral volumes whose claims are still to be made stay inside their quota."""

import pytest

from apportion.models import ResourceQuota, Snapshot, Volume
from apportion.policies.testing import accepts, refuses

from .builders import Members, after, node, placed, queue, reasons, replace, rule, snapshot
from .conftest import Solve

RULE = rule("storage-quota")
CLASS = "fast.storageclass.storage.k8s.io/"
NEW = Volume(made_in="x", size=2, storage_class="fast")


def world(hard: dict[str, int], used: dict[str, int] | None = None, minimum: int = 1) -> Snapshot:
    group = Members("g", "q", waiting=3, minimum=minimum, spec={"volumes": (NEW,)})
    made = snapshot(node("n1", 9), queue("q"), group)
    return replace(made, quotas=(ResourceQuota("x", "q", hard, used or {}),))


@pytest.mark.parametrize(
    ("about", "hard", "used", "most"),
    [
        ("no key of claims", {"pods": 1}, {}, 3),
        ("a number of claims", {"persistentvolumeclaims": 2}, {}, 2),
        ("some are there", {"persistentvolumeclaims": 2}, {"persistentvolumeclaims": 1}, 1),
        ("counted as objects", {"count/persistentvolumeclaims": 1}, {}, 1),
        ("bytes", {"requests.storage": 5}, {}, 2),
        ("bytes of the class", {CLASS + "requests.storage": 4}, {}, 2),
        ("claims of the class", {CLASS + "persistentvolumeclaims": 1}, {}, 1),
        ("another class", {"slow" + CLASS[4:] + "persistentvolumeclaims": 0}, {}, 3),
        ("more than there may be", {"persistentvolumeclaims": 1}, {"persistentvolumeclaims": 2}, 0),
    ],
)
def test_claims_are_counted(
    about: str, hard: dict[str, int], used: dict[str, int], most: int
) -> None:
    there = world(hard, used)

    for n in range(1, 4):
        outcome = after(there, " ".join(f"g{i}@n1" for i in range(n)))
        assert bool(accepts(RULE, outcome)) is (n <= most), about
        assert bool(refuses(RULE, outcome, "ResourceQuota x/q")) is (n > most), about


def test_quotas_of_other_namespaces_and_with_scopes_are_passed_over() -> None:
    there = world({})
    other = ResourceQuota("y", "q", {"persistentvolumeclaims": 0})
    scoped = ResourceQuota("x", "s", {"persistentvolumeclaims": 0}, scoped=True)

    assert accepts(RULE, after(replace(there, quotas=(scoped, other)), "g0@n1 g1@n1"))


def test_as_many_start_as_the_quota_bears(solve: Solve) -> None:
    assert len(placed(solve(world({"persistentvolumeclaims": 2})))) == 2


def test_a_minimum_that_is_too_much_is_held_with_figures(solve: Solve) -> None:
    plan = solve(world({"persistentvolumeclaims": 3}, {"persistentvolumeclaims": 1}, minimum=3))

    [reason] = reasons(plan, "g")
    assert reason.message == (
        "ResourceQuota x/q has 1 of its 3 persistentvolumeclaims in use; 3 more are asked for"
    )
