"""Entitlements: what queues ask for, are due and are entitled to, in exact fractions.

Section 2 of docs/design/order.md.
"""

from collections.abc import Mapping
from fractions import Fraction

from ..models import UNLIMITED, QueueName
from ..models.queue import ROOT
from .ledger import Matrix
from .limits import Limits
from .scene import Scene
from .waterfill import water_fill

Fractions = Mapping[int, Fraction]


def demand_of(
    scene: Scene, limits: Limits, columns: frozenset[int], own: Mapping[QueueName, Matrix]
) -> dict[QueueName, dict[int, Fraction]]:
    """Return what the queues ask for; ``own`` is what runs or could run of each one's own work."""
    out: dict[QueueName, dict[int, Fraction]] = {}
    for q in reversed(scene.tree.downwards):
        total = {r: Fraction(0) for r in columns}
        for child in scene.tree.children.get(q, ()):
            for r in columns:
                total[r] += out[child][r]
        for r in columns:
            total[r] += int(own[q][r])
        for r in columns:
            most = limits.limit[q][r]
            top = limits.root[r] if most is None else min(limits.root[r], most)
            total[r] = min(total[r], Fraction(max(0, top)))
        out[q] = total
    return out


def dues_of(
    scene: Scene, limits: Limits, columns: frozenset[int]
) -> dict[QueueName, dict[int, Fraction]]:
    """Return the dues; UNLIMITED where nothing bounds them."""
    out: dict[QueueName, dict[int, Fraction]] = {}
    for q in reversed(scene.tree.downwards):
        named = limits.deserved[q]
        mine: dict[int, Fraction] = {}
        for r in columns:
            if r in named:
                mine[r] = Fraction(named[r])
            elif r not in limits.named:
                mine[r] = Fraction(0)
            elif scene.tree.children.get(q):
                parts = [out[c][r] for c in scene.tree.children[q]]
                mine[r] = min(sum(parts, Fraction(0)), Fraction(UNLIMITED))
            elif scene.config.literal_deserved:
                mine[r] = Fraction(0)
            else:
                mine[r] = Fraction(UNLIMITED)
        out[q] = mine
    return out


def entitlements_of(
    scene: Scene,
    limits: Limits,
    columns: frozenset[int],
    demand: Mapping[QueueName, Fractions],
    due: Mapping[QueueName, Fractions],
) -> dict[QueueName, dict[int, Fraction]]:
    out: dict[QueueName, dict[int, Fraction]] = {q: {} for q in scene.tree.downwards}
    for parent in (ROOT, *scene.tree.downwards):
        children = scene.tree.children.get(parent, ())
        for r in columns if children else ():
            amount = Fraction(limits.root[r]) if parent == ROOT else out[parent][r]
            first = {
                q: min(max(due[q][r], Fraction(limits.guarantee[q][r])), demand[q][r])
                for q in children
            }
            rest = amount - sum(first.values(), Fraction(0))
            more = {q: Fraction(0) for q in children}
            queues = scene.tree.queues
            for level in sorted({queues[q].priority for q in children}, reverse=True):
                if rest <= 0:
                    break
                peers = [q for q in children if queues[q].priority == level]
                filled = water_fill(
                    rest, [(queues[q].weight, demand[q][r] - first[q]) for q in peers]
                )
                for q, v in zip(peers, filled, strict=True):
                    more[q] = v
                    rest -= v
            if rest > 0 and r not in limits.named:
                # Nobody has a due of it: what the others leave is open to weight 0 as well.
                last = [q for q in children if not queues[q].weight]
                filled = water_fill(rest, [(1, demand[q][r] - first[q]) for q in last])
                more |= zip(last, filled, strict=True)
            for q in children:
                out[q][r] = first[q] + more[q]
    return out
