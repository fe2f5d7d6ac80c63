"""From counts back to pods: which groups start, which pods go where, which leave."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ..models import GroupKey, NodeName, Pod, PodKey
from ..policies.board import Board, NodeClass, RoleSet
from ..policies.ledger import Matrix
from ..policies.levels import Levels
from ..policies.members import Members
from ..policies.outcome import Outcome
from ..policies.scene import Scene
from .compile import Compiled


@dataclass(frozen=True)
class Decision:
    """Pods and where they start (node index), and pods that are evicted."""

    places: Mapping[PodKey, int]
    evicted: frozenset[PodKey]
    judged: Outcome | None = field(default=None, compare=False, repr=False)
    """The same decision as somebody has judged it already, with all that was found out then."""


def outcome_of(scene: Scene, decision: Decision, levels: Levels) -> Outcome:
    """Return what the rules judge of a decision: as somebody has judged it, or afresh."""
    if decision.judged is not None and decision.judged.levels is levels:
        return decision.judged
    places = {k: NodeName(scene.nodes[i].name) for k, i in decision.places.items()}
    outcome = Outcome(scene, places, decision.evicted, bound=())
    outcome.levels = levels
    return outcome


def decode(board: Board, compiled: Compiled, values: Sequence[int]) -> Decision:
    """Turn a solution into pods and nodes; pods that cannot be spread over a class are left out."""
    chosen = _chosen_pods(board, compiled, values)
    places = _spread(board, values, chosen)
    evicted: set[PodKey] = set()
    for u in board.units:
        evicted |= {p.key for p in u.pods[: values[board.lost(u)]]}
    for v in board.victims:
        if values[board.gone(v)]:
            evicted |= {p.key for p in v.members.running}
    return Decision(places, frozenset(evicted))


def _chosen_pods(board: Board, compiled: Compiled, values: Sequence[int]) -> dict[int, list[Pod]]:
    """Return the pods that start, by shape, group after group."""
    out: dict[int, list[Pod]] = {s.index: [] for s in board.shapes}
    for t in board.types:
        start = board.started(t)
        k = len(t.members) if start is None else values[start]
        sets = board.rolesets_of(t)
        left = {r.index: values[board.count(r)] for r in sets}
        members = t.members[:k]
        taken: dict[tuple[int, GroupKey], int] = {}
        for m in members:
            _minimum(m, sets, left, taken, k)
        for m in members:
            for r in sets:
                have = taken.get((r.index, m.key), 0)
                more = min(left[r.index], r.limit - have)
                taken[r.index, m.key] = have + more
                left[r.index] -= more
        for m in members:
            for r in sets:
                n = taken.get((r.index, m.key), 0)
                out[r.shape.index].extend(compiled.pods[r.index, m.key][:n])
    return out


def _minimum(
    m: Members,
    sets: Sequence[RoleSet],
    left: dict[int, int],
    taken: dict[tuple[int, GroupKey], int],
    k: int,
) -> None:
    """Give a group its roles' needs, then the rest of its minimum."""
    running: dict[str, int] = {}
    for p in m.running:
        running[p.role] = running.get(p.role, 0) + 1

    def take(r: RoleSet, most: int) -> int:
        have = taken.get((r.index, m.key), 0)
        n = max(0, min(most, left[r.index], r.limit - have))
        taken[r.index, m.key] = have + n
        left[r.index] -= n
        return n

    total = 0
    for role, need in m.role_need.items():
        missing = need - running.get(role, 0)
        for r in sets:
            if r.role == role and missing > 0:
                got = take(r, missing)
                missing -= got
                total += got
    missing = max(0, m.need - len(m.running)) - total
    for r in sorted(sets, key=lambda r: -left[r.index]):
        if missing > 0:
            missing -= take(r, missing)


def _spread(
    board: Board, values: Sequence[int], chosen: Mapping[int, Sequence[Pod]]
) -> dict[PodKey, int]:
    places: dict[PodKey, int] = {}
    queues = {s: list(pods) for s, pods in chosen.items()}
    lost: dict[int, list[int]] = {}
    for u in board.units:
        n = values[board.lost(u)]
        if n and u.node >= 0:
            row = lost.setdefault(u.node, [0] * len(u.row))
            lost[u.node] = [a + n * b for a, b in zip(row, u.row, strict=True)]
    slots: dict[int, list[int]] = {s: list(board.parts.settled.get(s, ())) for s in chosen}
    for cls in board.classes:
        counts = {s.index: values[x] for s, x in board.on(cls) if values[x]}
        if not counts:
            continue
        if cls.size == 1:
            for s, n in counts.items():
                slots[s] += [cls.nodes[0]] * n
        else:
            for s, node in _over_class(board, cls, counts):
                slots[s].append(node)
    for shape in board.shapes:
        pooled = board.pooled(shape)
        n = values[pooled] if pooled is not None else 0
        if n and shape.pool is not None:
            # Those that go where claimants do not matter are placed with all like them.
            own = len(queues[shape.index]) - n
            queues[shape.pool] += queues[shape.index][own:]
            del queues[shape.index][own:]
    for s, nodes in slots.items():
        _assign(board, queues[s], nodes, places)
    return places


def _over_class(board: Board, cls: NodeClass, counts: Mapping[int, int]) -> list[tuple[int, int]]:
    """Spread a class's counts over its nodes: large shapes first, each to the best aligned node."""
    room: Matrix = np.array([cls.room] * cls.size, dtype=board.scene.ledger.dtype)
    scale = np.maximum(np.array(cls.room, dtype=float), 1.0)
    rows = {s: np.array(board.shapes[s].row, dtype=room.dtype) for s in counts}
    order = sorted(counts, key=lambda s: -float((rows[s] / scale).max()))
    out: list[tuple[int, int]] = []
    for s in order:
        row = rows[s]
        asked = np.flatnonzero(row)
        for _ in range(counts[s]):
            fits = (room[:, asked] >= row[asked]).all(axis=1)
            if not fits.any():
                break
            left = ((room - row).astype(float) / scale).sum(axis=1)
            left[~fits] = np.inf
            i = int(np.argmin(left))
            room[i] = room[i] - row
            out.append((s, cls.nodes[i]))
    return out


def _assign(board: Board, pods: list[Pod], nodes: list[int], places: dict[PodKey, int]) -> None:
    """Give the shape's pods their nodes: promised places first, the rest in order."""
    index = board.scene.index
    waiting: list[Pod] = []
    open_nodes = sorted(nodes)
    for p in pods:
        wish = index.get(p.nominated or "", -1)
        if wish in open_nodes:
            open_nodes.remove(wish)
            places[p.key] = wish
        else:
            waiting.append(p)
    for p, i in zip(waiting, open_nodes, strict=False):
        places[p.key] = i
