"""A solved cluster: the plan, and what the search had found before the order list was followed."""

from collections.abc import Mapping
from dataclasses import dataclass
from unittest.mock import patch

from apportion.adapters.plan_check import scene_of
from apportion.models import Config, GroupKey, Plan, Snapshot
from apportion.policies.levels import Level, Levels
from apportion.policies.outcome import Outcome
from apportion.policies.scene import Scene
from apportion.solver import entry
from apportion.solver.greedy import rank_and_place
from apportion.solver.leveling import levels_of
from apportion.solver.orderly import Ordered, put_in_order
from apportion.solver.process import SolverProcess
from apportion.solver.search import Clock


@dataclass(frozen=True)
class Solved:
    """The plan; the scene it is judged in; and the outcome of the search."""

    plan: Plan
    scene: Scene
    found: Outcome

    @property
    def outcome(self) -> Outcome:
        """What the plan leads to."""
        return Outcome.of_plan(self.scene, self.plan)

    @property
    def levels(self) -> Levels:
        assert self.found.levels is not None
        return self.found.levels

    @property
    def order(self) -> list[Level]:
        of = self.levels
        return sorted({w.level for some in (of.minimum, of.elastic) for w in some.values()})

    def worth_by_level(self) -> list[Mapping[tuple[GroupKey, str], int]]:
        """Return the levels as the brute force takes them."""
        return [
            {
                **{
                    (k, "minimum"): w.value for k, w in self.levels.minimum.items() if w.level == at
                },
                **{
                    (k, "elastic"): w.value for k, w in self.levels.elastic.items() if w.level == at
                },
            }
            for at in self.order
        ]


def solved(snapshot: Snapshot, config: Config, process: SolverProcess) -> Solved:
    """Plan a cycle and keep what the order list was given to start from."""
    given: list[Outcome] = []

    def watch(outcome: Outcome, clock: Clock) -> Ordered:
        given.append(outcome)
        return put_in_order(outcome, clock)

    with patch.object(entry, "put_in_order", watch):
        plan = entry.plan(snapshot, config, process=process)
    scene = scene_of(snapshot, config)
    if not given:  # it is proven that nothing can start: nobody is asked
        given.append(Outcome.of_plan(scene, plan))
        given[0].levels = levels_of(scene, rank_and_place(scene))
    (found,) = given
    return Solved(plan, scene, found)
