"""Resource claims: devices of a node serve all the claims of the pods that start there.

Claims of resource.k8s.io/v1 (KEP-4381): counts, selectors, All, firstAvailable, equal attributes,
shared counters (KEP-4815), admin access (KEP-5018), claims of several pods, extended resources that
no device plug-in of the node has (KEP-5004), and devices that many have parts of (KEP-5075).
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..models import GroupKey, Node, Pod, PodSpec, Reason, Violation
from ..models.quantity import show
from .allocation import Ask, allocate, in_parts
from .allocation_rows import tell_devices
from .allocation_tracker import AllocationTracker
from .allocation_use import AllocationUse, may_use, named_claims, own_asks
from .api import NodeFeatures
from .outcome import Outcome
from .podset import PodSet
from .tracker import World

if TYPE_CHECKING:
    from .board import Board


@dataclass(frozen=True, slots=True)
class ResourceClaims:
    """Per node: free devices and counters can be shared out among all claims that start there."""

    name: str = "resource-claims"

    # A pod and a node

    def sees(self, pods: PodSet) -> NodeFeatures:
        spec = pods.spec
        return NodeFeatures(
            pools=bool(spec.claims or spec.plugged), plugged=frozenset(_extended(spec))
        )

    def refuse(self, pods: PodSet, node: Node) -> Reason | None:
        said = problem_of(pods.sample)
        if not said:
            by_claims = _extended(pods.spec)
            for resource, amount in pods.spec.plugged.items():
                there = node.plugged.get(resource)
                # Where no plug-in has any of it, devices of its class serve it.
                claimed = not there and resource in by_claims
                if there is not None and amount > there and not claimed:
                    said = f"has {show(there, resource)} {resource} for its device plug-in to give"
        asks = own_asks(pods.sample, node) if not said else []
        # Who runs may have begun a device in parts, though its counters are overdrawn by now.
        begun = in_parts((node,)) if asks else frozenset[str]()
        if asks and allocate(node, frozenset(), [Ask(a) for a in asks], begun=begun) is None:
            wanted = sorted({r.selection for a in asks for of in a.requests for r in of})
            said = f"has no devices that could serve its claims ({', '.join(wanted)})"
        return Reason(self.name, f"node {node.name}", said) if said else None

    # A group

    def hold(self, outcome: Outcome, group: str) -> Iterable[Reason]:
        """Hold a group that cannot reach its minimum with the members whose claims are sound."""
        if not outcome.scene.asks("claims"):
            return
        m = outcome.scene.roster[GroupKey(group)]
        bad = [p for p in m.pending if problem_of(p)]
        good = [p for p in m.pending if not problem_of(p)]
        if not bad or ((good or m.running) and m.is_whole([*m.running, *good])):
            return
        yield Reason(self.name, f"pod {bad[0].key}", problem_of(bad[0]))

    # A plan

    def track(self, world: World) -> AllocationTracker:
        return AllocationTracker(world)

    def check(self, outcome: Outcome) -> Iterable[Violation]:
        if not any(p.spec.claims for p, _ in outcome.new_pods):
            return
        use = AllocationUse(outcome)
        yield from self._shared(outcome, use)
        for i, wanted in sorted(use.wanted.items()):
            about = f"node {outcome.scene.nodes[i].name}"
            served = use.served(i) if wanted.asks else []
            if served is None:
                said = "its devices cannot serve all the claims that would start there"
                yield Violation(self.name, about, said)
                continue
            early = use.waits(i, served, outcome.bound) & outcome.bound if outcome.bound else ()
            for key in sorted(early):
                said = f"is bound to {about} before others have left what its claims get"
                yield Violation(self.name, f"pod {key}", said)
            for owner, devices in zip(wanted.owners, served, strict=True):
                named = use.named.get(owner)
                given = {d.id for r, d in devices if not r.admin}
                if named is not None and named != given:
                    more = ", ".join(sorted(named - given))
                    said = f"claim {' '.join(filter(None, owner))} would be given {more} besides"
                    yield Violation(self.name, about, said)

    def _shared(self, outcome: Outcome, use: AllocationUse) -> Iterable[Violation]:
        """A claim of several pods is served once: where its devices are, or all on one node."""
        nodes = outcome.scene.nodes
        first: dict[str, tuple[Pod, int]] = {}
        for p, i in outcome.new_pods:
            for key in named_claims(p):
                claim = use.claims.get(key)
                about = f"pod {p.key}"
                if claim is None:
                    yield Violation(self.name, about, f"ResourceClaim {key} is not there")
                elif claim.allocated:
                    if not may_use(claim, nodes[i]):
                        said = f"the devices of its claim {key} cannot be used on {nodes[i].name}"
                        yield Violation(self.name, about, said)
                else:
                    q, j = first.setdefault(key, (p, i))
                    if j != i:
                        said = f"shares claim {key} with {q.key}, which is on {nodes[j].name}"
                        yield Violation(self.name, about, said)

    def constrain(self, board: "Board") -> None:
        tell_devices(board, self.name)


def _extended(spec: PodSpec) -> set[str]:
    """Return the extended resources that devices may serve."""
    asked = (r.resource for c in spec.claims for of in c.spec.requests for r in of)
    return set(filter(None, asked))


def problem_of(pod: Pod) -> str:
    """Return why nothing can be allocated to some claim of the pod; "" if nothing is wrong."""
    return next((c.problem for c in pod.spec.claims if c.problem), "")
