"""Rights: who may evict whom, as things are after a plan (docs/design/order.md, section 4)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ..models import GroupKey, Pod, QueueName, Reclaims
from .evictable import loss_priority, victim_priority
from .limits import limits_of
from .members import Members
from .min_runtime import goes_too_soon
from .outcome import Outcome
from .places import places_of
from .scene import Scene
from .standing import MEASURES, Measure, standing_of


def nothing_is_due(scene: Scene, branch: QueueName, asks: Iterable[int]) -> bool:
    """Say whether due and guarantee are 0 in all that is asked for and that the branch names.

    An inner queue names what a queue below it names.
    """
    known = scene.once("nothing is due", _nothing_known)
    case = (branch, tuple(asks))
    if case not in known:
        known[case] = _nothing_is_due(scene, *case)
    return known[case]


def _nothing_known(_: Scene) -> dict[tuple[QueueName, tuple[int, ...]], bool]:
    return {}


def _nothing_is_due(scene: Scene, branch: QueueName, asks: Iterable[int]) -> bool:
    limits, table = limits_of(scene), standing_of(scene)
    below = [q for q in scene.tree.queues if branch in scene.tree.path(q)]
    literal = scene.config.literal_deserved
    named = {r for q in below for r in limits.deserved[q]}
    mine = [r for r in asks if r in named or (literal and r in limits.named)]
    return bool(mine) and all(
        not table.due[branch].get(r) and not limits.guarantee[branch][r] for r in mine
    )


NOTHING = -(1 << 32)
"""Below every priority."""


def limit_of(scene: Scene, claimant: QueueName, victim: QueueName, priority: int) -> int | None:
    """Return below which priority a group of one queue may take work of another; None: any."""
    queue, config = scene.tree.queues.get(claimant), scene.config
    if claimant == victim:
        able = config.evictions != "none" and (queue is None or queue.preempts)
        return priority if able else NOTHING
    if queue is not None and queue.reclaims is Reclaims.LOWER:
        return priority
    return priority + 1 if config.priority_everywhere else None


def asks_of(scene: Scene, m: Members) -> tuple[int, ...]:
    """Return the columns that some running or pending member asks for, the pod slot left out."""
    row = scene.rows(m.everybody)
    left_out = scene.ledger.uncounted
    return tuple(r for r, v in enumerate(row) if v and r not in left_out)


@dataclass(frozen=True, slots=True)
class Branches:
    """Where two queues part: the victim's branch, and the claimant's queues up to its branch."""

    victim: QueueName
    claimant: tuple[QueueName, ...]


def cross_branches(
    scene: Scene,
    claimant: QueueName,
    victim: QueueName,
    asks: Iterable[int],
    measure: Measure = "entitlement",
) -> Branches | None:
    """Return the branches of a possible right across queues; None where there can be none."""
    memo: dict[_Pair, Branches | None] = scene.once("branches", lambda _: {})
    key = (claimant, victim, tuple(asks), measure)
    if key not in memo:
        memo[key] = _cross_branches(scene, claimant, victim, key[2], measure)
    return memo[key]


_Pair = tuple[QueueName, QueueName, tuple[int, ...], Measure]


def _cross_branches(
    scene: Scene,
    claimant: QueueName,
    victim: QueueName,
    asks: Iterable[int],
    measure: Measure,
) -> Branches | None:
    mine, other = scene.tree.apart(claimant, victim)
    if not mine or not other or scene.config.evictions != "all":
        return None
    queues = scene.tree.queues
    if queues[claimant].reclaims is Reclaims.NEVER or not all(queues[q].reclaimable for q in other):
        return None
    if (
        measure == "entitlement"
        and nothing_is_due(scene, mine[-1], asks)
        and (queues[other[-1]].priority >= queues[mine[-1]].priority)
    ):
        return None
    return Branches(other[-1], mine)


_Kind = tuple[QueueName, int, tuple[int, ...]]
"""What a claimant's rights depend on: queue, priority, columns of what it asks for."""

_Case = tuple[tuple[QueueName, ...], tuple[int, ...], Measure]
"""Queues of a claimant, what it asks for, and the measure that they have to stay within."""


class Rights:
    """Rights as they are after a plan."""

    def __init__(self, outcome: Outcome) -> None:
        self._outcome = outcome
        self._scene = outcome.scene
        self._standing = standing_of(outcome.scene)
        self._places = places_of(self._standing, outcome)
        self._kinds: dict[GroupKey, _Kind] = {}
        self._known: dict[tuple[_Kind, GroupKey, int, int], str] = {}
        self._fits: dict[_Case, bool] = {}
        self._starters: list[tuple[GroupKey, _Kind]] | None = None

    def may(self, claimant: GroupKey, victim: GroupKey, lost: Sequence[Pod] | None = None) -> str:
        """Return "own", "cross" or "" for no right to these of the victim's running pods.

        Without ``lost``: to what the outcome evicts.
        """
        if claimant == victim:
            return ""
        if not self._scene.roster[claimant].group.may_preempt:
            return ""
        if lost is None:
            lost = self._outcome.losses.get(victim, ())
        return self._of_kind(self._kind_of(claimant), victim, lost)

    def holders(self, victim: GroupKey) -> list[GroupKey]:
        """Return the groups that start and have a right to what is evicted of the victim."""
        if self._starters is None:
            roster = self._scene.roster
            able = [g for g in self._outcome.started if roster[g].group.may_preempt]
            self._starters = [(g, self._kind_of(g)) for g in able]
        held: dict[_Kind, str] = {}
        lost = self._outcome.losses.get(victim, ())
        out = []
        for g, kind in self._starters:
            if kind not in held:
                held[kind] = self._of_kind(kind, victim, lost)
            if held[kind] and g != victim:
                out.append(g)
        return out

    def _kind_of(self, claimant: GroupKey) -> _Kind:
        if claimant not in self._kinds:
            g = self._scene.roster[claimant]
            asks = asks_of(self._scene, g)
            self._kinds[claimant] = (g.group.queue, g.group.priority, asks)
        return self._kinds[claimant]

    def _of_kind(self, kind: _Kind, victim: GroupKey, lost: Sequence[Pod]) -> str:
        v = self._scene.roster[victim]
        top = loss_priority(v, lost) if lost else victim_priority(v)
        ask = (kind, victim, len(lost), top)
        if ask not in self._known:
            self._known[ask] = self._may(*kind, v, len(lost), top)
        return self._known[ask]

    def _may(
        self,
        queue: QueueName,
        priority: int,
        asks: tuple[int, ...],
        v: Members,
        lost: int,
        top: int,
    ) -> str:
        scene = self._scene
        limit = limit_of(scene, queue, v.group.queue, priority)
        if limit is not None and top >= limit:
            return ""
        if goes_too_soon(scene, queue, v, lost):
            return ""
        if queue == v.group.queue:
            return "own"
        for measure in MEASURES:
            branches = cross_branches(scene, queue, v.group.queue, asks, measure)
            if (
                branches is not None
                and self._within(branches.claimant, asks, measure)
                and self._places.may_lose(
                    v.key, branches.victim, lost, len(v.running), measure, asks
                )
            ):
                return "cross"
        return ""

    def _within(self, queues: Iterable[QueueName], asks: Iterable[int], measure: Measure) -> bool:
        case: _Case = (tuple(queues), tuple(asks), measure)
        if case not in self._fits:
            use = self._outcome.use_after
            self._fits[case] = self._standing.holds_within(measure, use, case[0], case[1])
        return self._fits[case]


def rights_of(outcome: Outcome) -> Rights:
    """Return the rights after a plan; kept with the outcome."""
    known = outcome.kept_rights
    if known is None:
        known = Rights(outcome)
        outcome.kept_rights = known
    assert isinstance(known, Rights)
    return known
