"""Which devices the pods of a plan get: found once for an outcome, the same each time."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ..models import Pod, PodKey, PodState
from .device_packing import Devices, IdleDevices
from .device_sizes import fits, size_of, uses, uses_devices, whole_devices
from .outcome import Outcome
from .scene import Scene


@dataclass
class DevicePlaces:
    """Devices of the pods that start; of whole devices they are advice, the kubelet picks."""

    shares: dict[PodKey, tuple[int, ...]] = field(default_factory=dict)
    whole: dict[PodKey, tuple[int, ...]] = field(default_factory=dict)


def new_users(outcome: Outcome) -> Mapping[int, list[Pod]]:
    """Return the starting pods that use devices, by node, of nodes whose devices are known."""
    out: dict[int, list[Pod]] = {}
    nodes = outcome.scene.nodes
    using = {id(s) for s in outcome.scene.columns.specs if uses(s)}
    for p, i in outcome.new_pods:
        if id(p.spec) in using and nodes[i].devices:
            out.setdefault(i, []).append(p)
    return out


def users_on(scene: Scene, node: int) -> Sequence[Pod]:
    """Return the pods that hold devices of a node now: running, terminating and reserved."""
    return scene.once("users of devices", _Users).on(node)


class _Users:
    """Pods that use devices, in the order of their nodes."""

    def __init__(self, scene: Scene) -> None:
        of = scene.columns
        using = np.array([uses(s) for s in of.specs], dtype=np.bool_)
        known = np.array([bool(n.devices) for n in scene.nodes], dtype=np.bool_)
        found = np.flatnonzero(of.holding & using[of.spec])
        found = found[known[of.node[found]]]
        found = found[np.argsort(of.node[found], kind="stable")]
        self._pods = scene.snapshot.pods
        self._found = found
        self._starts = np.searchsorted(of.node[found], np.arange(len(scene.nodes) + 1))
        self._reserved: dict[int, list[Pod]] = {}
        for p, i in scene.reserved:
            if known[i] and uses_devices(p):
                self._reserved.setdefault(i, []).append(p)

    def on(self, node: int) -> Sequence[Pod]:
        first, last = self._starts[node], self._starts[node + 1]
        here = [self._pods[k] for k in self._found[first:last].tolist()]
        return here + self._reserved.get(node, [])


def leaves(outcome: Outcome, pod: Pod) -> bool:
    return pod.state is PodState.TERMINATING or pod.key in outcome.evicted


def kept_on(outcome: Outcome, node: int) -> Devices:
    """Return the node's devices with all that stays, to put pods there."""
    scene = outcome.scene
    if node in outcome.cleared:
        return _with(scene, node, (p for p in users_on(scene, node) if not leaves(outcome, p)))
    known = scene.once("devices before", _no_states)
    if node not in known:
        known[node] = _with(scene, node, users_on(scene, node))
    return known[node].copy()


def _with(scene: Scene, node: int, pods: Iterable[Pod]) -> Devices:
    state = scene.once("devices by kind", _idle).on(node)
    for p in pods:
        state.add(p)
    return state


def _no_states(_: Scene) -> dict[int, Devices]:
    return {}


def _idle(scene: Scene) -> IdleDevices:
    return IdleDevices(scene.nodes)


def leaving_on(outcome: Outcome, node: int) -> list[Pod]:
    if node not in outcome.cleared:
        return []
    return [p for p in users_on(outcome.scene, node) if leaves(outcome, p)]


def found_devices(outcome: Outcome) -> DevicePlaces:
    """Find the devices of all that starts; best without those that somebody still has to leave."""
    out = DevicePlaces()
    scene = outcome.scene
    for i, pods in sorted(new_users(outcome).items()):
        pods = sorted(pods, key=lambda p: p.key)
        kept = kept_on(outcome, i)
        found: Mapping[int, tuple[int, ...]] | None = None
        state = kept
        states = [kept]
        if leaving := leaving_on(outcome, i):
            beside = kept.copy()
            for p in leaving:
                beside.add(p)
            states.insert(0, beside)
        for state in states:
            found = _find(scene, state, pods)
            if found is not None:
                break
        if found is None:
            continue
        first = len(state.floating)
        held = {d for at in found.values() for d in at}
        held |= {d for d, n in enumerate(kept.shares) if n}
        for k, p in enumerate(pods, first):
            if p.spec.share is not None:
                out.shares[p.key] = found[k]
        _advise(kept, held, pods, out.whole)
    return out


def _find(
    scene: Scene, state: Devices, pods: Sequence[Pod]
) -> Mapping[int, tuple[int, ...]] | None:
    """Find devices for the pods, on as few as can be; states alike are searched once."""
    if not state.floating and all(p.spec.share is None for p in pods):
        return {} if state.holds(pods) else None
    known = scene.once("devices found", _nothing_found)
    case = (state.key, tuple(p.spec.share or whole_devices(p) for p in pods))
    if case not in known:
        known[case] = state.find(pods, fewest=True) or state.find(pods)
    return known[case]


def have_devices(scene: Scene, state: Devices, pods: Sequence[Pod]) -> bool:
    """Say whether all shares that float and these pods have devices; what is found is kept."""
    return _find(scene, state, pods) is not None


def _nothing_found(_: Scene) -> dict[object, Mapping[int, tuple[int, ...]] | None]:
    return {}


def _advise(
    kept: Devices, held: set[int], pods: Iterable[Pod], out: dict[PodKey, tuple[int, ...]]
) -> None:
    """Name whole devices that are left; where nobody says which are held, the last ones."""
    unknown = kept.whole - sum(kept.taken)
    free = [
        d
        for d, device in enumerate(kept.node.devices)
        if device.healthy and d not in held and not kept.taken[d]
    ][unknown:]
    for p in pods:
        n = whole_devices(p)
        if n and len(free) >= n:
            out[p.key] = tuple(free[:n])
            free = free[n:]


class DevicesNow:
    """The devices while what leaves is still there: which starting pods can be bound at once."""

    def __init__(self, outcome: Outcome) -> None:
        self._outcome = outcome
        self._of: dict[int, Devices] = {}

    def take(self, pods: Iterable[Pod]) -> bool:
        """Let the pods take the devices that they were given, all of them or none."""
        outcome, scene = self._outcome, self._outcome.scene
        changed: dict[int, Devices] = {}
        for p in pods:
            i = scene.index[outcome.places[p.key]]
            if not scene.nodes[i].devices or not uses_devices(p) or not leaving_on(outcome, i):
                continue
            state = changed.get(i) or self._state(i).copy()
            changed[i] = state
            at = outcome.devices.get(p.key, ())
            share = p.spec.share
            if share is not None and not all(
                fits(size_of(share, state.node.devices[d]), state.room[d]) for d in at
            ):
                return False
            state.add(p, at=at)
        if not all(state.holds() for state in changed.values()):
            return False
        self._of |= changed
        return True

    def _state(self, node: int) -> Devices:
        if node not in self._of:
            state = kept_on(self._outcome, node)
            for p in leaving_on(self._outcome, node):
                state.add(p)
            self._of[node] = state
        return self._of[node]
