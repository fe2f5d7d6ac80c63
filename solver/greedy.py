"""The greedy engine: progressive filling, item by item, each placed as well as can be seen.

It also finds to which level of the order every item belongs: what is in goes by its fill, the rest
by the weighted share of its branch, as sections 2, 3 and 5 of docs/design/order.md ask.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from heapq import heappop, heappush
from itertools import islice
from operator import add, is_, sub

from ..models import GroupKey, Pod, PodState, QueueName
from ..policies.evictable import given_up
from ..policies.items import Item, leaf_key, nominated_pods, resting_items
from ..policies.ledger import Matrix
from ..policies.members import Members, Standing
from ..policies.ranks import ranks_of
from ..policies.scene import Scene
from ..policies.standing import standing_of
from .domain_hunt import make_room
from .draft import Draft, Spares
from .leveling import first_of, queue_priority
from .lines import Line
from .other_parts import minima_to_try
from .poorest import Poorest
from .runs import Runs, slice_of
from .scores import Score


@dataclass
class Ranking:
    """What the greedy engine found: a draft, and the level of every item it looked at."""

    draft: Draft
    tier: dict[tuple[GroupKey, str], tuple[int, int]] = field(default_factory=dict)
    failed: list[Item] = field(default_factory=list)


def rank_and_place(scene: Scene, score: Score = "tight", spares: Spares = "returning") -> Ranking:
    """Run the greedy engine with one node score, and one way to choose victims."""
    return _Greedy(scene, score, spares).run()


class _Greedy:
    def __init__(self, scene: Scene, score: Score, spares: Spares) -> None:
        self.scene = scene
        self.table = standing_of(scene)
        self.draft = Draft(scene, score, spares)
        self.result = Ranking(self.draft)
        self.slices = scene.config.tiers.slices
        self.lines: dict[QueueName, Line] = {}
        self._blocked_groups: set[GroupKey] = set()
        self._sizes: dict[int, tuple[int, ...]] = {}
        self._in_at: dict[QueueName, tuple[Matrix, list[int]]] = {}
        """What is in at and below a queue, with the use that it was computed from."""
        self._fills: dict[QueueName, tuple[Item, list[object], Fraction | None]] = {}
        """The last fill of a queue's first item, with what it was computed from."""
        self._heads: list[tuple[tuple[object, ...], QueueName, Item]] = []
        """First items of lines that were in when they were looked at, the first of all on top."""
        self._entered: dict[QueueName, tuple[Item, Fraction]] = {}
        """What of each line is among them, and its fill."""
        self._unsure: set[QueueName] = set()
        """Lines whose first item may be in, and is not among the heads."""
        self._left = 0
        """How many departures there had been when who is out was asked last."""
        self._columns = sorted(self.table.columns)
        self._nothing = [0] * len(scene.ledger.resources)
        self._poorest = Poorest(self.draft, self.lines)
        self._sequence = 0
        self._hopeless: set[object] = set()
        """Hunts that failed; nothing that starts later makes them easier."""
        self._promised = nominated_pods(scene)
        self._surplus: list[tuple[GroupKey, str]] = []
        self._runs = Runs(self.draft, self.slices)

    def run(self) -> Ranking:
        self._open_lines()
        self._repair()
        self._unsure.update(self.lines)
        self._fill_entitlements()
        while self._one_surplus():
            self._fill_entitlements()
        self._idle()
        self._cut_surplus()
        return self.result

    # Lines

    def _open_lines(self) -> None:
        scene, tree, ranks = self.scene, self.scene.tree, ranks_of(self.table)
        width = len(scene.ledger.resources)
        for q in self.table.items:
            if not tree.is_leaf(q):
                continue
            ordered = [item for item, _ in ranks[q].ordered]
            pending = [i for i in ordered if i.pods[0].state is PodState.PENDING]
            waiting = deque(i for i in pending if self._waits(i))
            resting = [i for i in ordered if i.pods[0].state is not PodState.PENDING]
            self.lines[q] = Line(q, waiting, resting, [0] * width)
        if not scene.roster.broken:
            return
        # Items of broken groups stand for more than what runs of them.
        for line in self.lines.values():
            line.resting.clear()
        for m in scene.roster.values():
            if m.running and m.key not in self.table.lost and m.group.queue in self.lines:
                self.lines[m.group.queue].resting.extend(resting_items(scene, m))

    def _waits(self, item: Item) -> bool:
        """Say whether an item whose first pod is pending waits, and is not to complete a group."""
        return item.kind != "minimum" or (
            self.scene.roster[item.group.key].standing is Standing.NEW
        )

    def _size(self, item: Item) -> tuple[int, ...]:
        of = id(item.pods[0].spec if len(item.pods) == 1 else item)  # both outlive this
        if of not in self._sizes:
            self._sizes[of] = tuple(self.draft.ask(item.pods).tolist())
        return self._sizes[of]

    # Repair

    def _repair(self) -> None:
        broken = [m for m in self.scene.roster.values() if m.standing is Standing.BROKEN]
        broken.sort(key=lambda m: (-m.group.priority, m.group.created_s, m.key))
        for m in broken:
            first = first_of(self.table, m)
            could = bool(first)
            if could:
                self.result.tier[m.key, "minimum"] = (0, 0)
            begun = self._begin(m, first) if could else None
            if begun:
                self._note_start(m, begun)
            elif given_up(self.scene, m):
                self._give_up(m)
                self._blocked_groups.add(m.key)
            else:
                self._blocked_groups.add(m.key)

    def _note_start(self, m: Members, first: Sequence[Pod]) -> None:
        line = self.lines.get(m.group.queue)
        if line is not None:
            row = [int(v) for v in self.scene.rows(first)]
            line.started = [a + b for a, b in zip(line.started, row, strict=True)]

    def _give_up(self, m: Members) -> None:
        for p in m.running:
            node = self.scene.index.get(p.node or "")
            self.draft.evict(p, node, for_all=True)

    # Inside entitlements

    def _fill_entitlements(self) -> None:
        """Try, first things first, whatever is in.

        What starts only pushes other items out: who is out is asked again once something left.
        """
        if self._left != self.draft.departures:
            self._left = self.draft.departures
            self._unsure.update(self.lines)
        while True:
            for q in list(self._unsure):
                self._enter(self.lines[q])
            self._unsure.clear()
            if not self._heads:
                return
            key, queue, item = heappop(self._heads)
            self._entered.pop(queue, None)
            line = self.lines[queue]
            if self._head(line) is not item:
                continue
            if self._fill_if_in(line, item) is None:
                continue
            slice_ = key[0]
            assert isinstance(slice_, int)
            self._unsure.add(queue)
            if self._start_run(line, item):
                continue
            line.waiting.popleft()
            self.result.tier.setdefault((item.group.key, item.kind), (1, slice_))
            self._try(line, item)
            if self._left != self.draft.departures:
                self._left = self.draft.departures
                self._unsure.update(self.lines)

    def _enter(self, line: Line) -> None:
        """Let the line's first item compete, if it is in."""
        item = self._head(line)
        if item is None:
            return
        fill = self._fill_if_in(line, item)
        if fill is None:
            return
        entered = self._entered.get(line.queue)
        if entered is not None and entered[0] is item and entered[1] == fill:
            return
        self._entered[line.queue] = (item, fill)
        promised = any(p.key in self._promised for p in item.pods)
        key = (
            -1 if promised else self._slice(fill),
            -queue_priority(self.scene, line.queue), -item.group.priority,
            # Floats of fractions keep their order; the fractions decide where they are equal.
            float(fill), fill, item.group.created_s, item.id,
        )  # fmt: skip
        heappush(self._heads, (key, line.queue, item))

    def _head(self, line: Line) -> Item | None:
        while line.waiting and line.waiting[0].group.key in self._blocked_groups:
            line.waiting.popleft()
        return line.waiting[0] if line.waiting else None

    def _slice(self, fill: Fraction) -> int:
        return slice_of(fill.numerator, fill.denominator, self.slices)

    def _start_run(self, line: Line, first: Item) -> bool:
        """Start what waits at the head of the line and is alike, as one; say whether any does.

        The first has been found to be in.
        """
        if not self._runs.is_single(first):
            return False
        heads = self._heads
        before = heads[0][0][0] if heads else self.slices
        assert isinstance(before, int)
        path = self.scene.tree.path(line.queue)
        beside = {q: self._in_beside(q, line.queue) for q in path[1:]}
        slices = self._runs.of(line, beside, before)
        run = list(islice(line.waiting, len(slices)))
        done = self._runs.place(run) if run and run[0] is first else 0
        for item, slice_ in zip(run[:done], slices, strict=False):
            line.waiting.popleft()
            self.result.tier.setdefault((item.group.key, item.kind), (1, slice_))
        size = self._size(first)
        line.started = [a + done * b for a, b in zip(line.started, size, strict=True)]
        return done > 0

    def _fill_if_in(self, line: Line, item: Item) -> Fraction | None:
        """Return the item's fill if it is in at every level, counting what runs or has started."""
        # Of what has started, it depends on the line's own sum and what is in beside it.
        now: list[object] = [line.started, *map(self._in_below, self.scene.tree.path(line.queue))]
        known = self._fills.get(line.queue)
        if known is not None and known[0] is item and all(map(is_, known[1], now)):
            return known[2]
        fill = self._fill_now(line, item)
        self._fills[line.queue] = (item, now, fill)
        return fill

    def _fill_now(self, line: Line, item: Item) -> Fraction | None:
        size = self._size(item)
        asked = [r for r in self._columns if size[r]]
        running = line.running_before(leaf_key(item), self.scene)
        own = {r: size[r] + line.started[r] + running[r] for r in asked}
        floors = self.table.floors["entitlement"]
        for level, q in enumerate(self.scene.tree.path(line.queue)):
            beside = self._in_beside(q, line.queue) if level else None
            most = floors[q]
            for r in asked:
                if own[r] + (beside[r] if beside is not None else 0) > most[r]:
                    return None
        if not asked:
            return Fraction(0)
        e = self.table.entitlement[line.queue]
        part, whole = 0, 1
        for r in asked:
            share = e[r]
            over, under = own[r] * share.denominator, share.numerator
            if over * whole > part * under:
                part, whole = over, under
        return Fraction(part, whole)

    def _in_beside(self, queue: QueueName, own: QueueName) -> list[int]:
        """Return what is in at the other leaves below the queue: use, up to entitlements."""
        return list(map(sub, self._in_below(queue), self._in_below(own)))

    def _in_below(self, queue: QueueName) -> list[int]:
        """Return what is in at a leaf (its use, up to its entitlement), or at all below a queue."""
        use, known = self.draft.use[queue], self._in_at.get(queue)
        if known is None or known[0] is not use:
            total = self._nothing
            if queue in self.lines:
                total = [0] * len(use)
                most = self.table.floors["entitlement"][queue]
                for r in self._columns:
                    total[r] = min(use[r], most[r])
            for child in self.scene.tree.children.get(queue, ()):
                total = list(map(add, total, self._in_below(child)))
            if known is not None and known[1] == total:
                total = known[1]  # who has kept it sees that it is the same
            self._in_at[queue] = known = (use, total)
        return known[1]

    # Beyond entitlements

    def _one_surplus(self) -> bool:
        """Try the waiting item of the poorest branch; say whether there was one."""
        heads = {line.queue: item for line in self.lines.values() if (item := self._head(line))}
        if not heads:
            return False
        queue = self._poorest.of(heads)
        line = self.lines[queue]
        item = line.waiting.popleft()
        self._unsure.add(queue)
        key = (item.group.key, item.kind)
        if key not in self.result.tier:
            self.result.tier[key] = (2, self._sequence)
            self._surplus.append(key)
        self._sequence += 1
        self._try(line, item)
        return True

    def _cut_surplus(self) -> None:
        """Cut the sequence of surplus items into slices of equal number."""
        n = len(self._surplus)
        for i, key in enumerate(self._surplus):
            self.result.tier[key] = (2, i if n <= self.slices else i * self.slices // n)

    # Trying

    def _try(self, line: Line, item: Item) -> bool:
        pods = self._place(item)
        if pods:
            row = self._size(item) if pods is item.pods else self.draft.ask(pods).tolist()
            line.started = [a + b for a, b in zip(line.started, row, strict=True)]
            return True
        if item.kind == "minimum":
            self._blocked_groups.add(item.group.key)
        self.result.failed.append(item)
        return False

    def _place(self, item: Item) -> Sequence[Pod] | None:
        """Start the item, a minimum perhaps with other parts; return the pods that start."""
        m = self.scene.roster[item.group.key]
        pods = item.pods
        if m.choices and item.kind == "minimum":
            return self._begin(m, pods)
        if m.choices and pods[0].key in self.draft.places:
            # It has started with the minimum, and of what should have another is left.
            left = [p for p in self.table.usable[m.key] if p.key not in self.draft.places]
            pods = tuple(left[:1])
        return pods if pods and self._offer(item.group.key, pods) else None

    def _begin(self, m: Members, first: Sequence[Pod]) -> Sequence[Pod] | None:
        """Start the minimum, in one choice of parts or another; those that evict nobody first."""
        if not m.choices:
            return first if self._offer(m.key, first) else None
        tries = minima_to_try(self.draft, m, self.table.usable[m.key], first)
        for evicts in (False, True):
            for pods in tries:
                if self._offer(m.key, pods, evicts):
                    return pods
        return None

    def _offer(self, group: GroupKey, pods: Sequence[Pod], evicts: bool = True) -> bool:
        draft = self.draft
        row = draft.ask(pods)
        if draft.beyond_due(group, row) or draft.breaks_pledge(group, row):
            return False
        if not draft.quota_gap(group, row) and draft.place_all(pods) is not None:
            return True
        if not evicts:
            return False
        g = self.scene.snapshot.group(group)
        kind = (
            g.queue, g.priority, g.may_preempt, g.preemptable,
            tuple(sorted((id(p.spec), p.role) for p in pods)),
        )  # fmt: skip
        tied = any(p.spec.sees_pods for p in pods) or bool(self.scene.bonds.of_group(group))
        if make_room(draft, group, pods, not tied and kind in self._hopeless):
            return True
        self._hopeless.add(kind)
        return False

    def _idle(self) -> None:
        """Try once more what failed, first things first.

        Evictions may have left room beside those they were for; and what started since may have
        pushed running work beyond what is due or entitled, so that it can be evicted now.
        """
        self._hopeless.clear()
        for item in sorted(self.result.failed, key=self._level):
            g = item.group.key
            m = self.scene.roster[g]
            if (
                item.kind == "elastic"
                and m.standing is not Standing.WHOLE
                and g not in self.draft.started
            ):
                continue
            begun = item.kind == "minimum" and g in self.draft.started
            if item.pods[0].key not in self.draft.places and not begun:
                self._place(item)

    def _level(self, item: Item) -> tuple[int, int]:
        return self.result.tier.get((item.group.key, item.kind), (3, 0))
