"""Trials of one explanation: edited copies of the cluster, each planned, equal ones once.

What a trial says is what a plan of the copy says, made as any plan by the same settings. What could
not run even alone is not planned; and on a large cluster the first steps of a plan say which copies
are worth a whole one.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from ...models import Config, GroupKey, Snapshot
from ...models.edit import edited
from ...models.edits import Edit
from ...models.value import to_json
from ...policies.could_run import could_run
from ...policies.outcome import Outcome
from ...policies.registry import rules_for
from ...policies.scene import Scene
from ...solver.again import drafted, finished, has_room_beside, is_promising
from ...solver.entry import plan
from ...solver.orderly import SMALL
from ...solver.process import SolverProcess
from ...solver.timing import bound_now
from .difference import GroupState, states_of

T = TypeVar("T")
MOST_PLANS = 60
"""So many plans are made for one group; what is not tried by then is not told."""
KEPT = 8
"""So many edited copies and drafts are kept, as the next questions are mostly about one of them."""


@dataclass(frozen=True, slots=True)
class Tried:
    """Whether the group starts on an edited copy; if so, whether at once, and who leaves."""

    starts: bool
    at_once: bool = False
    evicts: int = 0


NOTHING = Tried(False)


def is_small(snapshot: Snapshot) -> bool:
    """Say whether a plan is so soon made that nothing is guessed before."""
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
    """How many plans were begun."""
    _known: dict[bytes, Tried] = field(default_factory=dict)
    _likely: dict[bytes, bool] = field(default_factory=dict)
    _drafts: dict[bytes, Outcome] = field(default_factory=dict)
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

    def likely(self, edits: Sequence[Edit]) -> bool:
        """Guess whether the group starts after the edits; on a small cluster that is known."""
        case = to_json(list(edits))
        if case in self._known or is_small(self.snapshot):
            return self.starts(edits)
        if case not in self._likely:
            if self.is_over:
                return False
            scene = self._edited(edits)
            if not could_run(scene, self.key):
                self._known[case] = NOTHING
                return False
            self.plans += 1
            draft = drafted(scene)
            self._likely[case] = is_promising(draft, self.key, self._has)
            if self._likely[case]:
                _keep(self._drafts, case, draft)
        return self._likely[case]

    def starts(self, edits: Sequence[Edit]) -> bool:
        """Say whether more of the group runs or has a place than without the edits."""
        return self.of(edits).starts

    def of(self, edits: Sequence[Edit]) -> Tried:
        """Apply the edits to a copy and plan it; nothing starts where there is no time to know.

        A draft that is begun is ended, and so is a search; the order list is gone through no more.
        """
        case = to_json(list(edits))
        if case not in self._known:
            if self.stop() or (self.is_over and case not in self._drafts):
                return NOTHING
            scene = self._edited(edits)
            known = case in self._drafts or could_run(scene, self.key)
            found = self._planned(case, scene) if known else NOTHING
            if found is None:
                return NOTHING
            self._known[case] = found
        return self._known[case]

    def refuted(self, edits: Sequence[Edit]) -> bool:
        """Say whether the group does not start after the edits, by a whole plan or in any."""
        self.of(edits)
        return self._known.get(to_json(list(edits))) == NOTHING

    def could(self, edits: Sequence[Edit]) -> bool:
        """Say whether the group could run after the edits, if it came first: else no plan does."""
        return could_run(self._edited(edits), self.key)

    def has_room(self, edits: Sequence[Edit]) -> bool:
        """Guess whether the group starts after the edits: nodes have room beside the plan."""
        return has_room_beside(self._edited(edits), self.base, self.key)

    @property
    def _has(self) -> int:
        return len(self.base.after(self.key))

    def _edited(self, edits: Sequence[Edit]) -> Scene:
        case = to_json(list(edits))
        if case not in self._scenes:
            changed = edited(self.snapshot, edits)
            _keep(self._scenes, case, Scene(changed, self.config, rules_for(self.config)))
        return self._scenes[case]

    def _planned(self, case: bytes, scene: Scene) -> Tried | None:
        """Plan an edited copy; None where it was cut short."""
        draft = self._drafts.pop(case, None)
        self.plans += draft is None
        if self.config.engine == "greedy":
            outcome = finished(draft if draft is not None else drafted(scene), self.stop)
            if outcome is None:
                return None
            if len(outcome.after(self.key)) <= self._has:
                return NOTHING
            at_once = bound_now(outcome)
            mine = [p.key for p in outcome.started.get(self.key, ())]
            return Tried(True, all(k in at_once for k in mine), len(outcome.evicted))
        made = plan(scene.snapshot, self.config, process=self.process)
        stands = states_of(scene.snapshot, made).get(self.key, GroupState())
        if stands.has <= self._has:
            return NOTHING
        now = stands.starting > 0 and not stands.promised
        return Tried(True, now, len(made.evictions))


def _keep(kept: dict[bytes, T], case: bytes, value: T) -> None:
    if len(kept) >= KEPT:
        del kept[next(iter(kept))]
    kept[case] = value
