"""A sketch: one way in which all floating shares of a node have devices, carried on pod by pod.

Where it takes a pod, the pod fits; where it does not, a search has to tell.
"""

from ..models import DeviceShare, Pod
from .device_packing import Devices
from .device_sizes import Room, fits, less, whole_devices


class Sketch:
    """Rooms and users of a node's devices, floating shares among them."""

    def __init__(self, state: Devices, at: dict[int, tuple[int, ...]]) -> None:
        """``at``: devices of the floating shares, by their place among them."""
        self._state = state
        self._room: list[Room] = list(state.room)
        self._users = list(state.shares)
        for k, (_, share) in enumerate(state.floating):
            self._put(share, at[k])

    @classmethod
    def of(cls, state: Devices) -> "Sketch | None":
        """Return a sketch of the node as it is; None if its shares have no devices."""
        at = state.find()
        return None if at is None else cls(state, at)

    def _put(self, share: DeviceShare, at: tuple[int, ...]) -> None:
        _, sizes = self._state.seen(share)
        for i in at:
            self._room[i] = less(self._room[i], sizes[i])
            self._users[i] += 1

    @property
    def _idle(self) -> int:
        devices = self._state.node.devices
        open_ = sum(d.healthy and not u for d, u in zip(devices, self._users, strict=True))
        return open_ - self._state.whole

    def place(self, pod: Pod) -> tuple[int, ...] | None:
        """Return the devices that a share takes here, () for whole devices; None: not here."""
        idle, share = self._idle, pod.spec.share
        if share is None:
            return () if idle >= whole_devices(pod) else None
        if share.devices > 1 or idle < 0:
            return None
        bears, sizes = self._state.seen(share)
        best: tuple[bool, Room, int] | None = None
        for i, room in enumerate(self._room):
            users = self._users[i]
            if bears[i] and not self._state.taken[i] and (users or idle) and fits(sizes[i], room):
                mine = (not users, room, i)
                best = mine if best is None or mine < best else best
        return None if best is None else (best[2],)

    def refuses(self, pod: Pod) -> bool:
        """Say whether memory alone proves that no way of placing what floats leaves room."""
        state, share = self._state, pod.spec.share
        if share is not None and share.devices > 1:
            return False
        devices = state.node.devices
        usable = [d.healthy and not t for d, t in zip(devices, state.taken, strict=True)]
        idle = [
            r[0] for r, u, n in zip(state.room, usable, state.shares, strict=True) if u and not n
        ]
        held = sum(t > 0 for t in state.taken)
        left = len(idle) - max(0, state.whole - held)
        # Idle devices beside those that whole pods hold, whichever these are.
        open_ = sum(
            max(0, r[0])
            for r, u, n in zip(state.room, usable, state.shares, strict=True)
            if u and n
        )
        float_ = sum(s.devices * self._least(s) for _, s in state.floating)
        if share is None:
            largest = max(idle, default=1)
            opened = max(0, -(-(float_ - open_) // max(1, largest)))
            return left - opened < whole_devices(pod)
        most = open_ + sum(sorted(idle, reverse=True)[: max(0, left)])
        return most - float_ < self._least(share)

    def _least(self, share: DeviceShare) -> int:
        """Return the memory that a share takes at least."""
        bears, sizes = self._state.seen(share)
        return min((s[0] for b, s in zip(bears, sizes, strict=True) if b), default=0)

    def add(self, pod: Pod) -> bool:
        """Let a pod come whose devices are not known; say whether the sketch still stands."""
        share = pod.spec.share
        if share is None:
            return self._idle >= 0  # the state counts it already
        at = self.place(pod)
        if at is None:
            return False
        self._put(share, at)
        return True
