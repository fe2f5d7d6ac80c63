"""Items: the minimum of a group, or one elastic member; and the order of a leaf's items.

Readings of the contract that are fixed here:

* Members form the minimum in rank order, but running ones before those that a plan starts; what a
  running group has beyond it, also where one role has too many, is elastic.
* Nominated items count as running also for progressive filling.
* An elastic member of a broken group is an item of a broken group too: it comes before others.
* The running part of a broken group that the plan does not complete is its minimum, also where it
  is given up.
* With ``within``, the next new item is of the namespace (user) with the lowest dominant share of
  what runs in the leaf and of the new items that stand before it.
"""

from collections.abc import Collection, Iterable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby

from oracle.amount import Vec, plus
from oracle.cluster import BROKEN, Cluster

MINIMUM = -1

Name = tuple[int, int]
"""Group, and the pod of an elastic member or MINIMUM."""
Key = tuple[int, int, int, int, int, str, int, tuple[bool, int, int, str, str]]


@dataclass(frozen=True, slots=True)
class Item:
    group: int
    name: Name
    pods: tuple[int, ...]
    runs: bool
    holds: bool
    """Counts as running: it runs, or was nominated."""
    size: Vec
    asks: tuple[int, ...]
    key: Key
    """Place in the order of a leaf, but for ``within``."""


def items_of(
    c: Cluster, g: int, started: Iterable[int], gone: AbstractSet[int] = frozenset()
) -> list[Item]:
    """Return the items of the group: what runs now, but for ``gone``, and what a plan starts."""
    members = (*(i for i in c.running[g] if i not in gone), *sorted(started, key=c.rank))
    minimum = c.minimum_of(g, members)
    out = [_item(c, g, MINIMUM, minimum)] if minimum else []
    out += [_item(c, g, i, (i,)) for i in members if i not in minimum]
    return out


def _item(c: Cluster, g: int, which: int, pods: tuple[int, ...]) -> Item:
    group = c.groups[g]
    runs = any(i in c.ours for i in pods)
    holds = runs or any(i in c.nominated for i in pods)
    size = c.sum_of(c.size[i] for i in pods)
    key = (
        0 if c.state[g] == BROKEN else 1,
        -group.priority,
        0 if holds else 1,
        0 if which == MINIMUM else 1,
        group.created_s,
        group.key,
        0 if runs else 1,
        c.rank(pods[0]),
    )
    return Item(g, (g, which), pods, runs, holds, size, c.asked(size), key)


def dominant(c: Cluster, size: Vec) -> Fraction | float:
    """Return the largest share of the capacity over the resources; x/0 = ∞."""
    out: Fraction | float = Fraction(0)
    for r in range(c.slot):
        if size[r] > 0:
            whole = c.capacity[r]
            out = max(out, Fraction(size[r], whole) if whole > 0 else float("inf"))
    return out


def leaf_order(c: Cluster, leaf: int, items: Collection[Item]) -> list[Item]:
    ranked = sorted(items, key=lambda x: x.key)
    if c.within[leaf] == "groups":
        return ranked
    used: dict[str, Vec] = {}
    for x in ranked:
        if x.holds:
            owner = _owner(c, leaf, x)
            used[owner] = plus(used.get(owner, c.zero), x.size)
    out: list[Item] = []
    for _, block in groupby(ranked, key=lambda x: x.key[:4]):
        waiting = list(block)
        is_new = not waiting[0].holds and waiting[0].key[0] == 1
        while waiting:
            x = waiting[0]
            if is_new:
                x = min(
                    waiting,
                    key=lambda y: (dominant(c, used.get(_owner(c, leaf, y), c.zero)), y.key),
                )
                owner = _owner(c, leaf, x)
                used[owner] = plus(used.get(owner, c.zero), x.size)
            waiting.remove(x)
            out.append(x)
    return out


def _owner(c: Cluster, leaf: int, x: Item) -> str:
    group = c.groups[x.group]
    return group.namespace if c.within[leaf] == "namespaces" else group.user
