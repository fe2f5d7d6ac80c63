"""The order list counts as proven only where no search for places was cut short."""

from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from apportion.adapters.settle import apply_plan
from apportion.models import Config, Pod, PodTerm, Snapshot
from apportion.policies.fitting import STEPS, Field, Fit
from apportion.policies.order import first_objection
from apportion.policies.outcome import Outcome
from apportion.policies.registry import rules_for
from apportion.policies.scene import Scene
from apportion.solver.entry import plan
from apportion.solver.process import SolverProcess
from oracle.build import Members, node, only, queue, snapshot
from oracle.worlds import world as small_world

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


def test_where_nothing_can_start_nobody_objects() -> None:
    config, found = Config(deterministic=True, budget_ms=2000), 0
    greedy = replace(config, engine="greedy")
    with SolverProcess() as process:
        for seed in range(9):
            full = small_world(seed, "small")
            for _ in range(3):
                full = apply_plan(full, plan(full, greedy))
            last = plan(full, greedy)
            if last.binds or last.nominations or last.evictions or not last.held:
                continue
            made = plan(full, config, process=process)
            if made.solver.engine != "exact" or made.places:
                continue
            scene = Scene(full, config, rules_for(config))
            assert made.solver.order_proven
            assert first_objection(Outcome.of_plan(scene, made)) is None
            found += 1
    assert found >= 2
