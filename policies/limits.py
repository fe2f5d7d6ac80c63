"""Limits, dues and guarantees of every queue of the tree, one entry a column of the ledger.

Percentages of the cluster (our own configuration) are of the allocatable amounts of nodes that
take pods.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from ..models import UNLIMITED, PodState, QueueName, Warned
from ..models.quantity import show
from ..models.queue import ROOT
from .ledger import Matrix
from .outcome import running
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


_MEMO: WeakKeyDictionary[Scene, Limits] = WeakKeyDictionary()


def limits_of(scene: Scene) -> Limits:
    """Return the limits of the scene's queues, computed once."""
    if scene not in _MEMO:
        _MEMO[scene] = _limits(scene)
    return _MEMO[scene]


def _sum(rows: list[Matrix], width: int) -> Row:
    return tuple(int(sum(int(r[i]) for r in rows)) for i in range(width))


def _limits(scene: Scene) -> Limits:
    ledger, tree, nodes = scene.ledger, scene.tree, scene.nodes
    width = len(ledger.resources)
    open_nodes = [i for i, n in enumerate(nodes) if n.takes_pods]
    capacity = _sum([scene.allocatable[i] for i in open_nodes], width)
    taken = [
        scene.row(p)
        for p, i in scene.holders
        if not p.ours and p.state is not PodState.TERMINATING and nodes[i].takes_pods
    ]
    taken += [scene.row(p) for p, i in scene.reserved if nodes[i].takes_pods]
    elsewhere = [
        scene.row(p)
        for p in running(scene)
        if p.node not in scene.index or not nodes[scene.index[p.node]].takes_pods
    ]
    root = tuple(
        max(0, c - t + e)
        for c, t, e in zip(capacity, _sum(taken, width), _sum(elsewhere, width), strict=True)
    )

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
    use = {q: [0] * width for q in tree.queues}
    for p in running(scene):
        if p.group is None:
            continue
        row = scene.row(p)
        for name in tree.path(scene.snapshot.group(p.group).queue):
            use[name] = [a + int(b) for a, b in zip(use[name], row, strict=True)]
    return Limits(
        root, capacity, limit, deserved, guarantee,
        {q: tuple(v) for q, v in use.items()},
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
