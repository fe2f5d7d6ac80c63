"""Trials of one explanation: edited copies of the cluster, each planned, equal ones once.

A cluster that is small is planned afresh, as any other. On a larger one a plan is made from the
plan before, or by the greedy engine: it is legal, and nobody with a better claim could have the
place. What could not run even alone is not planned.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from ...models import Config, GroupKey, Snapshot
from ...models.edit import edited
from ...models.edits import Edit
from ...models.value import to_json
from ...policies.could_run import could_run
from ...policies.outcome import Outcome
from ...policies.registry import rules_for
from ...policies.scene import Scene
from ...solver.again import has_room_beside, started_again
from ...solver.entry import plan
from ...solver.orderly import SMALL
from ...solver.process import SolverProcess
from ...solver.timing import bound_now
from .difference import GroupState, states_of

MOST_PLANS = 60
"""So many plans are made for one group; what is not tried by then is not told."""
KEPT = 8
"""So many edited copies are kept, as the next questions are mostly about one of them."""


@dataclass(frozen=True, slots=True)
class Tried:
    """Whether the group starts on an edited copy; if so, whether at once, and who leaves."""

    starts: bool
    at_once: bool = False
    evicts: int = 0


NOTHING = Tried(False)


def is_small(snapshot: Snapshot) -> bool:
    """Say whether edited copies of the cluster are planned afresh, search included."""
    return len(snapshot.pods) <= SMALL


@dataclass
class Trial:
    """Tries changes on copies; equal ones once."""

    base: Outcome
    """The plan in which the group waits."""
    key: GroupKey
    process: SolverProcess | None
    stop: Callable[[], bool] = lambda: False
    plans: int = 0
    _known: dict[bytes, Tried] = field(default_factory=dict)
    _scenes: dict[bytes, Scene] = field(default_factory=dict)

    @property
    def snapshot(self) -> Snapshot:
        return self.base.scene.snapshot

    @property
    def config(self) -> Config:
        return self.base.scene.config

    @property
    def is_over(self) -> bool:
        return self.plans >= MOST_PLANS or self.stop()

    def starts(self, edits: Sequence[Edit]) -> bool:
        """Say whether more of the group runs or has a place than without the edits."""
        return self.of(edits).starts

    def of(self, edits: Sequence[Edit]) -> Tried:
        """Apply the edits to a copy and plan it; nothing starts where that is over."""
        case = to_json(list(edits))
        if case not in self._known:
            if self.is_over:
                return NOTHING
            scene = self._edited(edits)
            self._known[case] = self._planned(scene) if could_run(scene, self.key) else NOTHING
        return self._known[case]

    def could(self, edits: Sequence[Edit]) -> bool:
        """Say whether the group could run after the edits, if it came first: else no plan does."""
        return could_run(self._edited(edits), self.key)

    def has_room(self, edits: Sequence[Edit]) -> bool:
        """Guess whether the group starts after the edits: nodes have room beside the plan."""
        return has_room_beside(self._edited(edits), self.base, self.key)

    def _edited(self, edits: Sequence[Edit]) -> Scene:
        case = to_json(list(edits))
        if case not in self._scenes:
            if len(self._scenes) >= KEPT:
                del self._scenes[next(iter(self._scenes))]
            changed = edited(self.snapshot, edits)
            self._scenes[case] = Scene(changed, self.config, rules_for(self.config))
        return self._scenes[case]

    def _planned(self, scene: Scene) -> Tried:
        self.plans += 1
        has = len(self.base.after(self.key))
        if is_small(scene.snapshot):
            made = plan(scene.snapshot, self.config, process=self.process)
            stands = states_of(scene.snapshot, made).get(self.key, GroupState())
            now = stands.starting > 0 and not stands.promised
            return Tried(stands.has > has, now, len(made.evictions))
        outcome = started_again(scene, self.base, self.key, has)
        if outcome is None:
            return NOTHING
        at_once = bound_now(outcome)
        mine = [p.key for p in outcome.started.get(self.key, ())]
        return Tried(True, all(k in at_once for k in mine), len(outcome.evicted))
