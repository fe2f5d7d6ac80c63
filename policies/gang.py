"""Gang: a group runs with its minimum, in total, per role and of some parts, or not at all."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..models import Choice, GroupKey, Pod, Reason, Violation
from .evictable import given_up
from .members import Members, Standing
from .outcome import Outcome

if TYPE_CHECKING:
    from .board import Board, GroupType, Term, Var


@dataclass(frozen=True, slots=True)
class Gang:
    """Σ pods of a group ≥ minimum · started, per role likewise, and 0 where it does not start.

    Where some of many parts are needed: Σ [part has its minimum] ≥ least · started.
    Members that have succeeded count towards the minimum. A broken group is completed, or, once
    its grace is over, given up: all its pods are evicted.
    """

    name: str = "gang"

    def hold(self, outcome: Outcome, group: str) -> Iterable[Reason]:
        m = outcome.scene.roster[GroupKey(group)]
        yield from m.group.hold
        if m.standing is Standing.WHOLE or not m.missing:
            return
        for role, n in m.role_need.items():
            have = sum(p.role == role for p in (*m.running, *m.pending))
            if have < n:
                yield self._short(m, f"role {role}", have, n, sum(p.role == role for p in m.gated))
                return
        there = Counter(p.role for p in (*m.running, *m.pending))
        for c in m.choices:
            if not c.is_met(there):
                able = [r for r, n in c.all_roles() if there[r] >= n]
                yield Reason(
                    self.name, f"group {m.key}",
                    f"needs {c}; there are enough members for {', '.join(able) or 'none'}",
                )  # fmt: skip
                return
        have = len(m.running) + len(m.pending)
        if have < m.need:
            yield self._short(m, "group", have, m.need, len(m.gated))

    def _short(self, m: Members, what: str, have: int, need: int, gated: int) -> Reason:
        gates = sorted({g for p in m.gated for g in p.gates})
        wait = f"; {gated} more wait for scheduling gates: {', '.join(gates)}" if gated else ""
        return Reason(
            self.name, f"{what} {m.key}" if what == "group" else f"{what} of {m.key}",
            f"only {have}/{need} members exist that can be scheduled{wait}",
        )  # fmt: skip

    def check(self, outcome: Outcome) -> Iterable[Violation]:
        for key in sorted({*outcome.started, *outcome.losses}):
            m = outcome.scene.roster[key]
            new = outcome.started.get(key, ())
            lost = outcome.losses.get(key, ())
            after = outcome.after(key)
            if new and (m.group.hold or not m.is_whole(after)):
                yield Violation(self.name, f"group {key}", self._short_of(m, after))
            if new and lost:
                yield Violation(self.name, f"group {key}", "starts pods and loses pods at once")
            if lost and not new and after and not m.is_whole(after):
                yield Violation(
                    self.name, f"group {key}", f"would be left broken: {self._short_of(m, after)}"
                )
            for p in new:
                if p.state != "pending":
                    yield Violation(self.name, f"pod {p.key}", f"is {p.state}, not pending")
        for m in outcome.scene.roster.broken:
            stays = m.key not in outcome.started and outcome.kept(m.key)
            if given_up(outcome.scene, m) and stays:
                yield Violation(
                    self.name, f"group {m.key}",
                    "is broken, past its grace, and neither completed nor given up",
                )  # fmt: skip

    @staticmethod
    def _short_of(m: Members, after: Iterable[Pod]) -> str:
        if m.group.hold:
            return m.group.hold[0].message
        roles = Counter(p.role for p in after)
        for r, n in m.role_need.items():
            if roles[r] < n:
                return f"{roles[r]} of at least {n} of role {r} would run"
        for c in m.choices:
            if not c.is_met(roles):
                said = ", ".join(f"{roles[r]} of role {r}" for r, _ in c.all_roles())
                return f"{said} would run, of which it needs {c}"
        return f"{sum(roles.values())} of at least {m.need} would run"

    def constrain(self, board: "Board") -> None:
        for t in board.types:
            self._start(board, t)
        for v in board.victims:
            self._leave(board, v.index)

    def _start(self, board: "Board", t: "GroupType") -> None:
        m = t.sample
        start = board.started(t)
        sets = board.rolesets_of(t)
        if start is None:
            return
        running = Counter(p.role for p in m.running)
        for r in sets:
            board.at_most(
                [(1, board.count(r)), (-r.limit, start)], 0, self.name, f"{t.label} {r.role}"
            )
        need = max(0, m.need - len(m.running))
        board.at_most([(need, start), *((-1, board.count(r)) for r in sets)], 0, self.name, t.label)
        for role, n in m.role_need.items():
            board.at_most(
                [
                    (max(0, n - running[role]), start),
                    *((-1, board.count(r)) for r in sets if r.role == role),
                ],
                0, self.name, f"{t.label} {role}",
            )  # fmt: skip
        started: dict[str, list[Term]] = {}
        for r in sets:
            started.setdefault(r.role, []).append((1, board.count(r)))
        for i, c in enumerate(m.choices):
            met = self._met(board, c, ("starts", t.index, i), running, started, t.label)
            board.at_most([(1, start), (-1, met)], 0, self.name, t.label)

    def _met(
        self, board: "Board", choice: Choice, name: tuple[object, ...],
        running: Mapping[str, int], more: "Mapping[str, list[Term]]", label: str,
    ) -> "Var":  # fmt: skip
        """Return a variable that is 1 only where enough parts of the choice have their minimum.

        ``running``: members by role; ``more``: what the plan adds to them.
        """
        parts: list[Var] = []
        for role, n in choice.roles.items():
            part = board.flag((*name, role))
            adds = more.get(role, [])
            board.at_most(
                [(n, part), *((-c, v) for c, v in adds)], running.get(role, 0), self.name, label
            )
            parts.append(part)
        for i, inner in enumerate(choice.choices):
            parts.append(self._met(board, inner, (*name, i), running, more, label))
        met = board.flag(name)
        board.at_most([(choice.least, met), *((-1, p) for p in parts)], 0, self.name, label)
        return met

    def _leave(self, board: "Board", index: int) -> None:
        v = board.victims[index]
        units = board.units_of(v)
        gone = board.gone(v)
        label = f"group {v.members.key}"
        if not v.whole:
            board.at_most([(1, gone)], 0, self.name, label)
        for u in units:
            n = len(u.pods)
            board.at_most([(n, gone), (-1, board.lost(u))], 0, self.name, label)
        lost = [(1, board.lost(u)) for u in units]
        total = sum(len(u.pods) for u in units)
        board.at_most([*lost, (-total, gone)], v.surplus, self.name, label)
        running = Counter(p.role for p in v.members.running)
        for role, n in v.members.role_need.items():
            mine = [(1, board.lost(u)) for u in units if u.sample.role == role]
            spare = max(0, running[role] - n) if v.surplus else 0
            board.at_most([*mine, (-total, gone)], spare, self.name, f"{label} {role}")
        leaves: dict[str, list[Term]] = {}
        for u in units:
            leaves.setdefault(u.sample.role, []).append((-1, board.lost(u)))
        for i, c in enumerate(v.members.choices if v.surplus else ()):
            met = self._met(board, c, ("stays", index, i), running, leaves, label)
            board.at_most([(-1, gone), (-1, met)], -1, self.name, label)
        own = [t for t in board.types if any(m.key == v.members.key for m in t.members)]
        for t in own:
            self._either(board, t, index)
        if v.given_up and not any(board.started(t) is not None for t in own):
            board.at_most([(-1, gone)], -1, self.name, label)

    def _either(self, board: "Board", t: "GroupType", index: int) -> None:
        """A group does not start pods and lose pods at once; a broken one is completed or goes."""
        v = board.victims[index]
        gone, start = board.gone(v), board.started(t)
        label = f"group {v.members.key}"
        for r in board.rolesets_of(t):
            grows = board.flag(("grows", t.index))
            board.at_most(
                [(1, board.count(r)), (-board.upper(board.count(r)), grows)], 0, self.name, label
            )
            for u in board.units_of(v):
                board.at_most(
                    [(1, board.lost(u)), (len(u.pods), grows)], len(u.pods), self.name, label
                )
        if start is not None:
            board.at_most([(1, start), (1, gone)], 1, self.name, label)
            if v.given_up:
                board.at_most([(-1, start), (-1, gone)], -1, self.name, label)
