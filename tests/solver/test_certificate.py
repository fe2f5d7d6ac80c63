"""Greedy plans carry bounds: by counting where all starts that could."""

import pytest

from apportion.models import Config, Plan, TierRow
from apportion.policies.levels import TIERS
from apportion.solver.entry import plan
from oracle.build import Members, node, queue, snapshot

GREEDY = Config(engine="greedy", deterministic=True)


def tier(made: Plan, name: str) -> TierRow:
    (row,) = [t for t in made.objective if t.name == name]
    return row


def test_tiers_of_work_are_proven_where_all_starts_and_nobody_leaves() -> None:
    made = plan(
        snapshot(
            node("n1", 8), queue("q"),
            Members("gang", "q", 2, waiting=3, minimum=2), Members("one", "q", 1, waiting=1),
            Members("old", "q", 1, on=["n1"]),
        ),
        GREEDY,
    )  # fmt: skip

    assert len(made.places) == 4
    assert made.solver.gap == 0
    for name in (*TIERS, "returning victims", "victims", "gangs broken", "lost work"):
        assert tier(made, name).value == tier(made, name).bound


@pytest.mark.parametrize("waiting", [2, 3])
def test_what_could_never_run_counts_for_nothing(waiting: int) -> None:
    made = plan(
        snapshot(
            node("n1", 4), queue("q"), Members("small", "q", 2, waiting=1),
            Members("huge", "q", 3, waiting=waiting, minimum=2),
        ),
        GREEDY,
    )  # fmt: skip

    assert made.solver.gap == 0
    assert [h.group for h in made.held] == ["x/huge"]
