"""The order list counts as proven only where no search for places was cut short."""

from collections.abc import Sequence

import pytest

from apportion.models import Config, Pod, PodTerm, Snapshot
from apportion.policies.fitting import STEPS, Field, Fit
from apportion.solver.entry import plan
from oracle.build import Members, node, only, queue, snapshot

ALONE = {"anti_affinity": (PodTerm("host", only("g"), None),)}


def world() -> Snapshot:
    """Return two nodes, and a gang of three of which no two may share one."""
    nodes = [node(n, 9, labels={"host": n}) for n in ("n1", "n2")]
    return snapshot(*nodes, queue("q"), Members("g", "q", waiting=3, minimum=3, spec=ALONE))


def limit(steps: int, monkeypatch: pytest.MonkeyPatch) -> None:
    place = Field.place

    def limited(self: Field, pods: Sequence[Pod]) -> Fit:
        return place(self, pods, steps)

    monkeypatch.setattr(Field, "place", limited)


@pytest.mark.parametrize(("steps", "want"), [(STEPS, True), (2, False)])
def test_what_was_not_searched_to_its_end_is_not_proven(
    steps: int, want: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit(steps, monkeypatch)

    made = plan(world(), Config(deterministic=True, engine="greedy"))

    assert made.binds == ()
    assert made.solver.order_proven is want
