"""Preemption: who may evict whom, and what an eviction must respect.

The rights and their limits are section 4 of docs/design/order.md.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, combinations
from typing import TYPE_CHECKING, TypeVar
from weakref import WeakKeyDictionary

from ..models import GroupKey, Pod, PodState, QueueName, Violation
from .evictable import evictable, given_up, victim_priority
from .host_ports import clash
from .limits import limits_of
from .members import Members
from .outcome import Outcome
from .places import places_of
from .pod_affinity import repels
from .scene import Scene
from .standing import MEASURES, Measure, StandingTable, standing_of
from .standing_rows import out_parts, within_var

if TYPE_CHECKING:
    from .board import Board, Claimant, Term, Unit, Var, Victim

T = TypeVar("T")

SUBSETS = 5
"""Of up to so many kinds of claimants every subset gets its row; of more, the main ones."""


def nothing_is_due(scene: Scene, branch: QueueName, asks: Iterable[int]) -> bool:
    """Say whether due and guarantee are 0 in all that is asked for and that the branch names.

    An inner queue names what a queue below it names.
    """
    memo = _NOTHING_DUE.setdefault(scene, {})
    key = (branch, tuple(asks))
    if key not in memo:
        memo[key] = _nothing_is_due(scene, branch, key[1])
    return memo[key]


_NOTHING_DUE: "WeakKeyDictionary[Scene, dict[tuple[QueueName, tuple[int, ...]], bool]]" = (
    WeakKeyDictionary()
)


def _nothing_is_due(scene: Scene, branch: QueueName, asks: Iterable[int]) -> bool:
    limits, table = limits_of(scene), standing_of(scene)
    below = [q for q in scene.tree.queues if branch in scene.tree.path(q)]
    literal = scene.config.literal_deserved
    named = {r for q in below for r in limits.deserved[q]}
    mine = [r for r in asks if r in named or (literal and r in limits.named)]
    return bool(mine) and all(
        not table.due[branch].get(r) and not limits.guarantee[branch][r] for r in mine
    )


def asks_of(scene: Scene, m: Members) -> tuple[int, ...]:
    """Return the columns that some running or pending member asks for, the pod slot left out."""
    row = scene.rows(m.everybody)
    return tuple(r for r, v in enumerate(row) if v and r != scene.ledger.pods)


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
    mine, other = scene.tree.apart(claimant, victim)
    if not mine or not other or scene.config.evictions != "all":
        return None
    queues = scene.tree.queues
    if not all(queues[q].reclaimable for q in other):
        return None
    if (
        measure == "entitlement"
        and nothing_is_due(scene, mine[-1], asks)
        and (queues[other[-1]].priority >= queues[mine[-1]].priority)
    ):
        return None
    return Branches(other[-1], mine)


class Rights:
    """Rights as they are after a plan."""

    def __init__(self, outcome: Outcome) -> None:
        self._outcome = outcome
        self._scene = outcome.scene
        self._standing = standing_of(outcome.scene)
        self._places = places_of(self._standing, outcome)
        self._known: dict[tuple[GroupKey, GroupKey, int | None], str] = {}

    def may(self, claimant: GroupKey, victim: GroupKey, lost: int | None = None) -> str:
        """Return "own", "cross" or "" for no right to so many of the victim's running pods.

        Without ``lost``: to what the outcome evicts.
        """
        ask = (claimant, victim, lost)
        if ask not in self._known:
            self._known[ask] = self._may(claimant, victim, lost)
        return self._known[ask]

    def _may(self, claimant: GroupKey, victim: GroupKey, lost: int | None) -> str:
        scene = self._scene
        g, v = scene.roster[claimant], scene.roster[victim]
        if not g.group.may_preempt or claimant == victim:
            return ""
        allowed = scene.config.evictions
        if g.group.queue == v.group.queue:
            lower = allowed != "none" and victim_priority(v) < g.group.priority
            return "own" if lower else ""
        asks = asks_of(scene, g)
        if lost is None:
            lost = len(self._outcome.losses.get(victim, ()))
        for measure in MEASURES:
            branches = cross_branches(scene, g.group.queue, v.group.queue, asks, measure)
            if (
                branches is not None
                and self._within(branches.claimant, asks, measure)
                and self._places.may_lose(
                    victim, branches.victim, lost, len(v.running), measure, asks
                )
            ):
                return "cross"
        return ""

    def _within(self, queues: Iterable[QueueName], asks: Iterable[int], measure: Measure) -> bool:
        use, most = self._outcome.use_after, self._standing.floors[measure]
        return all(
            int(use[q][r]) <= most[q][r]
            for q in queues
            for r in asks
            if r in self._standing.columns
        )


def rights_of(outcome: Outcome) -> Rights:
    """Return the rights after a plan; kept with the outcome."""
    known = outcome.kept_rights
    if known is None:
        known = Rights(outcome)
        outcome.kept_rights = known
    assert isinstance(known, Rights)
    return known


@dataclass(frozen=True, slots=True)
class Preemption:
    """Evictions only by right, whole gangs or surplus, above guarantees, room for claimants."""

    name: str = "preemption"

    # Plain

    def check(self, outcome: Outcome) -> Iterable[Violation]:
        scene = outcome.scene
        for pod in sorted(outcome.evicted):
            p = scene.pods.get(pod)
            if p is None or p.state is not PodState.RUNNING or p.group is None:
                yield Violation(self.name, f"pod {pod}", "does not run, or is not ours")
        rights = rights_of(outcome) if outcome.losses else None
        holders: dict[GroupKey, list[GroupKey]] = {}
        for key, pods in sorted(outcome.losses.items()):
            m = scene.roster[key]
            if given_up(scene, m) and len(pods) == len(m.running):
                continue
            for p in pods:
                if not evictable(scene, p):
                    yield Violation(self.name, f"pod {p.key}", "may not be evicted")
            assert rights is not None
            holders[key] = [g for g in outcome.started if rights.may(g, key)]
            if not holders[key]:
                yield Violation(self.name, f"group {key}", "is evicted for nobody with a right")
            elif outcome.beneficiaries is not None:
                for p in pods:
                    named = outcome.beneficiaries.get(p.key, ())
                    if not named or not set(named) <= set(holders[key]):
                        yield Violation(
                            self.name, f"pod {p.key}",
                            f"is evicted for {', '.join(named) or 'nobody'}, who has no right",
                        )  # fmt: skip
        if rights is not None:
            yield from self._check_guarantees(outcome, rights, holders)
            yield from self._check_claims(outcome, holders)

    def _check_guarantees(
        self, outcome: Outcome, rights: Rights, holders: Mapping[GroupKey, Sequence[GroupKey]]
    ) -> Iterable[Violation]:
        scene, limits = outcome.scene, limits_of(outcome.scene)
        raided: dict[QueueName, set[GroupKey]] = {}
        for v, claimants in holders.items():
            if not any(rights.may(g, v) == "own" for g in claimants):
                for q in scene.tree.path(scene.snapshot.group(v).queue):
                    raided.setdefault(q, set()).add(v)
        for q in sorted(raided):
            for r, kept in enumerate(limits.guarantee[q]):
                after = int(outcome.use_after[q][r])
                if kept and after < min(kept, int(outcome.use_before[q][r])):
                    yield Violation(
                        self.name, f"queue {q}",
                        f"would fall below its guarantee of {scene.ledger.resources[r]}",
                    )  # fmt: skip

    def _check_claims(
        self, outcome: Outcome, holders: Mapping[GroupKey, Sequence[GroupKey]]
    ) -> Iterable[Violation]:
        """On each node (and limited queue) any set of claimants stays within what is its own."""
        scene = outcome.scene
        victims_on: dict[int, list[Pod]] = {}
        for p, i in scene.holders:
            if p.key in outcome.evicted:
                victims_on.setdefault(i, []).append(p)
        yield from self._check_clashes(outcome, holders, victims_on)
        new_on: dict[int, list[Pod]] = {}
        for p, i in outcome.new_pods:
            new_on.setdefault(i, []).append(p)
        for i, victims in sorted(victims_on.items()):
            room = [int(v) for v in scene.room_later[i]]
            if self._overdrawn(scene, new_on.get(i, []), victims, room, holders):
                yield Violation(
                    self.name, f"node {scene.nodes[i].name}",
                    "room of victims goes to groups that have no claim on it",
                )  # fmt: skip
        limits = limits_of(scene)
        for q in scene.tree.downwards:
            tops = limits.limit[q]
            if all(v is None for v in tops):
                continue
            inside = {m.key for m in scene.roster.values() if q in scene.tree.path(m.group.queue)}
            victims = [p for g, ps in outcome.losses.items() if g in inside for p in ps]
            new = [p for g, ps in outcome.started.items() if g in inside for p in ps]
            room = [
                (1 << 80) if top is None else max(0, top - limits.use[q][r])
                for r, top in enumerate(tops)
            ]
            if victims and self._overdrawn(scene, new, victims, room, holders):
                yield Violation(
                    self.name, f"queue {q}",
                    "quota of victims goes to groups that have no claim on it",
                )  # fmt: skip

    def _check_clashes(
        self,
        outcome: Outcome,
        holders: Mapping[GroupKey, Sequence[GroupKey]],
        victims_on: Mapping[int, Sequence[Pod]],
    ) -> Iterable[Violation]:
        """A pod that a port or anti-affinity kept away from a victim needs a right to it."""
        nodes = outcome.scene.nodes
        shy = any(v.spec.anti_affinity for vs in victims_on.values() for v in vs)
        for p, i in outcome.new_pods:
            if not (p.spec.host_ports or p.spec.anti_affinity or shy):
                continue
            for j, victims in victims_on.items():
                for v in victims:
                    takers = holders.get(v.group) if v.group is not None else None
                    if takers is None or p.group in takers:
                        continue
                    keys = {*repels(p, v), *repels(v, p)}
                    near = any(
                        nodes[i].labels.get(k) is not None
                        and nodes[i].labels.get(k) == nodes[j].labels.get(k)
                        for k in keys
                    )
                    if near or (i == j and clash(p, v)):
                        yield Violation(
                            self.name, f"pod {p.key}", f"takes the place of {v.key} without a right"
                        )

    @staticmethod
    def _overdrawn(
        scene: Scene,
        new: Sequence[Pod],
        victims: Sequence[Pod],
        room: Sequence[int],
        holders: Mapping[GroupKey, Sequence[GroupKey]],
    ) -> bool:
        """Hall's condition: some set of claimants uses more than the room and what it may free."""
        kinds: dict[frozenset[str], list[Pod]] = {}
        for p in new:
            mine = frozenset(
                v.key
                for v in victims
                if v.group is not None and (v.group not in holders or p.group in holders[v.group])
            )
            kinds.setdefault(mine, []).append(p)
        for chosen in subsets(list(kinds)):
            reach = frozenset(chain.from_iterable(chosen))
            use = scene.rows(p for k in kinds if k <= reach for p in kinds[k])
            freed = scene.rows(v for v in victims if v.key in reach)
            columns = zip(use, freed, room, strict=True)
            if any(int(u) > max(0, a) + int(f) for u, f, a in columns if u):
                return True
        return False

    # To the solver

    def constrain(self, board: "Board") -> None:
        if not board.victims:
            return
        self._rights(board)
        claimants = {s.claimant for s in board.shapes if s.claimant is not None}
        for cls in board.classes:
            if board.units_on(cls):
                self._claims_on_node(board, cls.index)
        self._claims_in_queues(board)
        self._guarantees(board, claimants)
        self._must_stay(board)

    def _rights(self, board: "Board") -> None:
        """Fill the board's rights: constants where they are known, variables elsewhere."""
        standing = standing_of(board.scene)
        claimants = {s.claimant for s in board.shapes if s.claimant is not None}
        for c in claimants:
            for v in board.victims:
                if v.given_up:
                    continue
                board.rights[c, v.index] = self._right(board, standing, c, v)

    def _right(
        self, board: "Board", table: "StandingTable", c: "Claimant", v: "Victim"
    ) -> "Var | bool":
        if not c.may_preempt:
            return False
        if c.queue == v.queue:
            return board.scene.config.evictions != "none" and v.priority < c.priority
        ways: list[Var] = []
        for measure in MEASURES:
            way = self._way(board, table, c, v, measure)
            if way is True:
                return True
            if way is not False:
                ways.append(way)
        if not ways:
            return False
        right = board.flag(("right", c, v.index))
        label = f"group {v.members.key}"
        board.at_most([(1, right), *((-1, w) for w in ways)], 0, self.name, label)
        return right

    def _way(
        self, board: "Board", table: "StandingTable", c: "Claimant", v: "Victim", measure: Measure
    ) -> "Var | bool":
        """Say whether the claimant has a right, by the measure, to what goes of the victim."""
        branches = cross_branches(board.scene, c.queue, v.queue, c.asks, measure)
        if branches is None:
            return False
        within = within_var(board, table, branches.claimant, c.asks, measure)
        if within is False:
            return False
        whole, single = out_parts(board, table, v, branches.victim, measure, c.asks)
        singles = single if v.surplus else []
        if not v.whole:
            whole = False
        if whole is False and all(s is False for s in singles):
            return False
        if within is True and whole is True and all(s is True for s in singles):
            return True
        label = f"group {v.members.key} beyond"
        way = board.flag(("way", c, v.index, measure))
        if not isinstance(within, bool):
            board.at_most([(1, way), (-1, within)], 0, self.name, label)
        gone = board.gone(v)
        if whole is not True:
            # It may go as a whole only where its minimum is beyond.
            also: list[Term] = [] if whole is False else [(-1, whole)]
            board.at_most([(1, way), (1, gone), *also], 1, self.name, label)
        units = board.units_of(v)
        total = sum(len(u.pods) for u in units)
        open_ones: list[Term] = [(-1, s) for s in singles if not isinstance(s, bool)]
        board.at_most(
            [*((1, board.lost(u)) for u in units), (-total, gone), *open_ones],
            sum(s is True for s in singles), self.name, label, given=[way],
        )  # fmt: skip
        return way

    def _claims_on_node(self, board: "Board", index: int) -> None:
        cls = board.classes[index]
        new: dict[Claimant, list[tuple[tuple[int, ...], Var]]] = {}
        for s, var in board.on(cls):
            if s.claimant is not None:
                new.setdefault(s.claimant, []).append((s.row, var))
        self._claim_rows(board, new, board.units_on(cls), [max(0, r) for r in cls.room], cls.label)

    def _claims_in_queues(self, board: "Board") -> None:
        limits = limits_of(board.scene)
        path = board.scene.tree.path
        for q in board.scene.tree.downwards:
            tops = limits.limit[q]
            units = [u for u in board.units if q in path(u.victim.queue)]
            if not units or all(v is None for v in tops):
                continue
            new: dict[Claimant, list[tuple[tuple[int, ...], Var]]] = {}
            for role in board.rolesets:
                claimant = role.shape.claimant
                if claimant is not None and q in path(role.type.queue):
                    new.setdefault(claimant, []).append((role.shape.row, board.count(role)))
            room = [
                None if top is None else max(0, top - limits.use[q][r])
                for r, top in enumerate(tops)
            ]
            self._claim_rows(board, new, units, room, f"queue {q}")

    def _claim_rows(
        self,
        board: "Board",
        new: "Mapping[Claimant, Sequence[tuple[tuple[int, ...], Var]]]",
        units: "Sequence[Unit]",
        room: Sequence[int | None],
        label: str,
    ) -> None:
        kinds: dict[tuple[object, ...], list[Claimant]] = {}
        for c in new:
            mine = tuple(_sign(board.right(c, u.victim)) for u in units)
            kinds.setdefault(mine, []).append(c)
        if len(kinds) == 1 and all(m is True for m in next(iter(kinds))):
            return
        for chosen in subsets(list(kinds)):
            claimants = [c for k in chosen for c in kinds[k]]
            freed = [(u, self._freed(board, claimants, u)) for u in units]
            for r, free in enumerate(room):
                if free is None:
                    continue
                terms: list[Term] = [(row[r], v) for c in claimants for row, v in new[c] if row[r]]
                if terms:
                    back = [(-u.row[r], f) for u, f in freed if f is not None and u.row[r]]
                    about = f"{label} {board.scene.ledger.resources[r]} claims"
                    board.at_most([*terms, *back], free, self.name, about)

    def _freed(self, board: "Board", claimants: "Sequence[Claimant]", unit: "Unit") -> "Var | None":
        """How many pods of the unit are evicted to which one of the claimants has a right."""
        rights = [board.right(c, unit.victim) for c in claimants]
        if any(r is True for r in rights):
            return board.lost(unit)
        open_ones = sorted({r for r in rights if not isinstance(r, bool)})
        if not open_ones:
            return None
        n = len(unit.pods)
        memo = ("freed", unit.index, tuple(open_ones))
        freed = board.integer(0, n, memo).var
        label = f"pod {unit.sample.key}"
        board.at_most([(1, freed), (-1, board.lost(unit))], 0, self.name, label)
        board.at_most([(1, freed), *((-n, r) for r in open_ones)], 0, self.name, label)
        return freed

    def _guarantees(self, board: "Board", claimants: "set[Claimant]") -> None:
        scene, limits = board.scene, limits_of(board.scene)
        path = scene.tree.path
        for q in scene.tree.downwards:
            if not any(limits.guarantee[q]):
                continue
            units = [u for u in board.units if q in path(u.victim.queue) and not u.victim.given_up]
            for v in {u.victim.index: u.victim for u in units}.values():
                raid = self._raided(board, v, claimants)
                for r, kept in enumerate(limits.guarantee[q]):
                    floor = min(kept, limits.use[q][r])
                    if not floor:
                        continue
                    lost: list[Term] = [
                        (u.row[r], board.lost(u))
                        for u in board.units
                        if q in path(u.victim.queue) and u.row[r]
                    ]
                    new: list[Term] = [
                        (-role.shape.row[r], board.count(role))
                        for role in board.rolesets
                        if q in path(role.type.queue) and role.shape.row[r]
                    ]
                    about = f"queue {q} guarantee {scene.ledger.resources[r]}"
                    board.at_most(
                        [*lost, *new], limits.use[q][r] - floor, self.name, about, given=[raid]
                    )

    def _raided(self, board: "Board", v: "Victim", claimants: "set[Claimant]") -> "Var":
        """1 where pods of the victim go, and no starting group of its own queue may take them."""
        memo = ("raided", v.index)
        raid = board.flag(memo)
        own = [
            board.count(role)
            for role in board.rolesets
            if role.shape.claimant is not None
            and role.shape.claimant.queue == v.queue
            and board.right(role.shape.claimant, v) is True
        ]
        any_own = board.flag(("own", v.index)) if own else None
        if any_own is not None:
            board.at_most(
                [(1, any_own), *((-1, c) for c in own)], 0, self.name, f"group {v.members.key}"
            )
        for u in board.units_of(v):
            terms: list[Term] = [(1, board.lost(u)), (-len(u.pods), raid)]
            if any_own is not None:
                terms.append((-len(u.pods), any_own))
            board.at_most(terms, 0, self.name, f"group {v.members.key}")
        return raid

    def _must_stay(self, board: "Board") -> None:
        """Each victim needs a beneficiary: a group that starts pods and has a right to it."""
        for v in board.victims:
            if v.given_up:
                continue
            support: list[Var] = []
            for role in board.rolesets:
                right = board.right(role.shape.claimant, v)
                if right is False:
                    continue
                if right is True:
                    support.append(board.count(role))
                else:
                    both = board.flag(("takes", role.index, v.index))
                    label = f"group {v.members.key}"
                    board.at_most([(1, both), (-1, right)], 0, self.name, label)
                    board.at_most([(1, both), (-1, board.count(role))], 0, self.name, label)
                    support.append(both)
            for u in board.units_of(v):
                board.at_most(
                    [(1, board.lost(u)), *((-len(u.pods), s) for s in support)],
                    0, self.name, f"group {v.members.key}",
                )  # fmt: skip


def _sign(right: "Var | bool") -> object:
    return right if isinstance(right, bool) else ("variable", right)


def subsets(kinds: Sequence[T]) -> Iterable[Sequence[T]]:
    """Every non-empty subset where there are few kinds; single ones and all of them beyond."""
    if len(kinds) <= SUBSETS:
        for n in range(1, len(kinds) + 1):
            yield from combinations(kinds, n)
    else:
        for k in kinds:
            yield (k,)
        yield tuple(kinds)
