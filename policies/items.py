"""Items: into what a group's work falls, and the order of a leaf's items.

A minimum or one elastic member is wholly in or wholly out (docs/design/order.md, sections 1 and 3).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal

from ..models import Group, GroupKey, Pod, PodKey, QueueName
from .limits import limits_of
from .members import Members, Standing
from .scene import Scene

Kind = Literal["minimum", "elastic"]


@dataclass(frozen=True, slots=True)
class Item:
    """What is wholly in or wholly out of an entitlement: a minimum, or one elastic member."""

    group: Group
    kind: Kind
    pods: tuple[Pod, ...]
    new: bool
    broken: bool
    position: int = 0
    """Rank among the group's elastic members."""
    leaf: tuple[object, ...] = field(init=False, repr=False, compare=False)
    """Its place in the leaf order where turns do not count."""

    def __post_init__(self) -> None:
        g = self.group
        object.__setattr__(
            self,
            "leaf",
            (
                not self.broken, -g.priority, self.new, self.kind == "elastic", 0,
                g.created_s, g.key, self.position,
            ),
        )  # fmt: skip

    @property
    def id(self) -> tuple[GroupKey, Kind, int]:
        return (self.group.key, self.kind, self.position)


def nominated_pods(scene: Scene) -> frozenset[PodKey]:
    """Return the pods that the cycle before promised a place: their items rank as if running."""
    return scene.once("nominated", lambda s: frozenset(k for k, _ in s.snapshot.nominations))


AS_IT_IS = -1
"""Position of a broken group's minimum that is not completed."""


def items_of(scene: Scene, m: Members, pending: Sequence[Pod]) -> list[Item]:
    """Return the group's items if these pending pods start: its minimum, and elastic members."""
    promised = nominated_pods(scene)
    g = m.group
    broken = m.standing is Standing.BROKEN

    def item(kind: Kind, pods: Sequence[Pod], new: bool, position: int = 0) -> Item:
        fresh = new and not any(p.key in promised for p in pods)
        return Item(g, kind, tuple(pods), fresh, broken, position)

    out: list[Item] = []
    if m.standing is Standing.NEW:
        first, elastic = m.split(pending)
        out.append(item("minimum", first, True))
        out += [item("elastic", (p,), True, i) for i, p in enumerate(elastic)]
        return [i for i in out if i.pods]
    if m.standing is Standing.BROKEN:
        first, elastic = m.split([*m.running, *pending])
        whole = m.is_whole(first)
        out.append(item("minimum", first, False, 0 if whole else AS_IT_IS))
        out += [item("elastic", (p,), True, i) for i, p in enumerate(elastic)]
        return out
    first, surplus = m.split(m.running)
    if first:
        out.append(item("minimum", first, False))
    out += [item("elastic", (p,), False, i) for i, p in enumerate(surplus)]
    at = len(surplus)
    out += [item("elastic", (p,), True, at + i) for i, p in enumerate(pending)]
    return out


def ids_of(m: Members, pending: Sequence[Pod]) -> list[tuple[GroupKey, Kind, int]]:
    """Return the ids of what :func:`items_of` returns."""
    if m.standing is Standing.WHOLE:
        first, elastic = m.split(m.running)
        number, position = len(elastic) + len(pending), 0
    else:
        first, elastic = m.split([*m.running, *pending])
        number = len(elastic)
        position = AS_IT_IS if m.standing is Standing.BROKEN and not m.is_whole(first) else 0
    out: list[tuple[GroupKey, Kind, int]] = []
    if first or m.standing is Standing.BROKEN:
        out.append((m.key, "minimum", position))
    out.extend((m.key, "elastic", i) for i in range(number))
    return out


def resting_items(scene: Scene, m: Members) -> Sequence[Item]:
    """Return the group's items as it runs now; made once."""
    promised = scene.snapshot.nominations
    if promised and not nominated_pods(scene).isdisjoint(p.key for p in m.running):
        return items_of(scene, m, ())
    known: Sequence[Item] | None = m.memo.get("resting")
    if known is None:
        known = m.memo["resting"] = items_of(scene, m, ())
    return known


def leaf_key(item: Item, turn: int = 0) -> tuple[object, ...]:
    """The leaf order; ``turn`` is the place in progressive filling over namespaces or users."""
    if not turn or not item.new:
        return item.leaf
    first, last = item.leaf[:4], item.leaf[5:]
    return (*first, turn, *last)


def party_of(scene: Scene, group: Group) -> str | None:
    """Return the namespace or user that shares the group's queue; None where groups do."""
    share = scene.config.queues.get(group.queue)
    if share is None or share.within == "groups":
        return None
    return group.namespace if share.within == "namespaces" else group.user


def turns_of(scene: Scene, q: QueueName, items: Sequence[Item]) -> list[int]:
    """Progressive filling inside a queue over namespaces or users, where configured."""
    if party_of(scene, items[0].group) is None if items else True:
        return [0] * len(items)

    def party(i: Item) -> str:
        return party_of(scene, i.group) or ""

    capacity = limits_of(scene).capacity

    use: dict[str, list[int]] = {}
    width = len(capacity)

    def share_of(row: Sequence[int]) -> Fraction:
        parts = [
            Fraction(row[r], capacity[r])
            for r in range(width)
            if capacity[r] and r not in scene.ledger.uncounted
        ]
        return max(parts, default=Fraction(0))

    def take(i: Item) -> None:
        row = scene.rows(i.pods)
        old = use.setdefault(party(i), [0] * width)
        use[party(i)] = [a + int(b) for a, b in zip(old, row, strict=True)]

    turns = [0] * len(items)
    for i in items:
        if not i.new:
            take(i)
    waiting = sorted((n for n, i in enumerate(items) if i.new), key=lambda n: leaf_key(items[n]))
    turn = 0
    while waiting:
        turn += 1
        zero = [0] * width
        best = min(
            waiting,
            key=lambda n: (
                leaf_key(items[n])[:4], share_of(use.get(party(items[n]), zero)), waiting.index(n)
            ),
        )  # fmt: skip
        waiting.remove(best)
        turns[best] = turn
        take(items[best])
    return turns
