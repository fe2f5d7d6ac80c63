"""The search for devices that hold shares of one node together. Exact while small."""

from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache
from itertools import combinations

from ..models import Device, DeviceShare
from .device_sizes import Room, fits, less, room_of


@lru_cache(maxsize=4096)
def _told(share: DeviceShare) -> str:
    return repr(share)


class Search:
    """Depth first over shares, the largest first, each onto the fullest device that holds it.

    Parameters
    ----------
    devices, room, users, taken
        The devices of the node, and of each what is free, how many shares and how many whole-device
        pods it has.
    seen
        Of each share: which devices bear it, and what it takes of each.
    shares
        Those to place.
    whole
        Devices that are to stay without shares.
    steps
        Places tried before it gives up; what it did not find then counts as not there.
    """

    def __init__(
        self,
        devices: Sequence[Device],
        room: Sequence[Room],
        users: Sequence[int],
        taken: Sequence[int],
        seen: Mapping[DeviceShare, tuple[tuple[bool, ...], tuple[Room, ...]]],
        shares: Sequence[DeviceShare],
        whole: int,
        steps: int,
    ) -> None:
        self.devices = devices
        self.room = list(room)
        self.users = list(users)
        self.taken = taken
        self.usable = [not t and d.healthy for t, d in zip(taken, devices, strict=True)]
        self.most_open = sum(d.healthy for d in devices) - whole
        self.shares = shares
        self.steps = steps
        self._bears: dict[DeviceShare, tuple[bool, ...]] = {}
        self._sizes: dict[DeviceShare, tuple[Room, ...]] = {}
        for s in set(shares):
            bears, self._sizes[s] = seen[s]
            self._bears[s] = tuple(u and b for u, b in zip(self.usable, bears, strict=True))

    @cached_property
    def _alike(self) -> list[int]:
        """Number devices that no share tells apart alike."""
        seen: dict[object, int] = {}
        cards = any(s.per_card and s.devices > 1 for s in self.shares)
        out = []
        for i, d in enumerate(self.devices):
            key = (
                d.memory_mib, d.slots, self.usable[i], d.card if cards else 0,
                tuple(b[i] for b in self._bears.values()),
            )  # fmt: skip
            out.append(seen.setdefault(key, len(seen)))
        return out

    def run(self, where: Sequence[int], fewest: bool) -> dict[int, tuple[int, ...]] | None:
        """Return devices for each share, named as ``where`` says; None: none were found.

        ``fewest``: on as few devices as can be.
        """
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
            if not share.spreads(self.devices[i] for i in some):
                continue
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
