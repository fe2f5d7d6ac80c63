"""What device claims count for in queues, as amounts of resources.

KAI charges devices of class gpu.nvidia.com as nvidia.com/gpu; a class may name an extended resource
(KEP-5004); Volcano's queues may name ``deviceclass/<class>``. Each claim is charged once.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from functools import cached_property

import msgspec

from ...models import Amounts, ClaimSpec, Node, PodSpec, PoolDevice
from . import body_devices as body
from .body_pod import PodBody
from .device_claims import DeviceClaims, Held
from .device_slices import Selection, device_of
from .extended_resources import CLAIM_NAME
from .meta import Thing
from .reader import Objects

GPU_CLASS, GPU = "gpu.nvidia.com", "nvidia.com/gpu"
_BY_CLASS = "deviceclass/"
_UNIT = 1000


@dataclass
class Charges:
    """Which classes are charged as which resources."""

    claims: DeviceClaims = field(default_factory=DeviceClaims)
    resources: dict[str, tuple[str, ...]] = field(default_factory=dict)
    _specs: dict[tuple[int, Amounts, Amounts], tuple[PodSpec, PodSpec]] = field(
        default_factory=dict
    )

    @classmethod
    def of(cls, objects: Objects, claims: DeviceClaims) -> "Charges":
        named: set[str] = set()
        for t in objects.of("scheduling.volcano.sh", "Queue"):
            spec = t.body.spec
            guarantee = spec.guarantee.resource if spec and spec.guarantee else None
            for amounts in (spec.capability, spec.deserved, guarantee) if spec else ():
                named.update(amounts or ())
        resources: dict[str, tuple[str, ...]] = {}
        for name, thing in claims.slices.classes.items():
            told: body.ClassSpec = thing.body.spec or body.ClassSpec()
            found = {GPU} if name == GPU_CLASS else set[str]()
            if told.extended_resource_name:
                found.add(told.extended_resource_name)
            if _BY_CLASS + name in named:
                found.add(_BY_CLASS + name)
            if found and claims.slices.parts:
                resources[name] = tuple(sorted(found))
        return cls(claims, resources)

    def charged(self, thing: Thing, spec: PodSpec, held: Held) -> PodSpec:
        """Return the spec with what its claims count for added to its requests."""
        if not self.resources:
            return spec
        pod: PodBody = thing.body
        on_node = bool(pod.spec and pod.spec.node_name)
        units: Counter[str] = Counter()
        if on_node:
            units.update(self._of_devices(d for d in held.devices if d not in held.extended))
        for c in spec.claims:
            if c.name == CLAIM_NAME:
                units.update(self._beside(c.spec))
            elif c.claim:
                if self._pays(thing, c.claim):
                    claim = self.claims.named[c.claim]
                    units.update(
                        self._of_devices(claim.devices)
                        if claim.allocated
                        else self._of_spec(claim.spec)
                    )
            elif not on_node:
                units.update(self._of_spec(c.spec))
        plain = {r for of in self.resources.values() for r in of if not r.startswith(_BY_CLASS)}
        plugged = Amounts({r: v for r, v in spec.requests.items() if r in plain})
        more = Amounts({r: n * _UNIT for r, n in units.items()})
        if not more and not plugged:
            return spec
        memo = (id(spec), more, plugged)
        if memo not in self._specs:
            made = msgspec.structs.replace(spec, requests=spec.requests.plus(more), plugged=plugged)
            self._specs[memo] = (spec, made)
        return self._specs[memo][1]

    def _beside(self, spec: ClaimSpec) -> Counter[str]:
        """Return what devices for extended resources count for besides the resource itself."""
        out: Counter[str] = Counter()
        for [r] in spec.requests:
            told = self.resources.get(r.selection, ())
            out.update({resource: r.count for resource in told if resource != r.resource})
        return out

    def _pays(self, thing: Thing, claim: str) -> bool:
        """Say whether the pod is the one that a claim of several pods is charged to."""
        users = self.claims.users.get(claim, ())
        # Pods that are over use nothing: a claim of such pods alone is charged to nobody.
        first = min(
            users,
            key=lambda t: (not (t.body.spec and t.body.spec.node_name), t.key),
            default=None,
        )
        return first is thing

    def _devices_of(self, kind: str) -> Mapping[str, None]:
        """Return the devices of a class, with the tainted ones that some request bears."""
        asked = [s for s in self.claims.selections.values() if s.kind == kind and s.tolerations]
        bearing = {Selection(kind, ()), *(Selection(kind, (), s.tolerations) for s in asked)}
        found = [self.claims.slices.taken(s) for s in bearing]
        return {d: None for of in found if not isinstance(of, str) for d in of}

    @cached_property
    def _in_parts(self) -> AbstractSet[str]:
        """Devices that may be allocated several times: a part of one is charged to nobody."""
        return {p.id for p in self.claims.slices.parts if p.multiple}

    def _of_devices(self, devices: Iterable[str]) -> Counter[str]:
        out: Counter[str] = Counter()
        for kind, resources in self.resources.items():
            there = self._devices_of(kind)
            n = sum(d in there and d not in self._in_parts for d in devices)
            out.update(dict.fromkeys(resources, n))
        return out

    def _of_spec(self, spec: ClaimSpec) -> Counter[str]:
        """Return the least that a claim may come to: of alternatives the smallest."""
        out: Counter[str] = Counter()
        for alternatives in spec.requests:
            told: list[Counter[str]] = []
            for r in alternatives:
                selection = self.claims.selections[r.selection]
                n = 0 if r.admin else self._least(r.selection) if r.all else r.count
                if not self._in_parts.isdisjoint(self.claims.slices.taken(selection)):
                    n = 0
                told.append(Counter(dict.fromkeys(self.resources.get(selection.kind, ()), n)))
            for resource in {x for c in told for x in c}:
                out[resource] += min(c[resource] for c in told)
        return out

    def _least(self, selection: str) -> int:
        """Return of how few devices All may be."""
        found = self.claims.slices.taken(self.claims.selections[selection])
        by_node = Counter(
            p.node for p in self.claims.slices.parts if p.node is not None and p.id in found
        )
        return min(by_node.values(), default=1)

    def with_devices(self, nodes: Iterable[Node]) -> list[Node]:
        """Return the nodes with their devices; charged ones are part of what is allocatable."""
        claims = self.claims
        chosen = {name: claims.slices.taken(s) for name, s in claims.selections.items()}
        in_use, drawn = claims.taken()
        told = {k: {*self.resources.get(k, ()), *claims.implicit.get(k, ())}
                for k in (*self.resources, *claims.implicit)}  # fmt: skip
        kinds = {k: self._devices_of(k) for k in told}
        on: dict[str, list[PoolDevice]] = {}
        offered: dict[str, Counter[str]] = {}
        for part in claims.slices.parts if claims.selections else ():
            if part.node is None:
                continue
            # A device of several classes that are charged alike is still one.
            of = {r for kind, there in kinds.items() if part.id in there for r in told[kind]}
            if of:
                offered.setdefault(part.node, Counter()).update(of)
            names = {
                n: claims.selections[n].capacity
                for n, in_ in chosen.items()
                if not isinstance(in_, str) and part.id in in_
            }
            if names or part.counters:
                made = device_of(part, names, claims.compared, part.id in in_use)
                on.setdefault(part.node, []).append(made)
        out = [self._with(n, on.get(n.name, []), offered.get(n.name, Counter())) for n in nodes]
        return [self._less(n, drawn) for n in out] if drawn else out

    def _less(self, node: Node, drawn: Mapping[str, int]) -> Node:
        """Return the node without what others have of its devices' capacity."""
        left = {c: n - drawn.get(c, 0) for c, n in node.counters.items()}
        return node if left == node.counters else msgspec.structs.replace(node, counters=left)

    def _with(self, node: Node, devices: list[PoolDevice], offered: Counter[str]) -> Node:
        if not devices:
            return self._plugged_alone(node)
        counters = self.claims.slices.counters.get(node.name, {})
        return msgspec.structs.replace(
            node,
            allocatable=node.allocatable.plus({r: n * _UNIT for r, n in offered.items()}),
            pool_devices=tuple(devices),
            counters=dict(sorted(counters.items())),
            plugged={
                r: node.allocatable[r] for r in sorted(offered) if not r.startswith(_BY_CLASS)
            },
        )

    def _plugged_alone(self, node: Node) -> Node:
        """Return a node whose plug-in gives what claims are charged as, with what goes beside it.

        A pod is charged before it has a node, for whatever its devices count as.
        """
        more: dict[str, int] = {}
        for resource, kind in self.claims.kinds.items():
            for beside in self.resources.get(kind, ()):
                if node.allocatable[resource] and not node.allocatable[beside]:
                    more[beside] = node.allocatable[resource]
        return (
            msgspec.structs.replace(node, allocatable=node.allocatable.plus(more)) if more else node
        )
