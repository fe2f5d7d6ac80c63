"""Waiting takes out what is known to end by then, and nothing else."""

from typing import Any

import pytest
from msgspec.structs import replace

from apportion.models import End, EndBy, GroupKey, InputError, PodState, Snapshot
from apportion.models.edit import edited
from apportion.models.edit_wait import known_ends
from apportion.models.edits import Cordon, Drain, Wait
from apportion.models.end import span
from oracle.build import NOW, Members, budget, node, queue, snapshot

SOON = End(NOW + 60, EndBy.DEADLINE)
LATER = End(NOW + 3600, EndBy.DEADLINE)
G, H = GroupKey("x/g"), GroupKey("x/h")


def world(*ends: End | None, waiting: int = 0) -> Snapshot:
    """Return a group of which each pod that runs has one of the ends, and one that has none."""
    made = snapshot(
        node("n1", 8), queue("q"), budget("g", 5),
        Members("g", "q", on=["n1"] * len(ends), waiting=waiting), Members("h", "q", on=["n1"]),
    )  # fmt: skip
    given = iter(ends)
    return replace(
        made,
        pods=tuple(
            replace(p, end=next(given)) if p.group == G and p.state is PodState.RUNNING else p
            for p in made.pods
        ),
    )


@pytest.mark.parametrize(
    ("ends", "waiting", "want"),
    [
        pytest.param([SOON], 0, SOON, id="one pod"),
        pytest.param([SOON, LATER], 0, LATER, id="the last pod"),
        pytest.param([SOON, None], 0, None, id="one is not known"),
        pytest.param([SOON], 1, None, id="one waits"),
        pytest.param([End(NOW - 1, EndBy.DEADLINE)], 0, End(NOW - 1, EndBy.DEADLINE), id="overdue"),
        pytest.param([End(NOW, EndBy.RUNTIME)], 0, None, id="its word has not come true"),
        pytest.param(
            [End(NOW + 1, EndBy.RUNTIME)], 0, End(NOW + 1, EndBy.RUNTIME), id="as it says"
        ),
    ],
)
def test_a_group_ends_with_its_last_pod(
    ends: list[End | None], waiting: int, want: End | None
) -> None:
    assert known_ends(world(*ends, waiting=waiting)) == ({} if want is None else {G: want})


@pytest.mark.parametrize(("seconds", "left"), [(59, {G, H}), (60, {H})])
def test_who_ends_by_then_is_gone_with_its_pods(seconds: int, left: set[GroupKey]) -> None:
    before = world(SOON)

    after = edited(before, [Wait(seconds)])

    assert {g.key for g in after.groups} == left
    assert {p.group for p in after.pods} == left
    assert (after.taken_at_s, after.nodes) == (before.taken_at_s, before.nodes)


def test_nobody_who_is_not_known_to_end_is_gone() -> None:
    before = world(None)

    assert edited(before, [Wait(10**9)]) == before


def test_a_pod_that_loses_its_node_has_no_end_any_more() -> None:
    after = edited(world(SOON), [Drain("n1"), Cordon("n1")])

    assert [p.end for p in after.pods] == [None, None]


def test_nobody_waits_backwards() -> None:
    with pytest.raises(InputError, match="at least 0 seconds, got -1"):
        edited(world(SOON), [Wait(-1)])


@pytest.mark.parametrize(
    ("seconds", "want"),
    [
        (0, "0 s"), (59, "59 s"), (60, "1 min"), (61, "2 min"), (3541, "1 h"), (7800, "2 h 10 min"),
        (86399, "1 d"), (86400, "1 d"), (90001, "1 d 2 h"), (172800, "2 d"),
    ],
)  # fmt: skip
def test_a_time_is_told_in_two_units_rounded_up(seconds: int, want: Any) -> None:
    assert span(seconds) == want
