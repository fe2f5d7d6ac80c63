"""What evictions cost, in five tiers: section 6 of docs/design/order.md.

Groups that are given up cost nothing: they go in any case. Each cost says what it is made of by
victim, so that the search can ask what the evictions for one level of work cost.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from ..models import GroupKey, Pod, QueueName
from .coming_back import returning
from .cost import age_s, losses_of, lost_work
from .evictable import given_up, victim_priority
from .items import Item
from .members import Members
from .outcome import Outcome
from .scene import Scene
from .standing import standing_of
from .standing_rows import out_var, running_items

if TYPE_CHECKING:
    from .board import Board, Term, Unit, Var, Victim

Sense = Literal["max", "min"]
Part = tuple[int, int, "Var"]
"""Victim, coefficient, variable."""
Victims = Mapping[GroupKey, tuple[Pod, ...]]
HEAVIEST = 1 << 40
"""What no pod counts more than: sums have to fit."""


def _terms(parts: "Iterable[Part]") -> "Iterable[Term]":
    return [(c, x) for _, c, x in parts]


def _units(board: "Board") -> "list[Unit]":
    return [u for u in board.units if not u.victim.given_up]


def victims_of(outcome: Outcome) -> Mapping[GroupKey, tuple[Pod, ...]]:
    """Return what is evicted for others: groups that are given up left out."""
    scene = outcome.scene
    return {g: ps for g, ps in outcome.losses.items() if not given_up(scene, scene.roster[g])}


@dataclass(frozen=True, slots=True)
class Returning:
    """Evicted pods that are inside their queue's entitlement: they come back by right."""

    name: str = "returning victims"
    unit: str = "pods"
    sense: Sense = "min"

    def parts(self, board: "Board") -> "Iterable[Part]":
        able = [v for v in board.victims if not v.given_up and board.is_wanted(v)]
        return [(v.index, c, x) for v in able for c, x in self._of(board, v)]

    def cost(self, board: "Board") -> "Iterable[Term]":
        return _terms(self.parts(board))

    def _of(self, board: "Board", v: "Victim") -> "Iterable[Term]":
        label = f"group {v.members.key}"
        units = board.units_of(v)
        total = sum(len(u.pods) for u in units)
        spare, out_flags = 0, list["Var"]()
        leaves_whole: list[Term] = []  # a group without a minimum is single pods, all of it
        out: list[Term] = []
        for item in running_items(board, v):
            answer = self._out_anywhere(board, v, item)
            if item.kind == "elastic":
                if answer is True:
                    spare += 1
                elif not isinstance(answer, bool):
                    out_flags.append(answer)
                continue
            leaves_whole = [(-total, board.gone(v))]
            if v.whole and answer is not True:
                back = board.flag(("back", v.index))
                also: list[Term] = [] if isinstance(answer, bool) else [(-1, answer)]
                board.at_most([(1, board.gone(v)), (-1, back), *also], 0, self.name, label)
                out.append((len(v.members.running), back))
        if v.surplus:
            singles = board.integer(0, v.surplus, ("back singles", v.index)).var
            lost: list[Term] = [(1, board.lost(u)) for u in units]
            minus: list[Term] = [*leaves_whole, (-1, singles)]
            board.at_most([*lost, *minus, *((-1, f) for f in out_flags)], spare, self.name, label)
            out.append((1, singles))
        return out

    def _out_anywhere(self, board: "Board", v: "Victim", item: Item) -> "Var | bool":
        table = standing_of(board.scene)
        answers = [
            out_var(board, table, item, q, after=True) for q in board.scene.tree.path(v.queue)
        ]
        if any(a is True for a in answers):
            return True
        flags = [a for a in answers if not isinstance(a, bool)]
        if not flags:
            return False
        out = board.flag(("out anywhere", item.id))
        board.at_most([(1, out), *((-1, f) for f in flags)], 0, self.name, f"group {v.members.key}")
        return out

    def measure(self, outcome: Outcome) -> int:
        return self.measure_of(outcome, victims_of(outcome))

    def measure_of(self, outcome: Outcome, victims: Victims) -> int:
        return sum(returning(outcome, g) for g in victims)


Weights = Mapping[tuple[int, QueueName], int]
"""By priority and queue, what each pod counts."""


def victim_weights(scene: Scene) -> Weights:
    """Return what a victim counts: more than all of lower priority together.

    Of as many pods of each priority, those of queues of lower priority count less.
    """
    return scene.once("victim weights", _victim_weights)


def _victim_weights(scene: Scene) -> Weights:
    count: dict[int, int] = {}
    queues: dict[tuple[int, QueueName], tuple[int, ...]] = {}
    for m in scene.roster.values():
        if m.running:
            p, queue = victim_priority(m), m.group.queue
            count[p] = count.get(p, 0) + len(m.running)
            queues[p, queue] = _queue_priority(scene, queue)
    by_priority: dict[int, int] = {}
    weight = 1
    for priority in sorted(count):
        by_priority[priority] = weight
        weight = min(weight * (count[priority] + 1), HEAVIEST)
    rank = {p: n for n, p in enumerate(sorted(set(queues.values())))}
    scale = 1 + max(rank.values(), default=0) * sum(count.values())
    if scale * max(by_priority.values(), default=1) > HEAVIEST:
        scale, rank = 1, dict.fromkeys(rank, 0)
    return {key: by_priority[key[0]] * scale + rank[of] for key, of in queues.items()}


def _queue_priority(scene: Scene, queue: QueueName) -> tuple[int, ...]:
    """Return the priorities of the queue and those above it, the uppermost first."""
    queues = scene.tree.queues
    return tuple(queues[q].priority for q in reversed(scene.tree.path(queue)) if q in queues)


def weight_of(scene: Scene, m: Members) -> int:
    """Return what each pod of a group counts among victims; nothing where none of it runs."""
    return victim_weights(scene).get((victim_priority(m), m.group.queue), 0)


@dataclass(frozen=True, slots=True)
class ByPriority:
    """Evicted pods, the number at the highest priority first; then whose queue is less."""

    name: str = "victims"
    unit: str = "pods by priority"
    sense: Sense = "min"

    def parts(self, board: "Board") -> "Iterable[Part]":
        weights = victim_weights(board.scene)
        return [
            (u.victim.index, weights[u.victim.priority, u.victim.queue], board.lost(u))
            for u in _units(board)
        ]

    def cost(self, board: "Board") -> "Iterable[Term]":
        return _terms(self.parts(board))

    def measure(self, outcome: Outcome) -> int:
        return self.measure_of(outcome, victims_of(outcome))

    def measure_of(self, outcome: Outcome, victims: Victims) -> int:
        scene = outcome.scene
        return sum(weight_of(scene, scene.roster[g]) * len(ps) for g, ps in victims.items())


@dataclass(frozen=True, slots=True)
class GangsBroken:
    """Groups of several pods that lose their minimum."""

    name: str = "gangs broken"
    unit: str = "groups"
    sense: Sense = "min"

    def parts(self, board: "Board") -> "Iterable[Part]":
        return [
            (v.index, 1, board.gone(v))
            for v in board.victims
            if not v.given_up and v.members.breaks
        ]

    def cost(self, board: "Board") -> "Iterable[Term]":
        return _terms(self.parts(board))

    def measure(self, outcome: Outcome) -> int:
        return self.measure_of(outcome, victims_of(outcome))

    def measure_of(self, outcome: Outcome, victims: Victims) -> int:
        roster = outcome.scene.roster
        return sum(
            len(ps) == len(roster[g].running) and roster[g].breaks for g, ps in victims.items()
        )


@dataclass(frozen=True, slots=True)
class LostWork:
    """Work of evicted pods: devices held (whole cores where there are none) × seconds run."""

    name: str = "lost work"
    unit: str = "device-seconds / 1000"
    sense: Sense = "min"

    def parts(self, board: "Board") -> "Iterable[Part]":
        scene = board.scene
        return [(u.victim.index, lost_work(scene, u.sample), board.lost(u)) for u in _units(board)]

    def cost(self, board: "Board") -> "Iterable[Term]":
        return _terms(self.parts(board))

    def measure(self, outcome: Outcome) -> int:
        return self.measure_of(outcome, victims_of(outcome))

    def measure_of(self, outcome: Outcome, victims: Victims) -> int:
        scene = outcome.scene
        return sum(sum(losses_of(scene, ps)) for ps in victims.values())


@dataclass(frozen=True, slots=True)
class Youngest:
    """Σ ages of evicted pods: of equals the youngest go."""

    name: str = "age of victims"
    unit: str = "seconds"
    sense: Sense = "min"

    def parts(self, board: "Board") -> "Iterable[Part]":
        return [
            (u.victim.index, age_s(board.scene, u.sample), board.lost(u)) for u in _units(board)
        ]

    def cost(self, board: "Board") -> "Iterable[Term]":
        return _terms(self.parts(board))

    def measure(self, outcome: Outcome) -> int:
        return self.measure_of(outcome, victims_of(outcome))

    def measure_of(self, outcome: Outcome, victims: Victims) -> int:
        scene = outcome.scene
        return sum(age_s(scene, p) for ps in victims.values() for p in ps)
