"""Which victims are chosen: each part of the cost alone decides (order.md, section 6)."""

from typing import Any

import pytest

from apportion.models import Queue, Snapshot

from .builders import (
    HOST,
    NOW,
    Members,
    evicted,
    node,
    nodes,
    placed,
    queue,
    snapshot,
)
from .conftest import Solve


def contest(*victims: Members, cpu: int = 1) -> Snapshot:
    """Return g, which needs room on the full node n1; the empty n2 makes all victims come back."""
    size = sum(len(v.pods) for v in victims)
    need = {"node_selector": ((HOST, "n1"),)}
    return snapshot(
        *nodes("n1 n2", cpu=size),
        queue("q"),
        *victims,
        Members("g", "q", cpu=cpu, waiting=1, priority=9, spec=need),
    )


def single(name: str, born: int = 100, since: int = 50, **more: Any) -> Members:
    """Return a group of one on n1, created and started so many seconds ago."""
    times = {"created_s": NOW - born, "started_s": NOW - since}
    return Members(name, "q", on=["n1"], created_s=NOW - born, pod=times, **more)


@pytest.mark.parametrize(
    ("about", "q", "a", "running"),
    [
        ("its due", queue("q", due=2), queue("a", due=1), 2),
        ("its share", queue("q"), queue("a"), 3),
    ],
)
def test_who_is_inside_stays_whatever_the_priority(
    about: str, q: Queue, a: Queue, running: int, solve: Solve
) -> None:
    """b is inside what q has, v's last member is beyond what a has."""
    world = snapshot(
        node("n1", running + 1),
        q,
        a,
        Members("b", "q", on=["n1"], priority=0),
        Members("v", "a", on=["n1"] * running, minimum=0, priority=5),
        Members("g", "q", waiting=1, priority=9),
    )

    assert evicted(solve(world)) == {f"v{running - 1}"}, about


@pytest.mark.parametrize(
    ("about", "victims", "cpu", "want"),
    [
        (
            "lower priority leaves, though more is lost and it is older",
            [single("a", born=10, since=9, priority=1), single("b", born=900, since=900)],
            1,
            {"b0"},
        ),
        (
            "two single pods leave rather than a gang, though more is lost",
            [
                Members("a", "q", on=["n1"] * 2, minimum=2),
                single("b", born=900, since=900),
                single("c", born=900, since=900),
            ],
            2,
            {"b0", "c0"},
        ),
        (
            "least work is lost, though it is older",
            [single("a", born=60, since=60), single("b", born=900, since=10)],
            1,
            {"b0"},
        ),
        (
            "the youngest leaves",
            [single("a", born=900, since=50), single("b", born=60, since=50)],
            1,
            {"b0"},
        ),
    ],
)
def test_each_part_decides_alone(
    about: str, victims: list[Members], cpu: int, want: set[str], solve: Solve
) -> None:
    plan = solve(contest(*victims, cpu=cpu))

    assert placed(plan) == {"g0": "n1"}, about
    assert evicted(plan) == want, about


def test_fewer_pods_leave_though_they_are_a_gang(solve: Solve) -> None:
    """Three cores are needed: a gang of two large pods, or three single ones."""
    need = {"node_selector": ((HOST, "n1"),)}
    gang = Members("a", "q", cpu=2, on=["n1"] * 2, minimum=2)
    singles = [single(n) for n in "bcd"]
    world = snapshot(
        *nodes("n1 n2", cpu=7),
        queue("q"),
        gang,
        *singles,
        Members("g", "q", cpu=3, waiting=1, priority=9, spec=need),
    )

    assert evicted(solve(world)) == {"a0", "a1"}
