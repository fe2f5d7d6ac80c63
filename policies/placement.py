"""Placement goals, after everything that decides what runs: waiting, seniority, order, packing.

* waiting: started pods that need room of terminating or evicted pods (min);
* seniority: Σ age ranks of the groups that start (min), so that of equals the older starts;
* member order: Σ ranks of elastic members that start (min), so that higher task priority is first;
* binpack: nodes taken into use (min); spread: the fullest node's use in permille (min);
  fragmentation: nodes that could still take the largest pod that waits or runs (max);
* stability: pods that go where the cycle before promised (max).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from ..models import GroupKey, PodKey
from .fairness import missing_of
from .items import nominated_pods
from .ledger import Matrix
from .members import Members
from .outcome import Outcome
from .scene import Scene

if TYPE_CHECKING:
    from .board import Board, Term

Sense = Literal["max", "min"]


def age_ranks(scene: Scene) -> Mapping[GroupKey, int]:
    """Return a group's place by age among all that wait, the oldest 0."""
    return scene.once("age ranks", _age_ranks)


def _age_ranks(scene: Scene) -> Mapping[GroupKey, int]:
    waiting = [m for m in scene.roster.waiting if m.first]
    waiting.sort(key=lambda m: (m.group.created_s, m.key))
    return {m.key: i for i, m in enumerate(waiting)}


@dataclass(frozen=True, slots=True)
class Seniority:
    """Σ age ranks of groups that start: of equal sets of work the older starts."""

    name: str = "seniority"
    unit: str = "ranks"
    sense: Sense = "min"

    def cost(self, board: "Board") -> "Iterable[Term]":
        ranks = age_ranks(board.scene)
        out: list[Term] = []
        for t in board.types:
            start = board.started(t)
            if start is None:
                continue
            mine = [ranks.get(m.key, 0) for m in t.members]
            if len(mine) == 1:
                out.append((mine[0], start))
                continue
            # Groups of a type start oldest first, as is cheapest.
            steps = [board.flag(("starts as", t.index, i)) for i in range(len(mine))]
            board.equal([(1, start), *((-1, s) for s in steps)], 0, self.name, t.label)
            out += zip(mine, steps, strict=True)
        return out

    def measure(self, outcome: Outcome) -> int:
        ranks = age_ranks(outcome.scene)
        return sum(ranks.get(g, 0) for g in outcome.started)


@dataclass(frozen=True, slots=True)
class MemberOrder:
    """Σ ranks of started members among the pending of their group."""

    name: str = "member order"
    unit: str = "ranks"
    sense: Sense = "min"

    def cost(self, board: "Board") -> "Iterable[Term]":
        out: list[Term] = []
        for t in board.types:
            ranks = ranks_among(board.scene, t.sample)
            for r in board.rolesets_of(t) if ranks else ():
                rank = next(ranks[p.key] for p in t.sample.pending if p.key in r.pods)
                out.append((rank, board.count(r)))
        return out

    def measure(self, outcome: Outcome) -> int:
        total = 0
        for key, pods in outcome.started.items():
            ranks = ranks_among(outcome.scene, outcome.scene.roster[key])
            total += sum(ranks.get(p.key, 0) for p in pods)
        return total


def ranks_among(scene: Scene, m: Members) -> Mapping[PodKey, int]:
    """Return the mean rank of the pods like each pending one; {} where there is no choice."""
    if len(m.pending) <= missing_of(m):
        return {}
    promised = nominated_pods(scene)
    kinds: dict[object, list[int]] = {}
    for i, p in enumerate(m.pending):
        kinds.setdefault((p.role, p.spec, p.key in promised), []).append(i)
    if len(kinds) < 2:
        return {}
    return {m.pending[i].key: sum(of) // len(of) for of in kinds.values() for i in of}


@dataclass(frozen=True, slots=True)
class Waiting:
    """Nodes on which started pods have to wait for terminating pods to go."""

    name: str = "waiting"
    unit: str = "nodes"
    sense: Sense = "min"

    def cost(self, board: "Board") -> "Iterable[Term]":
        scene = board.scene
        out: list[Term] = []
        for cls in board.classes:
            i = cls.nodes[0]
            short = [int(v) for v in scene.room_later[i] - scene.room_now[i]]
            if cls.size > 1 or not any(short) or not board.on(cls):
                continue
            wait = board.flag(("waits", cls.index))
            for r, v in enumerate(short):
                terms = [(s.row[r], x) for s, x in board.on(cls) if s.row[r]]
                if v and terms:
                    now = max(0, int(scene.room_now[i][r]))
                    most = sum(c * board.upper(x) for c, x in terms)
                    board.at_most([*terms, (-most, wait)], now, self.name, f"{cls.label} waits")
            out.append((1, wait))
        return out

    def measure(self, outcome: Outcome) -> int:
        scene = outcome.scene
        if not scene.columns.terminating.any():
            return 0
        use: dict[int, Matrix] = {}
        for p, i in outcome.new_pods:
            use[i] = use[i] + scene.row(p) if i in use else scene.row(p)
        n = 0
        for i, row in use.items():
            short = scene.room_later[i] - scene.room_now[i]
            now = np.maximum(scene.room_now[i], 0)
            n += bool(((row > now) & (short > 0)).any())
        return n


@dataclass(frozen=True, slots=True)
class Binpack:
    """Empty nodes that the plan takes into use."""

    name: str = "binpack"
    unit: str = "nodes"
    sense: Sense = "min"

    def cost(self, board: "Board") -> "Iterable[Term]":
        busy = {i for _, i in board.world.present}
        out: list[Term] = []
        for cls in board.classes:
            if cls.nodes[0] in busy or not board.on(cls):
                continue
            used = board.integer(0, cls.size, ("in use", cls.index)).var
            for s, x in board.on(cls):
                each = min(cls.room[r] // v for r, v in enumerate(s.row) if v)
                board.at_most([(1, x), (-each, used)], 0, self.name, f"{s.label} {cls.label}")
            for r, room in enumerate(cls.room):
                terms = [(s.row[r], x) for s, x in board.on(cls) if s.row[r]]
                board.at_most([*terms, (-max(0, room), used)], 0, self.name, f"{cls.label} {r}")
            out.append((1, used))
        return out

    def measure(self, outcome: Outcome) -> int:
        busy = {i for _, i in outcome.scene.staying}
        return len({i for _, i in outcome.new_pods} - busy)


@dataclass(frozen=True, slots=True)
class Spread:
    """The use of the fullest node that takes pods, in permille of its scarcest resource."""

    name: str = "spread"
    unit: str = "permille"
    sense: Sense = "min"

    def cost(self, board: "Board") -> "Iterable[Term]":
        scene = board.scene
        peak = board.integer(0, 1000, "peak").var
        for cls in board.classes:
            for r, room in enumerate(cls.room):
                whole = int(scene.allocatable[cls.nodes[0]][r])
                terms = [(s.row[r] * 1000, x) for s, x in board.on(cls) if s.row[r]]
                if terms and whole > 0:
                    here = [(-1000 * u.row[r], board.lost(u)) for u in board.units_on(cls)]
                    used = board.flag(("spread takes", cls.index, r))
                    for _, x in terms:
                        board.at_most([(1, x), (-board.upper(x), used)], 0, self.name, cls.label)
                    board.at_most(
                        [*terms, *here, (-whole * cls.size, peak)],
                        -1000 * (whole - room) * cls.size, self.name, cls.label, given=[used],
                    )  # fmt: skip
        return [(1, peak)]

    def measure(self, outcome: Outcome) -> int:
        scene = outcome.scene
        asked: dict[int, set[int]] = {}
        for p, i in outcome.new_pods:
            asked.setdefault(i, set()).update(int(r) for r in np.flatnonzero(scene.row(p)))
        peak = 0
        for i, columns in asked.items():
            for r in columns:
                whole = int(scene.allocatable[i][r])
                if whole > 0:
                    peak = max(peak, -(-1000 * (whole - int(outcome.room[i][r])) // whole))
        return peak


@dataclass(frozen=True, slots=True)
class LargeHoles:
    """Nodes that can still take one more of the largest pod that waits or runs."""

    name: str = "fragmentation"
    unit: str = "nodes"
    sense: Sense = "max"

    @staticmethod
    def largest(scene: Scene) -> tuple[int, ...]:
        """Return the row of the pod with the largest dominant share of a node."""
        best: tuple[float, tuple[int, ...]] = (0.0, ())
        if not scene.nodes:
            return ()
        top, slots = scene.allocatable.max(axis=0), scene.ledger.column["pods"]
        for p in {id(p.spec): p for p in scene.snapshot.pods if p.ours}.values():
            row = tuple(int(v) for v in scene.row(p))
            share = max((v / t for v, t in zip(row, top, strict=True) if t and v), default=0.0)
            # Several slots: it stands for several pods, none of which is so large.
            if share <= 1 and row[slots] == 1:
                best = max(best, (share, row))
        return best[1]

    def cost(self, board: "Board") -> "Iterable[Term]":
        row = self.largest(board.scene)
        out: list[Term] = []
        for cls in board.classes:
            units = board.units_on(cls)
            spare = [
                room + sum(u.row[r] * len(u.pods) for u in units) for r, room in enumerate(cls.room)
            ]
            if not row or any(v > spare[r] for r, v in enumerate(row) if v):
                continue
            holes = board.integer(0, cls.size, ("holes", cls.index)).var
            for r, v in enumerate(row):
                if not v:
                    continue
                terms = [(s.row[r], x) for s, x in board.on(cls) if s.row[r]]
                if cls.size > 1:
                    # Nothing runs there that could leave; the room of the nodes is pooled.
                    most = cls.room[r] * cls.size
                    board.at_most([*terms, (v, holes)], most, self.name, cls.label)
                else:
                    freed = [(-u.row[r], board.lost(u)) for u in units if u.row[r]]
                    board.at_most(
                        [*terms, *freed], cls.room[r] - v, self.name, cls.label, given=[holes]
                    )
            out.append((1, holes))
        untouched = [i for i in range(len(board.scene.nodes)) if board.class_of(i) is None]
        if row and (stay := self._holes(board.scene.room_later[untouched], row)):
            out.append((stay, board.integer(1, 1, "holes that stay").var))
        return out

    def measure(self, outcome: Outcome) -> int:
        row = self.largest(outcome.scene)
        return self._holes(outcome.room, row) if row else 0

    @staticmethod
    def _holes(room: Matrix, row: Sequence[int]) -> int:
        """Count the rows of room that hold the pod."""
        need = np.array(row, dtype=room.dtype)
        asked = np.flatnonzero(need)
        return int((room[:, asked] >= need[asked]).all(axis=1).sum())


@dataclass(frozen=True, slots=True)
class Stability:
    """Pods that go where the cycle before promised."""

    name: str = "stability"
    unit: str = "pods"
    sense: Sense = "max"

    def cost(self, board: "Board") -> "Iterable[Term]":
        scene = board.scene
        promised: dict[tuple[object, int], int] = {}
        for key, node in scene.snapshot.nominations:
            p = scene.pods.get(key)
            if p is not None and node in scene.index:
                at = (p.spec, scene.index[node])
                promised[at] = promised.get(at, 0) + 1
        out: list[Term] = []
        for s in board.shapes:
            for cls, x in board.cells(s):
                n = sum(promised.get((s.sample.spec, i), 0) for i in cls.nodes)
                if n:
                    kept = board.integer(0, n, ("kept", s.index, cls.index)).var
                    board.at_most([(1, kept), (-1, x)], 0, self.name, f"{s.label} {cls.label}")
                    out.append((1, kept))
        return out

    def measure(self, outcome: Outcome) -> int:
        return sum(outcome.places.get(k) == n for k, n in outcome.scene.snapshot.nominations)
