"""Shares on the devices of one node: does an assignment exist, and which? Exact while small.

Each device has room in three measures: memory, cores, and how many shares it takes. A share sits on
its number of distinct devices; whole devices are healthy ones that no share uses.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from ..models import DeviceShare, Node, Pod
from .device_search import Search
from .device_sizes import Room, fits, less, room_of, size_of, whole_devices

STEPS = 20_000
"""Places tried before a search gives up; what it did not find then counts as not there."""


@dataclass(slots=True)
class Devices:
    """The devices of a node while pods come and go."""

    node: Node
    room: list[Room]
    shares: list[int]
    """How many shares are known to be on each."""
    taken: list[int]
    """How many whole-device pods are known to hold each."""
    whole: int = 0
    """Whole devices that are held, wherever."""
    floating: list[tuple[Pod, DeviceShare]] = field(default_factory=list)
    """Shares of which nobody says where they are."""
    table: dict[DeviceShare, tuple[tuple[bool, ...], tuple[Room, ...]]] = field(
        default_factory=dict
    )
    """What is known of shares on the devices, whoever is there."""
    kind: object = None
    """What stands for the node's devices in the key, where somebody has numbered them."""

    @classmethod
    def of(cls, node: Node, pods: Iterable[Pod] = ()) -> "Devices":
        n = len(node.devices)
        made = cls(node, [room_of(d) for d in node.devices], [0] * n, [0] * n)
        for p in pods:
            made.add(p)
        return made

    def copy(self) -> "Devices":
        return Devices(
            self.node, list(self.room), list(self.shares), list(self.taken), self.whole,
            list(self.floating), self.table, self.kind,
        )  # fmt: skip

    def add(self, pod: Pod, times: int = 1, at: Sequence[int] | None = None) -> None:
        """Let a pod come (or go, with times −1), to these devices or to those that it says."""
        share = pod.spec.share
        at = pod.devices if at is None else at
        known = [i for i in at if i < len(self.room)]
        if share is None:
            n = whole_devices(pod)
            self.whole += times * n
            for i in known:
                self.taken[i] += times
        elif len(known) == share.devices:
            _, sizes = self.seen(share)
            for i in known:
                a, b, c = sizes[i]
                self.room[i] = less(self.room[i], (times * a, times * b, times * c))
                self.shares[i] += times
        elif times > 0:
            self.floating.append((pod, share))
        else:
            k = next(k for k, (p, _) in enumerate(self.floating) if p.key == pod.key)
            del self.floating[k]

    @property
    def key(self) -> object:
        """Name the state: equal keys hold the same."""
        floating = tuple(s for _, s in self.floating)
        at = (tuple(self.room), tuple(self.shares), tuple(self.taken), self.whole)
        return (self.node.devices if self.kind is None else self.kind, at, floating)

    @property
    def shared(self) -> bool:
        """Say whether any share stands here."""
        return bool(self.floating) or any(self.shares)

    def find(
        self, more: Sequence[Pod] = (), *, fewest: bool = False, steps: int = STEPS
    ) -> dict[int, tuple[int, ...]] | None:
        """Find devices for all floating shares and more pods' beside them; None: there are none.

        Keys count the floating shares, then ``more``; whole devices are only counted. ``fewest``:
        on as few devices as can be.
        """
        items = [s for _, s in self.floating]
        where = list(range(len(items)))
        whole = self.whole
        for k, p in enumerate(more, len(items)):
            if p.spec.share is None:
                whole += whole_devices(p)
            else:
                items.append(p.spec.share)
                where.append(k)
        if len(items) == 1 and items[0].devices == 1:
            at = self._find_one(items[0], whole)
            return None if at is None else {where[0]: (at,)}
        seen = {s: self.seen(s) for s in items}
        search = Search(
            self.node.devices, self.room, self.shares, self.taken, seen, items, whole, steps
        )
        return search.run(where, fewest)

    def _find_one(self, share: DeviceShare, whole: int) -> int | None:
        """Return the device that the search finds for a single share beside whole devices."""
        bears, sizes = self.seen(share)
        there = opened = 0
        best: tuple[bool, Room, int] | None = None
        for i, d in enumerate(self.node.devices):
            used, room = self.shares[i] > 0, self.room[i]
            if used and self.taken[i]:
                return None
            there += d.healthy
            opened += used and d.healthy
            if bears[i] and d.healthy and not self.taken[i] and fits(sizes[i], room):
                spot = (not used, room, i)
                best = spot if best is None or spot < best else best
        most = there - whole
        if best is None or opened > most or (best[0] and opened >= most):
            return None
        return best[2]

    def holds(self, more: Sequence[Pod] = ()) -> bool:
        """Say whether all floating shares and more pods have devices."""
        shares = [p.spec.share for p in more if p.spec.share is not None]
        if self.floating or len(shares) > 1 or any(s.devices > 1 for s in shares):
            return self.find(more) is not None
        left = self._idle() - sum(map(whole_devices, more))
        return left >= 0 and (not shares or self._counts(shares[0], left, 1) == 1)

    def copies(self, pod: Pod, most: int) -> int:
        """Return how many pods like this one fit, at most ``most``."""
        share = pod.spec.share
        if not self.floating and (share is None or share.devices == 1):
            left = self._idle()
            if left < 0:
                return 0
            if share is None:
                return min(most, left // max(1, whole_devices(pod)))
            return self._counts(share, left, most)
        most = min(most, self._no_more(pod, most))
        if most and self.find([pod] * most) is not None:
            return most
        low, high = 0, most
        while high - low > 1:
            # Few fit as a rule: double first, then halve.
            n = min((low + high) // 2, max(1, 2 * low))
            if self.find([pod] * n) is not None:
                low = n
            else:
                high = n
        return low

    def _no_more(self, pod: Pod, most: int) -> int:
        """Return a number of pods like this one that the devices surely do not surpass."""
        share, left = pod.spec.share, self._idle()
        if left < 0:
            return 0
        if share is None:
            return left // max(1, whole_devices(pod))
        if share.devices > 1:
            return most
        # What floats takes its memory, wherever it comes to be.
        rooms = list(zip([max(0, r[0]) for r in self.room], self.shares, self.taken, strict=True))
        idle = sorted((r for r, n, t in rooms if not (n or t)), reverse=True)
        room = sum(r for r, n, t in rooms if n and not t) + sum(idle[:left])
        room -= sum(s.devices * self._least(s) for _, s in self.floating)
        return min(self._counts(share, left, most), max(0, room // max(1, self._least(share))))

    def _least(self, share: DeviceShare) -> int:
        """Return the memory that a share takes of any device that bears it, at least."""
        bears, sizes = self.seen(share)
        return min((size[0] for b, size in zip(bears, sizes, strict=True) if b), default=0)

    def _idle(self) -> int:
        """Return how many devices neither shares nor whole devices hold; negative: too few."""
        opened = there = 0
        for d, n, t in zip(self.node.devices, self.shares, self.taken, strict=True):
            there += d.healthy
            opened += n > 0 and d.healthy
            if n and t:
                return -1
        return there - opened - self.whole

    def _counts(self, share: DeviceShare, idle: int, most: int) -> int:
        """Return how many such shares fit, each on one device, with so many idle devices."""
        bears, sizes = self.seen(share)
        total = 0
        fresh: list[int] = []
        for d, room in enumerate(self.room):
            if not bears[d] or self.taken[d]:
                continue
            parts = [r // x for r, x in zip(room, sizes[d], strict=True) if x]
            n = min(most, max(0, min(parts)))
            if self.shares[d]:
                total += n
            else:
                fresh.append(n)
        return min(most, total + sum(sorted(fresh, reverse=True)[:idle]))

    def seen(self, share: DeviceShare) -> tuple[tuple[bool, ...], tuple[Room, ...]]:
        """Return which devices bear the share, and what it takes of each."""
        if share not in self.table:
            devices = self.node.devices
            self.table[share] = (
                tuple(share.bears(d) for d in devices),
                tuple(size_of(share, d) for d in devices),
            )
        return self.table[share]


class IdleDevices:
    """The devices of nodes without any pod; nodes with equal devices know the same of shares."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        self._nodes = nodes
        self._kinds: dict[object, Devices] = {}
        self.of: dict[int, Devices] = {}
        """By node, of those that have some; never to be changed."""
        for i, n in enumerate(self._nodes):
            if n.devices:
                first = n.devices[0]
                same = all(d is first for d in n.devices)
                key: object = (len(n.devices), first) if same else n.devices
                kind = self._kinds.get(key)
                if kind is None:
                    kind = self._kinds[key] = Devices.of(n)
                    kind.kind = len(self._kinds)
                self.of[i] = kind

    def on(self, node: int) -> Devices:
        """Return the devices of a node, to put pods there."""
        kind = self.of.get(node)
        return Devices.of(self._nodes[node]) if kind is None else kind.copy()
