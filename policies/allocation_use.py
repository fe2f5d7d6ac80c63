"""Who has which device after a plan, and which devices its claims could be given."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from functools import cached_property

from ..models import (
    AllocatedDevice,
    Allocation,
    Claim,
    ClaimSpec,
    DeviceRequest,
    GroupKey,
    Node,
    NodeName,
    Pod,
    PodKey,
    PoolDevice,
)
from .allocation import Ask, Served, allocate, in_parts
from .evictable import given_up
from .outcome import Outcome
from .rights import rights_of

Owner = tuple[PodKey, str]
"""A pod and the name of its claim; ("", key) for a claim that several pods have."""


def own_asks(pod: Pod, node: Node) -> list[ClaimSpec]:
    """Return what the pod's own claims ask for on the node."""
    asks = (asked_on(c.spec, node) for c in pod.spec.claims if not c.claim)
    return [a for a in asks if a.requests]


def asked_on(spec: ClaimSpec, node: Node) -> ClaimSpec:
    """Return the claim without the extended resources that the node's device plug-in serves."""
    kept = tuple(of for of in spec.requests if not of or not node.is_plugged(of[0].resource))
    return spec if len(kept) == len(spec.requests) else ClaimSpec(kept, spec.matches)


def named_claims(pod: Pod) -> list[str]:
    """Return the claims of the snapshot that the pod has."""
    return [c.claim for c in pod.spec.claims if c.claim]


def may_use(claim: Claim, node: Node) -> bool:
    """Say whether the devices that the claim has can be used on the node."""
    return claim.nodes is None or any(t.matches(node.labels, node.name) for t in claim.nodes)


@dataclass
class NodeClaims:
    """The claims that want devices of one node."""

    owners: list[Owner] = field(default_factory=list)
    asks: list[ClaimSpec] = field(default_factory=list)
    askers: list[list[Pod]] = field(default_factory=list)
    """Whose each claim is."""


class AllocationUse:
    """Devices and claims after a plan."""

    def __init__(self, outcome: Outcome) -> None:
        self._outcome = outcome
        self.scene = outcome.scene
        self.claims: Mapping[str, Claim] = self.scene.snapshot.claims_by_key

    @cached_property
    def _users(self) -> tuple[dict[str, list[Pod]], dict[str, list[Pod]]]:
        """Claims of the snapshot: who has them before the plan, and who after it."""
        before: dict[str, list[Pod]] = {}
        after: dict[str, list[Pod]] = {}
        for p, _ in self.scene.holders:
            for key in named_claims(p):
                before.setdefault(key, []).append(p)
        for p, _ in self._outcome.standing_pods:
            for key in named_claims(p):
                after.setdefault(key, []).append(p)
        return before, after

    @cached_property
    def busy(self) -> frozenset[str]:
        """Devices of pods that stay, and of claims that keep them."""
        before, after = self._users
        out = {d for p, _ in self._outcome.standing_pods for d in p.claimed}
        for key, claim in self.claims.items():
            if claim.allocated and (after.get(key) or not before.get(key)):
                out.update(claim.devices)
        return frozenset(out)

    @cached_property
    def drawn(self) -> Mapping[str, int]:
        """What those who stay have of capacities."""
        before, after = self._users
        stay = [p.draws for p, _ in self._outcome.standing_pods]
        stay += [
            c.draws
            for key, c in self.claims.items()
            if c.allocated and (after.get(key) or not before.get(key))
        ]
        return _summed(stay)

    @cached_property
    def _drawn_now(self) -> Mapping[str, int]:
        """The same of all who are there before anybody has left."""
        now = [p.draws for p, _ in self.scene.holders]
        return _summed([*now, *(c.draws for c in self.claims.values() if c.allocated)])

    @cached_property
    def _in_parts(self) -> AbstractSet[str]:
        """Devices that may be allocated several times."""
        return in_parts(self.scene.nodes)

    @cached_property
    def leaving(self) -> Mapping[str, frozenset[GroupKey]]:
        """Devices that become free, with the victims that leave them (none: nobody's right)."""
        before, _ = self._users
        out: dict[str, set[GroupKey]] = {}
        for p, _ in self.scene.holders:
            held = [*p.claimed]
            for key in named_claims(p):
                if key in self.claims and self.claims[key].allocated and before.get(key):
                    held += self.claims[key].devices
            for d in held:
                if d not in self.busy:
                    out.setdefault(d, set())
                    if p.key in self._outcome.evicted and p.group is not None:
                        out[d].add(p.group)
        return {d: frozenset(gs) for d, gs in out.items()}

    def counters_now(self, i: int) -> dict[str, int]:
        """Return what is left of the node's counters while what leaves is still there."""
        node = self.scene.nodes[i]
        left = {c: n - self._drawn_now.get(c, 0) for c, n in node.counters.items()}
        for d in node.pool_devices if left else ():
            if d.taken or d.id in self.busy or d.id in self.leaving:
                for c, n in d.counters.items():
                    left[c] = left.get(c, 0) - n
        return left

    def late(self, i: int) -> frozenset[str]:
        """Return the node's devices that nobody can have before others have left."""
        if not self.leaving:
            return frozenset()
        left = self.counters_now(i)
        blocked = (
            d.id
            for d in self.scene.nodes[i].pool_devices
            if not d.multiple and any(n > left.get(c, 0) for c, n in d.counters.items())
        )
        return frozenset(self.leaving.keys() - self._in_parts).union(blocked)

    @cached_property
    def wanted(self) -> Mapping[int, NodeClaims]:
        """By node, the claims of pods that start there; a shared one once, at its first pod."""
        out: dict[int, NodeClaims] = {}
        shared: dict[tuple[int, str], int] = {}
        for p, i in self._outcome.new_pods:
            here = out.setdefault(i, NodeClaims()) if p.spec.claims else None
            for c in p.spec.claims:
                assert here is not None
                if not c.claim:
                    asked = asked_on(c.spec, self.scene.nodes[i])
                    if asked.requests:
                        here.owners.append((p.key, c.name))
                        here.asks.append(asked)
                        here.askers.append([p])
                    continue
                claim = self.claims.get(c.claim)
                if claim is None or claim.allocated:
                    continue
                at = shared.get((i, c.claim))
                if at is None:
                    shared[i, c.claim] = len(here.owners)
                    here.owners.append((PodKey(""), c.claim))
                    here.asks.append(claim.spec)
                    here.askers.append([p])
                else:
                    here.askers[at].append(p)
        return out

    def denied(self, i: int, pods: Iterable[Pod], at_once: bool = True) -> AbstractSet[str]:
        """Return the node's devices that leave, but not for these pods."""
        if not self.leaving:
            return frozenset()
        out: set[str] = set()
        for p in pods:
            if at_once and p.key in self._outcome.bound:
                return self.late(i)
            assert p.group is not None
            out |= {d for d, gs in self.leaving.items() if not self._may(p.group, gs)}
        return out - self._in_parts

    def _may(self, group: GroupKey, victims: AbstractSet[GroupKey]) -> bool:
        roster = self.scene.roster
        rights = rights_of(self._outcome)
        return all(given_up(self.scene, roster[v]) or rights.may(group, v) for v in victims)

    def served(self, i: int, at_once: bool = True) -> list[Served] | None:
        """Return devices for the claims on the node; those that leave only where it has to be."""
        wanted = self.wanted[i]
        asks = [
            Ask(a, self.denied(i, pods, at_once) | self._unnamed(i, owner))
            for a, owner, pods in zip(wanted.asks, wanted.owners, wanted.askers, strict=True)
        ]
        return allocate(self.scene.nodes[i], self.busy, asks, self.late(i), self.drawn)

    @cached_property
    def named(self) -> Mapping[Owner, frozenset[str]]:
        """What the plan itself gives to claims; admin access takes nothing."""
        out: dict[Owner, set[str]] = {}
        for a in self._outcome.allocations or ():
            p = self.scene.pods.get(a.pod)
            of = [c for c in p.spec.claims if c.name == a.claim] if p is not None else []
            for c in of:
                owner = (PodKey(""), c.claim) if c.claim else (a.pod, a.claim)
                taken = {d.id for d in a.devices if not d.admin_access}
                out.setdefault(owner, set()).update(taken)
        return {owner: frozenset(ids) for owner, ids in out.items()}

    def _unnamed(self, i: int, owner: Owner) -> AbstractSet[str]:
        """Return the devices that the plan does not give to the claim, if it gives it any."""
        mine = self.named.get(owner)
        if mine is None:
            return frozenset()
        return {d.id for d in self.scene.nodes[i].pool_devices} - mine

    def waits(
        self, i: int, served: Sequence[Served], of: AbstractSet[PodKey] | None = None
    ) -> set[PodKey]:
        """Return the pods of the node whose claims get what somebody has to leave first.

        That is a device, or counters that it shares with others. ``of``: only these pods are asked
        about, and nobody else takes anything.
        """
        out: set[PodKey] = set()
        late, left = self.late(i), self.counters_now(i)
        begun = {d.id for d in self.scene.nodes[i].pool_devices
                 if d.taken or d.id in self.busy or d.id in self.leaving}  # fmt: skip
        for pods, claim in zip(self.wanted[i].askers, served, strict=True):
            if of is not None and of.isdisjoint(p.key for p in pods):
                continue
            taken = [(r, d) for r, d in claim if not r.admin]
            counters: Counter[str] = Counter()
            for r, d in taken:
                counters.update(d.parts.get(r.selection, {}))
                if d.id not in begun or not d.multiple:
                    counters.update(d.counters)
                    begun.add(d.id)
            short = any(n > left.get(c, 0) for c, n in counters.items())
            if any(d.id in late for _, d in taken) or (self.leaving and short):
                out.update(p.key for p in pods)
                continue
            for c, n in counters.items():
                left[c] -= n
        return out


def allocations_of(outcome: Outcome) -> Iterable[Allocation]:
    """Yield what the claims of pods that start are given; a claim of several pods once."""
    if not any(p.spec.claims for p, _ in outcome.new_pods):
        return
    use = AllocationUse(outcome)
    for i, wanted in use.wanted.items():
        served = use.served(i, at_once=False) or []
        node = NodeName(outcome.scene.nodes[i].name)
        for (_, name), pods, devices in zip(wanted.owners, wanted.askers, served, strict=False):
            pod = pods[0]
            of_pod = next((c.name for c in pod.spec.claims if name in (c.claim, c.name)), name)
            claim = pod.claim_names.get(of_pod, "")
            given = tuple(_told(r, d) for r, d in devices)
            yield Allocation(pod.key, of_pod, claim, node, given)


def _told(request: DeviceRequest, device: PoolDevice) -> AllocatedDevice:
    driver, rest = device.id.split("/", 1)
    pool, name = rest.rsplit("/", 1)
    part = {} if request.admin else device.parts.get(request.selection, {})
    consumed = tuple(sorted((c.removeprefix(f"{device.id}/"), n) for c, n in part.items()))
    return AllocatedDevice(
        request.name, driver, pool, name, request.admin, device.multiple, consumed
    )


def _summed(draws: Iterable[Mapping[str, int]]) -> dict[str, int]:
    out: Counter[str] = Counter()
    for d in draws:
        out.update(d)
    return out
