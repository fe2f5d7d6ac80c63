"""Shares on the devices of one node: does an assignment exist, and which? Exact while small.

Each device has room in three measures: memory, cores, and how many shares it takes. A share sits on
its number of distinct devices; whole devices are healthy ones that no share uses.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import combinations

from ..models import Device, DeviceShare, Node, Pod, PodSpec
from ..models.devices import GPU, SHARED_GPU, WHOLE_GPU, WHOLE_PPM
from ..models.mig import PREFIX

STEPS = 20_000
"""Places tried before a search gives up; what it did not find then counts as not there."""
CORE = 1_000
"""Units of one percent of cores; a share without cores takes one unit, so that a device whose
cores are all given away takes none of those either."""
ANY_NUMBER = 1 << 20

Room = tuple[int, int, int]
"""Memory (in millionths of MiB, or of the device where that is not known), cores, shares."""


def room_of(device: Device) -> Room:
    """Return what an idle device holds."""
    if not device.healthy:
        return (0, 0, 0)
    return (max(1, device.memory_mib) * WHOLE_PPM, 100 * CORE, device.slots or ANY_NUMBER)


def size_of(share: DeviceShare, device: Device) -> Room:
    """Return what the share takes of the device."""
    mib = max(1, device.memory_mib)
    memory = max(share.memory_mib * WHOLE_PPM, share.memory_ppm * mib)
    if share.cores_percent >= 100:
        memory = mib * WHOLE_PPM  # all cores: nobody else is on the device
    cores = 0
    if share.by in ("volcano", "hami"):
        cores = share.cores_percent * CORE if share.cores_percent else 1
    return (memory, cores, 1)


def fits(size: Room, room: Room) -> bool:
    return size[0] <= room[0] and size[1] <= room[1] and size[2] <= room[2]


def less(room: Room, size: Room) -> Room:
    return (room[0] - size[0], room[1] - size[1], room[2] - size[2])


def whole_devices(pod: Pod) -> int:
    """Return how many whole devices the pod asks for."""
    asks = pod.spec.requests
    if pod.spec.share is not None or GPU not in asks:
        return 0
    parts = any(r == SHARED_GPU or r.startswith(PREFIX) for r in asks)
    return asks[WHOLE_GPU if parts or WHOLE_GPU in asks else GPU] // 1000


def uses_devices(pod: Pod) -> bool:
    return uses(pod.spec)


def uses(spec: PodSpec) -> bool:
    """Say whether pods of the spec use devices: shares of them, or whole ones."""
    return spec.share is not None or spec.requests[GPU] >= 1000


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
        return _Search(self, items, whole, steps).run(where, fewest)

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
        low, high = 0, most + 1
        while high - low > 1:
            # Few fit as a rule: double first, then halve.
            n = min((low + high) // 2, max(1, 2 * low))
            if self.find([pod] * n) is not None:
                low = n
            else:
                high = n
        return low

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


@lru_cache(maxsize=4096)
def _told(share: DeviceShare) -> str:
    return repr(share)


class _Search:
    """Depth first over shares, the largest first, each onto the fullest device that holds it."""

    def __init__(
        self, devices: Devices, shares: Sequence[DeviceShare], whole: int, steps: int
    ) -> None:
        self.devices = devices.node.devices
        self.room = list(devices.room)
        self.users = list(devices.shares)
        self.taken = devices.taken
        self.usable = [
            not t and d.healthy for t, d in zip(devices.taken, self.devices, strict=True)
        ]
        self.most_open = sum(d.healthy for d in self.devices) - whole
        self.shares = shares
        self.steps = steps
        self._bears: dict[DeviceShare, tuple[bool, ...]] = {}
        self._sizes: dict[DeviceShare, tuple[Room, ...]] = {}
        for s in set(shares):
            bears, self._sizes[s] = devices.seen(s)
            self._bears[s] = tuple(u and b for u, b in zip(self.usable, bears, strict=True))

    @cached_property
    def _alike(self) -> list[int]:
        """Number devices that no share tells apart alike."""
        seen: dict[object, int] = {}
        out = []
        for i, d in enumerate(self.devices):
            key = (
                d.memory_mib, d.slots, self.usable[i],
                tuple(b[i] for b in self._bears.values()),
            )  # fmt: skip
            out.append(seen.setdefault(key, len(seen)))
        return out

    def run(self, where: Sequence[int], fewest: bool) -> dict[int, tuple[int, ...]] | None:
        opened = sum(1 for u, d in zip(self.users, self.devices, strict=True) if u and d.healthy)
        mixed = any(u and t for u, t in zip(self.users, self.taken, strict=True))
        if opened > self.most_open or mixed:
            return None
        order = sorted(
            range(len(self.shares)),
            key=lambda k: (
                -self.shares[k].devices, [-v for v in self._largest(self.shares[k])],
                _told(self.shares[k]),
            ),
        )  # fmt: skip
        least = max(opened, opened + self._needed()) if fewest else self.most_open
        limits = range(least, self.most_open + 1)
        for most in limits:
            self._failed: set[object] = set()
            found: dict[int, tuple[int, ...]] = self._straight(order, opened, most) or {}
            if len(found) == len(order) or self._place(order, 0, opened, most, found):
                return {where[k]: at for k, at in found.items()}
            if self.steps <= 0:
                return None
        return None

    def _straight(
        self, order: Sequence[int], opened: int, most: int
    ) -> dict[int, tuple[int, ...]] | None:
        """Go the way that the search tries first; None where it would have to turn back.

        For shares of one device each.
        """
        room, used = list(self.room), [bool(u) for u in self.users]
        found: dict[int, tuple[int, ...]] = {}
        for k in order:
            share = self.shares[k]
            if share.devices > 1:
                return None
            sizes, bears = self._sizes[share], self._bears[share]
            spots = [
                (not used[i], r, i)
                for i, r in enumerate(room)
                if bears[i] and fits(sizes[i], r) and (used[i] or opened < most)
            ]
            if not spots:
                return None
            new, _, i = min(spots)
            opened += new
            used[i] = True
            room[i] = less(room[i], sizes[i])
            found[k] = (i,)
        return found

    def _needed(self) -> int:
        """Return how many more devices the memory of the shares takes at least.

        Together; and those of some size and more, of which a device takes whole ones only.
        """
        least = {s: min(x[0] for x in self._sizes[s]) for s in set(self.shares)}
        left = [max(0, r[0]) for r, u in zip(self.room, self.users, strict=True) if u]
        largest = max((room_of(d)[0] for d in self.devices), default=1)
        need = sum(s.devices * least[s] for s in self.shares) - sum(left)
        out = -(-need // max(1, largest))
        for size in set(least.values()):
            if 0 < size <= largest:
                count = sum(s.devices for s in self.shares if least[s] >= size)
                count -= sum(r // size for r in left)
                out = max(out, -(-count // (largest // size)))
        return max(0, out)

    def _largest(self, share: DeviceShare) -> Room:
        sizes = self._sizes[share]
        return (
            max((s[0] for s in sizes), default=0),
            max((s[1] for s in sizes), default=0),
            1,
        )

    def _place(
        self,
        order: Sequence[int],
        at: int,
        opened: int,
        most: int,
        found: dict[int, tuple[int, ...]],
    ) -> bool:
        if at == len(order):
            return True
        state = [
            (self._alike[i], r, bool(u))
            for i, (r, u) in enumerate(zip(self.room, self.users, strict=True))
        ]
        memo = (at, tuple(sorted(state)))
        if memo in self._failed:
            return False
        share = self.shares[order[at]]
        sizes, bears = self._sizes[share], self._bears[share]
        spots = [i for i, r in enumerate(self.room) if bears[i] and fits(sizes[i], r)]
        # Devices in use first, the fullest of them first; then in their order.
        spots.sort(key=lambda i: (not self.users[i], self.room[i], i))
        tried: set[object] = set()
        for some in combinations(spots, share.devices):
            new = sum(1 for i in some if not self.users[i])
            mark = tuple(sorted(state[i] for i in some))
            if opened + new > most or mark in tried:
                continue
            tried.add(mark)
            self.steps -= 1
            if self.steps <= 0:
                return False
            for i in some:
                self.room[i] = less(self.room[i], sizes[i])
                self.users[i] += 1
            found[order[at]] = tuple(sorted(some))
            done = self._place(order, at + 1, opened + new, most, found)
            for i in some:
                a, b, c = sizes[i]
                self.room[i] = less(self.room[i], (-a, -b, -c))
                self.users[i] -= 1
            if done:
                return True
            del found[order[at]]
        self._failed.add(memo)
        return False
