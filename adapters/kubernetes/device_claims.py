"""Device claims resolved: what each pod's claims ask for, what they have, who shares them."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import msgspec

from ...models import Claim, ClaimSpec, DeviceMatch, DeviceRequest, NodeSelectorTerm, PodSpec
from ...models import PodClaim as OfPod
from . import body_devices as body
from .body_pod import NodeSelectorBody, PodBody, PodSpecBody, ResourceClaimBody
from .device_capacity import Asked, named, thousandths
from .device_slices import Selection, Slices, slices_of
from .extended_resources import CLAIM_NAME, IMPLICIT, OF_EXTENDED, classes_by_resource, requests_of
from .faults import Faults, Ledger
from .meta import Thing
from .reader import Objects
from .selectors import node_term
from .shape import shaped

_API = "resource.k8s.io"
_OF_POD = "resource.kubernetes.io/pod-claim-name"
_ADMIN = "resource.kubernetes.io/admin-access"


@dataclass(frozen=True, slots=True)
class Held:
    """What is known of a pod's claims besides its spec."""

    devices: tuple[str, ...] = ()
    extended: frozenset[str] = frozenset()
    """Those of them that serve extended resources."""
    draws: Mapping[str, int] = field(default_factory=dict)
    """What they take of the capacity of devices that may be allocated several times."""
    names: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class DeviceClaims:
    """The claims of the input, resolved pod by pod."""

    slices: Slices = field(default_factory=Slices)
    claims: dict[str, Thing] = field(default_factory=dict)
    templates: dict[str, Thing] = field(default_factory=dict)
    admins: frozenset[str] = frozenset()
    """Namespaces that may have admin access."""
    ledger: Ledger = field(default_factory=Ledger)
    users: dict[str, list[Thing]] = field(default_factory=dict)
    """Whose each claim is; pods that are over have none."""
    named: dict[str, Claim] = field(default_factory=dict)
    """The claims of the snapshot."""
    selections: dict[str, Selection] = field(default_factory=dict)
    compared: set[str] = field(default_factory=set)
    given: set[str] = field(default_factory=set)
    """Claims whose devices pods or claims of the snapshot have."""
    kinds: Mapping[str, str] = field(default_factory=dict)
    """The classes that serve extended resources, by resource."""
    implicit: dict[str, set[str]] = field(default_factory=dict)
    """By class, the resource that follows from its name, where a pod asks for it."""
    _of_pods: dict[tuple[str, str], str] = field(default_factory=dict)
    _read: dict[bytes, tuple[ClaimSpec, str]] = field(default_factory=dict)
    _specs: dict[tuple[int, tuple[OfPod, ...]], tuple[PodSpec, PodSpec]] = field(
        default_factory=dict
    )

    @classmethod
    def of(cls, objects: Objects, ledger: Ledger) -> "DeviceClaims":
        admins = (t.name for t in objects.of("", "Namespace") if t.labels.get(_ADMIN) == "true")
        claims = {t.key: t for t in objects.of(_API, "ResourceClaim")}
        of_pods = {
            (f"{t.namespace}/{t.owner.name}", t.annotations[_OF_POD]): t.key
            for t in claims.values()
            if t.owner is not None and t.owner.kind == "Pod" and _OF_POD in t.annotations
        }
        of_pods |= {
            (f"{t.namespace}/{t.owner.name}", CLAIM_NAME): t.key
            for t in claims.values()
            if t.owner is not None and t.owner.kind == "Pod"
            and t.annotations.get(OF_EXTENDED) == "true"
        }  # fmt: skip
        slices = slices_of(
            objects.of(_API, "ResourceSlice"),
            objects.of(_API, "DeviceClass"),
            ledger,
            objects.of(_API, "DeviceTaintRule"),
        )
        return cls(
            slices, claims, {t.key: t for t in objects.of(_API, "ResourceClaimTemplate")},
            frozenset(admins), ledger, _of_pods=of_pods,
            kinds=_usable(slices, ledger) if slices.parts else {},
        )  # fmt: skip

    def note_users(self, pods: Iterable[Thing]) -> None:
        """Note which of the pods, none of which is over, has which claim."""
        for thing in pods:
            spec = thing.body.spec or PodSpecBody()
            for raw in spec.resource_claims or ():
                key = self._key(thing, raw)
                if key:
                    self.users.setdefault(key, []).append(thing)

    def with_claims(self, thing: Thing, spec: PodSpec) -> tuple[PodSpec, Held]:
        """Return the spec with the pod's device claims, and what they have."""
        pod: PodBody = thing.body
        raws = (pod.spec.resource_claims if pod.spec else None) or ()
        by_claims = not self.kinds.keys().isdisjoint(spec.requests)
        if not raws and not by_claims:
            return spec, Held()
        found: list[OfPod] = []
        devices: list[str] = []
        draws: Counter[str] = Counter()
        names: dict[str, str] = {}
        for raw in raws:
            claim, has, key = self._resolved(thing, raw)
            found.append(claim)
            devices += has
            draws.update(self._draws(key) if has else {})
            if key:
                names[raw.name or ""] = key
        extended: tuple[str, ...] = ()
        if by_claims:
            claim, extended, key = self._extended(thing, pod.spec or PodSpecBody())
            found.append(claim)
            devices += extended
            draws.update(self._draws(key) if extended else {})
            if key:
                names[CLAIM_NAME] = key
        memo = (id(spec), tuple(found))
        if memo not in self._specs:
            made = msgspec.structs.replace(spec, claims=tuple(found))
            self._specs[memo] = (spec, made)
        return self._specs[memo][1], Held(
            tuple(sorted(devices)), frozenset(extended), dict(draws), names
        )

    def _draws(self, key: str) -> Mapping[str, int]:
        """Return what the claim, whose pod is in the snapshot, takes of capacities."""
        self.given.add(key)
        status: body.ClaimStatus = self.claims[key].body.status or body.ClaimStatus()
        return draws_of(status.allocation) if status.allocation is not None else {}

    def _extended(self, thing: Thing, spec: PodSpecBody) -> tuple[OfPod, tuple[str, ...], str]:
        """Return the claim of the pod's extended resources, the devices that it has, and its key.

        Where it has devices and its pod no node yet, it is one of the snapshot: they are kept.
        """
        asked = ClaimSpec(tuple((r,) for r in requests_of(spec, self.kinds)[0]))
        for [r] in asked.requests:
            self.selections[r.selection] = Selection(r.selection, ())
            if r.resource == IMPLICIT + r.selection:
                self.implicit.setdefault(r.selection, set()).add(r.resource)
        status = thing.body.status
        told = status.extended_resource_claim_status if status else None
        key = self._of_pods.get((thing.key, CLAIM_NAME), "")
        if told is not None and told.resource_claim_name:
            key = f"{thing.namespace}/{told.resource_claim_name}"
        claim = self.claims.get(key)
        if claim is None:
            return OfPod(CLAIM_NAME, "", asked), (), ""
        has: body.ClaimStatus = claim.body.status or body.ClaimStatus()
        if has.allocation is None:
            return OfPod(CLAIM_NAME, "", asked), (), key
        if spec.node_name:
            return OfPod(CLAIM_NAME, "", asked), devices_of(has.allocation), key
        return OfPod(CLAIM_NAME, self._name(claim, asked), asked), (), key

    def _key(self, thing: Thing, raw: ResourceClaimBody) -> str:
        """Return the key of the claim's object; "" if it is not made yet."""
        if raw.resource_claim_name:
            return f"{thing.namespace}/{raw.resource_claim_name}"
        pod: PodBody = thing.body
        for status in (pod.status.resource_claim_statuses if pod.status else None) or ():
            if status.name == raw.name and status.resource_claim_name:
                return f"{thing.namespace}/{status.resource_claim_name}"
        return self._of_pods.get((thing.key, raw.name or ""), "")

    def _resolved(self, thing: Thing, raw: ResourceClaimBody) -> tuple[OfPod, tuple[str, ...], str]:
        """Return the pod's claim, the devices that it has alone, and its object's key."""
        name, key = raw.name or "", self._key(thing, raw)
        if not key or (key not in self.claims and not raw.resource_claim_name):
            return self._from_template(thing, name, raw.resource_claim_template_name), (), ""
        claim = self.claims.get(key)
        if claim is None:
            title = f"ResourceClaim {key}"
            said = "was rejected; correct it" if self.ledger.refused(title) else (
                "not found; create it"
            )  # fmt: skip
            return OfPod(name, problem=f"{title} {said}"), (), key
        spec, problem = self._spec(claim.namespace, claim.body.spec or body.ClaimSpec())
        status: body.ClaimStatus = claim.body.status or body.ClaimStatus()
        on_node = bool(thing.body.spec and thing.body.spec.node_name)
        shared = len(self.users.get(key, ())) > 1
        if status.allocation is not None and (shared or not on_node):
            return OfPod(name, self._name(claim, spec)), (), key
        if claim.deleted_s is not None and not on_node:
            problem = f"{claim.title} is being deleted; make it anew"
        if problem:
            problem = f"{claim.title}: {problem}"
        if shared and not problem:
            return OfPod(name, self._name(claim, spec)), (), key
        has = devices_of(status.allocation) if status.allocation is not None else ()
        return OfPod(name, "", spec, problem), has, key

    def _from_template(self, thing: Thing, name: str, template: str | None) -> OfPod:
        key = f"{thing.namespace}/{template}"
        found = self.templates.get(key) if template else None
        if found is None:
            title = f"ResourceClaimTemplate {key}"
            refused = self.ledger.refused(title)
            said = f"{title} {'was rejected; correct it' if refused else 'not found; create it'}"
            if not template:
                said = f"claim {name} names neither a ResourceClaim nor a ResourceClaimTemplate"
            return OfPod(name, problem=said)
        inner = found.body.spec.spec if found.body.spec else None
        spec, problem = self._spec(thing.namespace, inner or body.ClaimSpec())
        return OfPod(name, "", spec, f"{found.title}: {problem}" if problem else "")

    def _name(self, thing: Thing, spec: ClaimSpec) -> str:
        """Put the claim into the snapshot."""
        if thing.key not in self.named:
            status: body.ClaimStatus = thing.body.status or body.ClaimStatus()
            made = Claim(thing.namespace, thing.name, spec)
            if status.allocation is not None:
                made = msgspec.structs.replace(
                    made,
                    allocated=True,
                    devices=devices_of(status.allocation),
                    draws=self._draws(thing.key),
                    nodes=self._nodes(thing, status.allocation),
                )
            self.named[thing.key] = made
        return thing.key

    def _nodes(
        self, thing: Thing, allocation: body.AllocationBody
    ) -> tuple[NodeSelectorTerm, ...] | None:
        if allocation.node_selector is None:
            return None
        path, faults = "status.allocation.nodeSelector", Faults()
        selector, found = shaped(allocation.node_selector, NodeSelectorBody)
        faults.extend(found, under=path)
        bodies = (selector.node_selector_terms if selector else None) or ()
        terms = [
            node_term(t, f"{path}.nodeSelectorTerms[{i}]", faults) for i, t in enumerate(bodies)
        ]
        self.ledger.reject(thing.title, faults)
        return () if faults else tuple(terms)

    # What a claim asks for

    def _spec(self, namespace: str, spec: body.ClaimSpec) -> tuple[ClaimSpec, str]:
        """Return what the claim asks for, and why it cannot be served ("": it can)."""
        memo = msgspec.json.encode([namespace in self.admins, spec.model_dump(mode="json")])
        if memo not in self._read:
            reading = _Reading(self, namespace in self.admins)
            made = reading.spec(spec)
            self._read[memo] = (made, reading.problem)
        return self._read[memo]

    def taken(self) -> tuple[set[str], Counter[str]]:
        """Return devices that claims have which are nobody's of the snapshot, and their draws."""
        devices: set[str] = set()
        draws: Counter[str] = Counter()
        for t in self.claims.values():
            status: body.ClaimStatus = t.body.status or body.ClaimStatus()
            if status.allocation is not None and t.key not in self.given:
                devices.update(devices_of(status.allocation))
                draws.update(draws_of(status.allocation))
        return devices, draws


def _usable(slices: Slices, ledger: Ledger) -> dict[str, str]:
    """Return by extended resource the class that serves it, where its devices can be selected."""
    out: dict[str, str] = {}
    for resource, kind in classes_by_resource(slices.classes.values()).items():
        found = slices.taken(Selection(kind, ()))
        if not isinstance(found, str):
            out[resource] = kind
        elif not resource.startswith(IMPLICIT):
            ledger.warn(slices.classes[kind].title, "spec", f"serves no {resource}: {found}")
    return out


class _Reading:
    """Reads one claim; notes the first thing that is wrong with it."""

    def __init__(self, claims: DeviceClaims, admin: bool) -> None:
        self._claims = claims
        self._admin = admin
        self.problem = ""

    def spec(self, spec: body.ClaimSpec) -> ClaimSpec:
        devices = spec.devices or body.Devices()
        requests = tuple(self._alternatives(r) for r in devices.requests or ())
        rules = tuple(m for c in devices.constraints or () if (m := self._match(c)) is not None)
        self._claims.compared.update(m.attribute for m in rules)
        return ClaimSpec(requests, rules)

    def _wrong(self, message: str) -> None:
        self.problem = self.problem or message

    def _alternatives(self, request: body.Request) -> tuple[DeviceRequest, ...]:
        if request.first_available:
            return tuple(self._one(s, f"{request.name}/{s.name}") for s in request.first_available)
        return (self._one(request.exactly or request, request.name),)

    def _one(self, asked: body.Exactly, name: str) -> DeviceRequest:
        every = asked.allocation_mode == "All"
        if asked.allocation_mode not in (None, "", "All", "ExactCount"):
            self._wrong(f"request {name}: allocationMode {asked.allocation_mode!r} is not known")
        admin = bool(asked.admin_access)
        if admin and not self._admin:
            self._wrong(f"request {name} has admin access, and its namespace has no label {_ADMIN}")
        selection = Selection(
            asked.device_class_name,
            tuple(s.cel.expression if s.cel else "" for s in asked.selectors or ()),
            tuple(sorted((t.key, t.operator, t.value, t.effect) for t in asked.tolerations or ())),
            _capacity(asked.capacity),
        )
        said = self._claims.slices.problem(selection)
        if said:
            self._wrong(f"request {name}: {said}")
        self._claims.selections[selection.name] = selection
        count = 1 if asked.count is None else asked.count
        return DeviceRequest(name, selection.name, 0 if every else count, every, admin)

    def _match(self, c: body.Constraint) -> DeviceMatch | None:
        attribute = c.match_attribute or c.distinct_attribute
        if not attribute:
            self._wrong("a constraint has neither matchAttribute nor distinctAttribute")
            return None
        distinct = not c.match_attribute
        return DeviceMatch(attribute, tuple(sorted(c.requests or ())), distinct)


def _capacity(asked: body.CapacityAsked | None) -> Asked:
    """Return what a request asks of capacities, amounts as text."""
    told = (asked.requests if asked is not None else None) or {}
    return tuple(sorted((k, str(v)) for k, v in told.items()))


def devices_of(allocation: body.AllocationBody) -> tuple[str, ...]:
    """Return the devices that an allocation takes; admin access takes none."""
    results = (allocation.devices.results if allocation.devices else None) or ()
    ids = {f"{r.driver}/{r.pool}/{r.device}" for r in results if not r.admin_access}
    return tuple(sorted(ids))


def draws_of(allocation: body.AllocationBody) -> dict[str, int]:
    """Return what an allocation takes of capacities, by ``driver/pool/name/capacity``."""
    out: Counter[str] = Counter()
    for r in (allocation.devices.results if allocation.devices else None) or ():
        for name, amount in (r.consumed_capacity or {}).items():
            key = f"{r.driver}/{r.pool}/{r.device}/{named(name, r.driver)}"
            out[key] += 0 if r.admin_access else thousandths(amount)
    return dict(out)
