"""Which rows of a plan say something: queues as a tree, and tiers."""

from collections.abc import Sequence

from ...models import QueueRow, TierRow


def telling_rows(rows: Sequence[QueueRow]) -> list[tuple[int, QueueRow]]:
    """Return the rows with their depth, without the default queue where nobody uses it."""
    return [(depth, row) for depth, row in _tree(rows) if _says_something(row, rows)]


def resource_rank(resource: str) -> tuple[int, str]:
    """Return a key by which devices come before CPU, and CPU before memory."""
    order = {"cpu": 1, "memory": 2}
    return (0 if "/" in resource else order.get(resource, 3), resource)


def _says_something(row: QueueRow, rows: Sequence[QueueRow]) -> bool:
    """Leave out the default queue where nobody uses it and there are others."""
    return len(rows) == 1 or row.name != "default" or bool(row.allocated or row.deserved)


def _tree(rows: Sequence[QueueRow]) -> list[tuple[int, QueueRow]]:
    names = {r.name for r in rows}
    below: dict[str | None, list[QueueRow]] = {}
    for r in rows:
        below.setdefault(r.parent if r.parent in names else None, []).append(r)
    out: list[tuple[int, QueueRow]] = []
    stack = [(0, r) for r in reversed(below.get(None, []))]
    while stack:
        depth, row = stack.pop()
        out.append((depth, row))
        stack += [(depth + 1, r) for r in reversed(below.get(row.name, []))]
    return out


def matters(t: TierRow) -> bool:
    """Say whether a tier has anything to tell."""
    if t.bound is None:
        return t.value != 0 or t.sense == "max"
    return t.value != 0 or t.bound != 0
