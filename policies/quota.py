"""Queue quota: limits at every level of the tree, and dues for work that cannot be preempted.

Where anything starts that asks for a resource: use(q) ≤ limit(q) = min(capability, realCap),
realCap(q) = max(realCap(parent) − Σ guarantees of its children, 0) + own guarantee, per resource,
at every level. Non-preemptible work starts only while the non-preemptible use ≤ deserved at every
ancestor that names the resource.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..models import GroupKey, QueueName, Reason, Violation
from .limits import Limits, limits_of
from .members import Members
from .outcome import Outcome
from .scene import Scene

if TYPE_CHECKING:
    from .board import Board, GroupType, Term


def non_preemptible_use(scene: Scene) -> Mapping[QueueName, list[int]]:
    """Return what running non-preemptible groups use, by queue of the tree."""
    return scene.once("non-preemptible use", _non_preemptible_use)


def _non_preemptible_use(scene: Scene) -> Mapping[QueueName, list[int]]:
    fixed = scene.by_group([not g.preemptable for g in scene.snapshot.groups])
    sums = scene.sums_by_queue(scene.columns.running & fixed)
    return {q: [int(v) for v in row] for q, row in sums.items()}


@dataclass(frozen=True, slots=True)
class Quota:
    """Nothing starts that would take a queue, at any level, above what it may have."""

    name: str = "quota"

    def hold(self, outcome: Outcome, group: str) -> Iterable[Reason]:
        """Name the limits that the group's minimum alone would break, whatever else leaves."""
        scene = outcome.scene
        limits = limits_of(scene)
        m = scene.roster[GroupKey(group)]
        path = scene.tree.path(m.group.queue)
        limited, due_bound = scene.once("bounded queues", _bounded)
        queue = m.group.queue
        bounded = queue in limited or (queue in due_bound and not m.group.preemptable)
        if not bounded or not m.first:
            return
        ask = _least(scene, m)
        # Running members beyond a limit keep nothing from starting that asks for none of it.
        more = [a - int(b) for a, b in zip(ask, scene.rows(m.running), strict=True)]
        for q in path:
            for r, most in enumerate(limits.limit[q]):
                if most is not None and more[r] and ask[r] > most:
                    yield Reason(
                        self.name, f"queue {q}", self._over(scene, q, r, int(ask[r]), most)
                    )
            if not m.group.preemptable:
                for r, due in limits.due_named(q).items():
                    if more[r] and ask[r] > due:
                        yield Reason(
                            self.name, f"queue {q}",
                            f"asks for {_show(scene, r, int(ask[r]))} of "
                            f"{scene.ledger.resources[r]}, cannot be preempted, and queue {q} "
                            f"is due {_show(scene, r, due)}",
                        )  # fmt: skip

    @staticmethod
    def _over(scene: Scene, q: str, r: int, ask: int, most: int) -> str:
        return (
            f"asks for {_show(scene, r, ask)} of {scene.ledger.resources[r]} and queue {q} "
            f"may have {_show(scene, r, most)}"
        )

    def check(self, outcome: Outcome) -> Iterable[Violation]:
        scene = outcome.scene
        limits = limits_of(scene)
        asked: dict[QueueName, set[int]] = {}
        fixed: dict[QueueName, set[int]] = {}
        for key, pods in outcome.started.items():
            group = scene.snapshot.group(key)
            columns = {r for p in pods for r, v in enumerate(scene.row(p)) if v}
            for q in scene.tree.path(group.queue):
                asked.setdefault(q, set()).update(columns)
                if not group.preemptable:
                    fixed.setdefault(q, set()).update(columns)
        for q, columns in sorted(asked.items()):
            for r in sorted(columns):
                most = limits.limit[q][r]
                after = int(outcome.use_after[q][r])
                if most is not None and after > most:
                    yield Violation(
                        self.name, f"queue {q}",
                        f"would use {_show(scene, r, after)} of {scene.ledger.resources[r]}, "
                        f"its limit is {_show(scene, r, most)}",
                    )  # fmt: skip
        yield from self._check_dues(outcome, limits, fixed)

    def _check_dues(
        self, outcome: Outcome, limits: Limits, fixed: Mapping[QueueName, set[int]]
    ) -> Iterable[Violation]:
        if not fixed:
            return
        scene = outcome.scene
        use = {q: list(v) for q, v in non_preemptible_use(scene).items()}
        for sign, by_group in ((1, outcome.started), (-1, outcome.losses)):
            for key, pods in by_group.items():
                group = scene.snapshot.group(key)
                if group.preemptable:
                    continue
                row = scene.rows(pods)
                for q in scene.tree.path(group.queue):
                    use[q] = [a + sign * int(b) for a, b in zip(use[q], row, strict=True)]
        for q, columns in sorted(fixed.items()):
            for r, due in limits.due_named(q).items():
                if r in columns and use[q][r] > due:
                    yield Violation(
                        self.name, f"queue {q}",
                        f"non-preemptible work would use {_show(scene, r, use[q][r])} of "
                        f"{scene.ledger.resources[r]}, due is {_show(scene, r, due)}",
                    )  # fmt: skip

    def constrain(self, board: "Board") -> None:
        scene = board.scene
        limits = limits_of(scene)
        use = limits.use
        for q in scene.tree.downwards:
            types = [t for t in board.types if q in scene.tree.path(t.queue)]
            if not types:
                continue
            units = [u for u in board.units if q in scene.tree.path(u.victim.queue)]
            for r, most in enumerate(limits.limit[q]):
                if most is None:
                    continue
                new = self._new(board, types, r)
                freed: list[Term] = [(-u.row[r], board.lost(u)) for u in units if u.row[r]]
                about = f"{q} {scene.ledger.resources[r]}"
                self._starts_within(board, new, freed, most - use[q][r], about)
            self._dues(board, q, limits, types)

    def _starts_within(
        self, board: "Board", new: "list[Term]", freed: "list[Term]", room: int, about: str
    ) -> None:
        """What starts fits into the room and what is freed; without a start nothing has to go."""
        if room >= 0:
            board.at_most([*new, *freed], room, self.name, about)
        elif new:
            used = board.flag(("above", about))
            for _, x in new:
                board.at_most([(1, x), (-board.upper(x), used)], 0, self.name, about)
            board.at_most([*new, *freed], room, self.name, about, given=[used])

    @staticmethod
    def _new(board: "Board", types: "list[GroupType]", r: int) -> "list[Term]":
        return [
            (s.shape.row[r], board.count(s))
            for t in types
            for s in board.rolesets_of(t)
            if s.shape.row[r]
        ]

    def _dues(self, board: "Board", q: QueueName, limits: Limits, types: "list[GroupType]") -> None:
        fixed = [t for t in types if not t.sample.group.preemptable]
        named = limits.due_named(q)
        if not fixed or not named:
            return
        use = non_preemptible_use(board.scene)[q]
        for r, due in named.items():
            new = self._new(board, fixed, r)
            freed: list[Term] = [
                (-u.row[r], board.lost(u))
                for u in board.units
                if u.row[r] and not u.victim.members.group.preemptable
                and q in board.scene.tree.path(u.victim.queue)
            ]  # fmt: skip
            about = f"{q} due of {board.scene.ledger.resources[r]}"
            if new:
                self._starts_within(board, new, freed, due - use[r], about)


def _show(scene: Scene, r: int, value: int) -> str:
    from ..models.quantity import show

    return show(value, scene.ledger.resources[r])


def _bounded(scene: Scene) -> tuple[frozenset[QueueName], frozenset[QueueName]]:
    """Return the queues in which anything is bounded, and where a due bounds fixed work."""
    limits, tree = limits_of(scene), scene.tree
    limited = {q for q in tree.queues if any(most is not None for most in limits.limit[q])}
    due = {q for q in tree.queues if limits.deserved[q]}
    return (
        frozenset(q for q in tree.queues if limited.intersection(tree.path(q))),
        frozenset(q for q in tree.queues if due.intersection(tree.path(q))),
    )


def _least(scene: Scene, m: Members) -> list[int]:
    """Return per resource the least that the running members and any choice of the rest ask for."""
    running = Counter(p.role for p in m.running)
    out = [int(v) for v in scene.rows(m.running)]
    short = max(0, m.need - len(m.running))
    if not m.role_need and len({id(p.spec) for p in m.pending}) == 1:
        each = scene.row(m.pending[0])
        n = min(short, len(m.pending))
        return [v + n * int(x) for v, x in zip(out, each, strict=True)]
    for r in range(len(out)):
        left = {role: n - running[role] for role, n in m.role_need.items()}
        spare = short
        rest: list[int] = []
        for size, role in sorted((int(scene.row(p)[r]), p.role) for p in m.pending):
            if left.get(role, 0) > 0:
                left[role] -= 1
                spare -= 1
                out[r] += size
            else:
                rest.append(size)
        out[r] += sum(rest[: max(0, spare)])
    return out
