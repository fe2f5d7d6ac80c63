"""Preemption: evictions only by right, and only what guarantees and claims bear.

The rights and their limits are section 4 of docs/design/order.md.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..models import GroupKey, PodState, QueueName, Violation
from .claim_check import check_claims
from .claims import tell_claims
from .evictable import evictable, given_up
from .limits import limits_of
from .outcome import Outcome
from .right_rows import tell_rights
from .takers import TakersOf, takers_of

if TYPE_CHECKING:
    from .board import Board, Term, Var, Victim


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
        takers = takers_of(outcome) if outcome.losses else None
        holders: dict[GroupKey, TakersOf] = {}
        for key, pods in sorted(outcome.losses.items()):
            m = scene.roster[key]
            if given_up(scene, m) and len(pods) == len(m.running):
                continue
            for p in pods:
                if not evictable(scene, p):
                    yield Violation(self.name, f"pod {p.key}", "may not be evicted")
            assert takers is not None
            holders[key] = takers.of(key)
            if not holders[key]:
                yield Violation(self.name, f"group {key}", "is evicted for nobody with a right")
            elif outcome.beneficiaries is not None:
                for p in pods:
                    named = outcome.beneficiaries.get(p.key, ())
                    if not named or not all(g in holders[key] for g in named):
                        yield Violation(
                            self.name, f"pod {p.key}",
                            f"is evicted for {', '.join(named) or 'nobody'}, who has no right",
                        )  # fmt: skip
        if holders:
            yield from self._check_guarantees(outcome, holders)
        if outcome.losses:
            yield from check_claims(outcome, self.name, holders)

    def _check_guarantees(
        self, outcome: Outcome, holders: Mapping[GroupKey, TakersOf]
    ) -> Iterable[Violation]:
        scene, limits = outcome.scene, limits_of(outcome.scene)
        guaranteed = {q for q, kept in limits.guarantee.items() if any(kept)}
        raided: dict[QueueName, set[GroupKey]] = {}
        for v, takers in holders.items() if guaranteed else ():
            if not takers.has_own:
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

    # To the solver

    def grant(self, board: "Board") -> None:
        tell_rights(board, self.name)

    def constrain(self, board: "Board") -> None:
        if not board.victims:
            return
        tell_claims(board, self.name)
        self._guarantees(board)
        self._must_stay(board)

    def _guarantees(self, board: "Board") -> None:
        scene, limits = board.scene, limits_of(board.scene)
        path = scene.tree.path
        for q in scene.tree.downwards:
            if not any(limits.guarantee[q]):
                continue
            units = [u for u in board.units if q in path(u.victim.queue) and not u.victim.given_up]
            for v in {u.victim.index: u.victim for u in units}.values():
                raid = self._raided(board, v)
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

    def _raided(self, board: "Board", v: "Victim") -> "Var":
        """1 where pods of the victim go, and no starting group of its own queue may take them."""
        memo = ("raided", v.index)
        raid = board.flag(memo)
        own: list[Var] = []
        for role in board.rolesets:
            c = role.shape.claimant
            if c is None or c.queue != v.queue:
                continue
            right = board.right(c, v)
            if right is True:
                own.append(board.count(role))
            elif right is not False:
                own.append(self._taken(board, v, right, [board.count(role)]))
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

    def _taken(self, board: "Board", v: "Victim", right: "Var", counts: "list[Var]") -> "Var":
        """1 only where there is the right, and one of those who have it starts."""
        both = board.flag(("takes", right, v.index, *counts))
        label = f"group {v.members.key}"
        board.at_most([(1, both), (-1, right)], 0, self.name, label)
        board.at_most([(1, both), *((-1, c) for c in counts)], 0, self.name, label)
        return both

    def _must_stay(self, board: "Board") -> None:
        """Each victim needs a beneficiary: a group that starts pods and has a right to it."""
        for v in board.victims:
            if v.given_up:
                continue
            support: list[Var] = []
            perhaps: dict[Var, list[Var]] = {}
            for role in board.rolesets:
                right = board.right(role.shape.claimant, v)
                if right is True:
                    support.append(board.count(role))
                elif right is not False:
                    perhaps.setdefault(right, []).append(board.count(role))
            for right, counts in perhaps.items():
                support.append(self._taken(board, v, right, counts))
            for u in board.units_of(v):
                board.at_most(
                    [(1, board.lost(u)), *((-len(u.pods), s) for s in support)],
                    0, self.name, f"group {v.members.key}",
                )  # fmt: skip
