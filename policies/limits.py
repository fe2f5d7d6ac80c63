"""Limits, dues and guarantees of every queue of the tree, one entry a column of the ledger.

Percentages of the cluster (our own configuration) are of the allocatable amounts of nodes that
take pods.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ..models import UNLIMITED, QueueName, Warned
from ..models.quantity import show
from ..models.queue import ROOT
from .columns import Flags
from .ledger import Matrix
from .outcome import use_before
from .scene import Scene

Row = tuple[int, ...]
Open = tuple[int | None, ...]
"""One entry a column; None: no limit."""


@dataclass(frozen=True)
class Limits:
    """What the queues may have, per column of the ledger."""

    root: Row
    """What there is to divide: allocatable where pods can start, less foreign pods there, plus our
    pods elsewhere."""
    capacity: Row
    """Allocatable of the nodes that take pods: what shares are measured against."""
    limit: Mapping[QueueName, Open]
    deserved: Mapping[QueueName, Mapping[int, int]]
    """Named dues; UNLIMITED is possible."""
    guarantee: Mapping[QueueName, Row]
    use: Mapping[QueueName, Row]
    """Running use before the plan."""
    named: frozenset[int]
    """Columns that some queue names in ``deserved``."""
    warnings: tuple[Warned, ...]

    def due_named(self, q: QueueName) -> Mapping[int, int]:
        """Return the finite dues that the queue itself names."""
        return {r: v for r, v in sorted(self.deserved[q].items()) if v < UNLIMITED}


def limits_of(scene: Scene) -> Limits:
    """Return the limits of the scene's queues, computed once."""
    return scene.once("limits", _limits)


def _limits(scene: Scene) -> Limits:
    ledger, tree, nodes, of = scene.ledger, scene.tree, scene.nodes, scene.columns
    width = len(ledger.resources)
    # The last place is that of nodes that the snapshot does not know.
    is_open = np.array([*(n.takes_pods for n in nodes), False], dtype=np.bool_)

    def total(rows: Matrix) -> Row:
        return tuple(int(v) for v in rows.sum(axis=0))

    def held(which: Flags) -> Row:
        return total(scene.spec_rows[of.spec[which]])

    capacity = total(scene.allocatable[is_open[:-1]])
    taken = held(of.running & ~of.ours & is_open[of.node])
    reserved = [scene.row(p) for p, i in scene.reserved if is_open[i]]
    if reserved:
        taken = tuple(a + int(b) for a, b in zip(taken, np.sum(reserved, axis=0), strict=True))
    elsewhere = held(of.running & of.ours & ~is_open[of.node])
    root = tuple(max(0, c - t + e) for c, t, e in zip(capacity, taken, elsewhere, strict=True))

    def percent(of: Mapping[str, int]) -> dict[int, int]:
        return {
            ledger.column[r]: capacity[ledger.column[r]] * p // 100
            for r, p in of.items()
            if r in ledger.column
        }

    def columns(of: Mapping[str, int]) -> dict[int, int]:
        return {ledger.column[r]: v for r, v in of.items() if r in ledger.column}

    deserved: dict[QueueName, dict[int, int]] = {}
    capability: dict[QueueName, dict[int, int]] = {}
    wish: dict[QueueName, list[int]] = {}
    for key, q in tree.queues.items():
        share = scene.config.queues.get(key)
        caps, dues, kept = columns(q.capability), columns(q.deserved), columns(q.guarantee)
        if share is not None:
            for r, v in percent(share.capability_percent).items():
                caps[r] = min(v, caps.get(r, v))
            dues |= percent(share.deserved_percent)
            kept |= percent(share.guarantee_percent)
        capability[key], deserved[key] = caps, dues
        wish[key] = [kept.get(r, 0) for r in range(width)]

    limit: dict[QueueName, Open] = {}
    guarantee: dict[QueueName, Row] = {}
    warnings: list[Warned] = []
    # Without guarantees the cluster itself is the limit, and nodes know that better.
    real = tuple(v if any(w[r] for w in wish.values()) else None for r, v in enumerate(root))
    _children(scene, ROOT, root, real, capability, wish, limit, guarantee, warnings)
    use = use_before(scene)
    return Limits(
        root, capacity, limit, deserved, guarantee,
        {q: tuple(int(v) for v in row) for q, row in use.items()},
        frozenset(r for d in deserved.values() for r in d),
        tuple(warnings),
    )  # fmt: skip


def _children(
    scene: Scene,
    parent: QueueName,
    amount: Row,
    real: Open,
    capability: Mapping[QueueName, Mapping[int, int]],
    wish: Mapping[QueueName, list[int]],
    limit: dict[QueueName, Open],
    guarantee: dict[QueueName, Row],
    warnings: list[Warned],
) -> None:
    """Fill limits and guarantees below the parent, whose own real limit is ``real``."""
    children = scene.tree.children.get(parent, ())
    if not children:
        return
    width = len(amount)
    kept = {q: list(wish[q]) for q in children}
    for r in range(width):
        total, most = sum(kept[q][r] for q in children), amount[r]
        if total > most:
            for q in children:
                kept[q][r] = kept[q][r] * most // total
            name = scene.ledger.resources[r]
            under = "the cluster" if parent == ROOT else f"queue {parent}"
            warnings.append(
                Warned(
                    f"Queue {', '.join(q for q in children if wish[q][r])}",
                    f"spec.guarantee.resource[{name}]",
                    f"the guarantees add up to {show(total, name)} where {under} has "
                    f"{show(most, name)}; each is scaled down to {most * 100 // total}%: "
                    "lower the guarantees",
                )
            )
    for q in children:
        guarantee[q] = tuple(kept[q])
        mine: list[int | None] = []
        for r in range(width):
            top = real[r]
            if top is not None:
                top = max(top - sum(kept[c][r] for c in children), 0) + kept[q][r]
            cap = capability[q].get(r)
            if cap is not None and cap >= UNLIMITED:
                cap = None
            caps = [v for v in (top, cap) if v is not None]
            mine.append(min(caps) if caps else None)
        limit[q] = tuple(mine)
        inner = tuple(amount[r] if v is None else min(amount[r], v) for r, v in enumerate(mine))
        _children(scene, q, inner, limit[q], capability, wish, limit, guarantee, warnings)
