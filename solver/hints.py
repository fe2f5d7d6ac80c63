"""A decision as values of the board's main variables; auxiliary ones are left open."""

from collections.abc import Sequence

from ..policies.board import Board
from .compile import Compiled
from .decode import Decision


def hint_of(board: Board, compiled: Compiled, decision: Decision) -> Sequence[int | None] | None:
    """Return values of main variables, None for auxiliary ones; None if the board has no place."""
    values: list[int | None] = [None] * len(board.lower)
    for var in board.main:
        values[var] = 0
    settled = {shape: set(nodes) for shape, nodes in board.parts.settled.items()}
    where: dict[int, int] = {}
    for c in board.classes:
        for i in c.nodes:
            where[i] = c.index
    shape_of = {}
    for (rs, _), pods in compiled.pods.items():
        for p in pods:
            shape_of[p.key] = board.rolesets[rs]
    for key, node in decision.places.items():
        role = shape_of.get(key)
        if role is not None and node in settled.get(role.shape.index, ()):
            count = board.count(role)
            values[count] = (values[count] or 0) + 1
            continue
        if role is None or node not in where:
            return None
        touched = [board.count(role)]
        cls = board.classes[where[node]]
        x = board.pods(role.shape, cls)
        if x is None and role.shape.pool is not None:
            x = board.pods(board.shapes[role.shape.pool], cls)
            pooled = board.pooled(role.shape)
            touched += [pooled] if pooled is not None else []
        if x is None:
            return None
        for var in (x, *touched):
            values[var] = (values[var] or 0) + 1
    for t in board.types:
        start = board.started(t)
        if start is not None:
            values[start] = sum(
                any(p.key in decision.places for r in board.rolesets_of(t)
                    for p in compiled.pods[r.index, m.key])
                for m in t.members
            )  # fmt: skip
    for u in board.units:
        values[board.lost(u)] = sum(p.key in decision.evicted for p in u.pods)
    for v in board.victims:
        # Where there is no minimum, all members leave one by one.
        m = v.members
        needs = not m.is_whole(())
        values[board.gone(v)] = int(needs and all(p.key in decision.evicted for p in m.running))
    return values
