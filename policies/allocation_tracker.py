"""Which nodes have devices for a pod's claims, while a plan grows pod by pod."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet

import numpy as np

from ..models import Claim, ClaimSpec, Node, Pod
from .allocation import Ask, allocate, in_parts
from .allocation_use import may_use, named_claims, own_asks
from .tracker import Mask, World

_Pools = tuple[Mapping[str, int], Mapping[str, int], AbstractSet[str]]
"""The node of each counter and of each device, and the devices in parts."""


def _pools(nodes: Sequence[Node]) -> _Pools:
    return (
        {c: i for i, n in enumerate(nodes) for c in n.counters},
        {d.id: i for i, n in enumerate(nodes) for d in n.pool_devices},
        in_parts(nodes),
    )


class AllocationTracker:
    """Devices in use and claims to be served, by node; answers are kept until a node changes."""

    def __init__(self, world: World) -> None:
        self._nodes = world.nodes
        self.is_idle = world.nobody(lambda spec: spec.claims)
        self._claims: Mapping[str, Claim] = world.claims
        self._held_by_pods = world.used_claims
        self._busy: defaultdict[int, Counter[str]] = defaultdict(Counter)
        """By node, how many have each device."""
        self._drawn: defaultdict[int, Counter[str]] = defaultdict(Counter)
        self._node_of_counter, self._node_of, self._in_parts = world.kept(
            "pool devices", lambda: _pools(world.nodes)
        )
        self._asks: defaultdict[int, list[tuple[str, ClaimSpec]]] = defaultdict(list)
        self._users: dict[str, list[tuple[str, int]]] = {}
        self._known: dict[int, tuple[Pod, Mask]] = {}
        self._changed: dict[int, set[int]] = {}
        for claim in self._claims.values():
            if claim.allocated and claim.key not in self._held_by_pods:
                self._hold(claim.devices, 1, claim.draws)
        # Without devices in pools it is asks alone that matter.
        known = world.present if self._node_of else world.present_with(lambda spec: spec.claims)
        for p, i in known:
            self.add(p, i)

    def _hold(self, devices: tuple[str, ...], sign: int, draws: Mapping[str, int]) -> None:
        for d in devices:
            i = self._node_of.get(d)
            if i is not None:
                self._busy[i][d] += sign
                if self._busy[i][d] <= 0:
                    del self._busy[i][d]
                self._note(i)
        for c, n in draws.items():
            if c in self._node_of_counter:
                self._drawn[self._node_of_counter[c]][c] += sign * n

    def _note(self, node: int) -> None:
        for changed in self._changed.values():
            changed.add(node)

    def add(self, pod: Pod, node: int, times: int = 1) -> None:
        if not pod.spec.claims and not pod.claimed:
            return
        self._hold(pod.claimed, times, pod.draws)
        if not pod.claimed:
            for n, spec in enumerate(own_asks(pod, self._nodes[node])):
                entry = (f"{pod.key} {n}", spec)
                if times > 0 and pod.node is None:
                    self._asks[node].append(entry)
                elif entry in self._asks[node]:
                    self._asks[node].remove(entry)
        for key in named_claims(pod):
            self._share(key, pod, node, times)
        self._note(node)

    def _share(self, key: str, pod: Pod, node: int, times: int) -> None:
        claim = self._claims.get(key)
        if claim is None:
            return
        users = self._users.setdefault(key, [])
        before = len(users)
        if times > 0:
            users.append((pod.key, node))
        else:
            users.remove((pod.key, node))
        if claim.allocated and key in self._held_by_pods and bool(before) != bool(users):
            self._hold(claim.devices, times, claim.draws)
        if not claim.allocated and pod.node is None and bool(before) != bool(users):
            entry = (key, claim.spec)
            (self._asks[node].append if times > 0 else self._asks[node].remove)(entry)
        for changed in self._changed.values():
            changed.update(range(len(self._nodes)))

    def allows(self, pod: Pod) -> Mask | None:
        if not pod.spec.claims:
            return None
        mark = id(pod.spec)
        if mark not in self._known:
            self._known[mark] = (pod, np.zeros(len(self._nodes), dtype=np.bool_))
            self._changed[mark] = set(range(len(self._nodes)))
        _, mask = self._known[mark]
        for i in self._changed[mark]:
            mask[i] = self._serves(pod, i)
        self._changed[mark].clear()
        return mask.copy()

    def opens(self, pod: Pod) -> Mask | None:
        """As if every device in parts were begun: who has begun it may not be here.

        Counters that are overdrawn forbid to begin one, and no further part of one that is.
        """
        if not pod.spec.claims or not self._in_parts:
            return self.allows(pod)
        served = (self._serves(pod, i, self._in_parts) for i in range(len(self._nodes)))
        return np.fromiter(served, dtype=np.bool_, count=len(self._nodes))

    def _serves(self, pod: Pod, i: int, begun: AbstractSet[str] = frozenset()) -> bool:
        node = self._nodes[i]
        more = [Ask(a) for a in own_asks(pod, node)]
        held: set[str] = set()
        draws = Counter(self._drawn[i])
        for key in named_claims(pod):
            claim = self._claims.get(key)
            if claim is None:
                return False
            users = self._users.get(key)
            if claim.allocated:
                if not may_use(claim, node):
                    return False
                if not users and key in self._held_by_pods:
                    held.update(claim.devices)
                    draws.update(claim.draws)
            elif users:
                if any(at != i for _, at in users):
                    return False
            else:
                more.append(Ask(claim.spec))
        here = held & {d.id for d in node.pool_devices}
        busy = (d for d in held if d in self._node_of and d in self._busy[self._node_of[d]])
        if any(d not in self._in_parts for d in busy):
            return False
        if not more and not here:
            return True
        asks = [*(Ask(a) for _, a in self._asks[i]), *more]
        busy_here = self._busy[i].keys() | here
        return allocate(node, busy_here, asks, drawn=draws, begun=begun) is not None
