"""Advice: what is known of the changes that would start held groups, and about whom to ask next.

An answer stands as long as what it rests on: the group and its pods, what the last plan says
against it in words and numbers, the nodes, the queues and the settings. A group is asked about
again at most once a minute, and where pods have changed, an answer is given anew after a while.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from ...models import Config, Group, GroupKey, Node, Pod, Queue, Snapshot
from ..ask.brief import Brief
from .verdicts import QUEUE_LIMIT, UNSCHEDULABLE, Verdict, advised

ASKED = frozenset((UNSCHEDULABLE, QUEUE_LIMIT))
"""What a change may cure; members that are missing come, or they do not."""
FOUND, NONE, LATE = RESULTS = "found", "none", "late"
"""What can come of a question about a group."""
SETTLE_S = 1.0
"""A group has to be held for so long before anything is asked about it: most start soon."""
AGAIN_S = 60.0
"""Between two questions about a group."""
OLD_S = 600.0
"""After so long an answer is given anew, if any pod has changed since."""


@dataclass(frozen=True, slots=True)
class Ground:
    """What an answer about a group rests on."""

    group: Group
    pods: tuple[Pod, ...]
    reason: str
    causes: tuple[tuple[str, str], ...]
    message: str
    world: int
    """The number of the state of nodes, queues and settings."""


@dataclass(frozen=True, slots=True)
class _Answer:
    ground: Ground
    says: str
    at_s: float
    pods: int
    """The number of the state of all pods."""


@dataclass(slots=True)
class Advice:
    """Answers about held groups. ``now_s`` is seconds of a clock that never goes back."""

    snapshot: Snapshot = field(default_factory=Snapshot)
    """The last one, and the settings with it: the cluster that is asked about."""
    config: Config = field(default_factory=Config)
    _grounds: dict[GroupKey, Ground] = field(default_factory=dict)
    """Of the groups that wait for what a change may cure."""
    _since_s: dict[GroupKey, float] = field(default_factory=dict)
    _asked_s: dict[GroupKey, float] = field(default_factory=dict)
    _answers: dict[GroupKey, _Answer] = field(default_factory=dict)
    _world: int = 0
    _pods: int = 0

    def note(
        self,
        snapshot: Snapshot,
        config: Config,
        verdicts: Mapping[GroupKey, Verdict],
        now_s: float,
    ) -> None:
        """Take the cluster and who waits in it, and why; answers that rest on other things go."""
        self._world += _world(snapshot, config) != _world(self.snapshot, self.config)
        self._pods += snapshot.pods != self.snapshot.pods
        self.snapshot, self.config = snapshot, config
        self._grounds = {
            key: self._ground(v)
            for key, v in verdicts.items()
            if v.reason in ASKED and v.pods and key in snapshot.groups_by_key
        }
        held = self._grounds.keys()
        self._since_s = {k: self._since_s.get(k, now_s) for k in held}
        self._asked_s = {k: t for k, t in self._asked_s.items() if k in held}
        self._answers = {
            k: a for k, a in self._answers.items() if k in held and a.ground == self._grounds[k]
        }

    def _ground(self, v: Verdict) -> Ground:
        pods = self.snapshot.pods_by_group.get(v.group, ())
        group = self.snapshot.groups_by_key[v.group]
        return Ground(group, pods, v.reason, v.causes, v.message, self._world)

    def due(self, now_s: float, most: int) -> dict[GroupKey, Ground]:
        """Return the groups to ask about now, with what answers will rest on, and count them asked.

        At most ``most``: those that nothing was asked about first, then the oldest.
        """
        due = [k for k in self._grounds if self._is_due(k, now_s)]
        due.sort(key=lambda k: (k in self._asked_s, self._grounds[k].group.created_s, k))
        out = {k: self._grounds[k] for k in due[:most]}
        self._asked_s |= dict.fromkeys(out, now_s)
        return out

    def _is_due(self, key: GroupKey, now_s: float) -> bool:
        if now_s - self._since_s[key] < SETTLE_S:
            return False
        asked_s, answer = self._asked_s.get(key), self._answers.get(key)
        if answer is not None:
            return now_s - answer.at_s >= OLD_S and answer.pods != self._pods
        return asked_s is None or now_s - asked_s >= AGAIN_S

    def learn(self, brief: Brief, ground: Ground, now_s: float) -> bool:
        """Take an answer; say whether there is something new to tell."""
        if self._grounds.get(brief.group) != ground:
            return False  # it rests on what is so no longer
        before = self._answers.get(brief.group)
        self._answers[brief.group] = _Answer(ground, brief.says, now_s, self._pods)
        return brief.says != (before.says if before is not None else "")

    def late(self, key: GroupKey, ground: Ground, now_s: float) -> None:
        """Take it that there was no answer in time; there is none for a while."""
        if self._grounds.get(key) == ground:
            self._answers[key] = _Answer(ground, "", now_s, self._pods)

    def over(self, verdicts: Mapping[GroupKey, Verdict]) -> dict[GroupKey, Verdict]:
        """Return the verdicts, with the changes that are known to start their groups."""
        says = {k: a.says for k, a in self._answers.items() if a.says}
        return {k: advised(v, says[k]) if k in says else v for k, v in verdicts.items()}


def _world(
    snapshot: Snapshot, config: Config
) -> tuple[tuple[Node, ...], tuple[Queue, ...], Config]:
    return snapshot.nodes, snapshot.queues, config
