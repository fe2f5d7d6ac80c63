"""A plan: what starts where, who is evicted for whom, who waits and why, and how good that is.

A plan never applies itself. Its JSON (camelCase keys) is public and stable; see docs/formats.md.
"""

import hashlib
from collections.abc import Mapping
from typing import Any, Literal

from msgspec.structs import replace

from .amounts import ZERO, Amounts
from .names import GroupKey, NodeName, PodKey
from .notes import Reason, Rejected, Warned
from .snapshot import API_VERSION, Snapshot
from .value import Value, from_data, to_data, to_json

KIND = "Plan"


class Bind(Value, frozen=True, order=True):
    """A pod that starts now."""

    pod: PodKey
    group: GroupKey
    node: NodeName
    devices: tuple[int, ...] = ()
    """Indexes of the devices that it gets, where devices of the node are shared."""
    advisory: bool = False
    """The devices are whole: the kubelet picks them, and these are only what is left."""


class Nomination(Value, frozen=True, order=True):
    """A pod that is promised a place, once evicted or terminating pods are gone from it."""

    pod: PodKey
    group: GroupKey
    node: NodeName
    devices: tuple[int, ...] = ()
    advisory: bool = False


class Eviction(Value, frozen=True):
    """A running pod that makes room; ``for`` is empty where a broken gang is given up."""

    pod: PodKey
    group: GroupKey
    node: NodeName
    beneficiaries: tuple[GroupKey, ...] = ()
    reason: str = ""
    cost: Mapping[str, int] = {}
    """priority, gangBroken (0 or 1), lostDeviceSeconds, ageSeconds."""


class Move(Value, frozen=True, order=True):
    """A running pod that is evicted to run again elsewhere, so that a group can start."""

    pod: PodKey
    group: GroupKey
    node: NodeName
    """Where it is to run again."""
    room_for: GroupKey
    """The group that starts thanks to it."""
    devices: tuple[int, ...] = ()
    advisory: bool = False


class Admission(Value, frozen=True, order=True):
    """A group without pods that is let in: its minResources count until its pods come."""

    group: GroupKey
    reserved: Amounts = ZERO


class NewGeometry(Value, frozen=True, order=True):
    """How an idle GPU would have to be cut for groups that wait; somebody has to do it."""

    node: NodeName
    device: int
    """Which of the node's GPUs: a number among equals, no index."""
    slices: tuple[tuple[str, int], ...]
    """Profile and start of each slice."""
    groups: tuple[GroupKey, ...]
    """Those that could start then."""


class AllocatedDevice(Value, frozen=True, order=True, omit_defaults=False):
    """A device that a request of a claim gets."""

    request: str
    driver: str
    pool: str
    device: str
    admin_access: bool = False
    multiple: bool = False
    """It may be allocated several times: others may have parts of it as well."""
    consumed: tuple[tuple[str, int], ...] = ()
    """What of its capacity this takes, in thousandths."""

    @property
    def id(self) -> str:
        return f"{self.driver}/{self.pool}/{self.device}"


class Allocation(Value, frozen=True, order=True, omit_defaults=False):
    """What a claim gets where its pod starts."""

    pod: PodKey
    claim: str
    """As the pod calls it."""
    resource_claim: str
    """``namespace/name``; empty where the claim is still to be made from its template."""
    node: NodeName
    devices: tuple[AllocatedDevice, ...] = ()


class Held(Value, frozen=True, omit_defaults=False):
    """A group that wants more than it gets, and why."""

    group: GroupKey
    pods: tuple[PodKey, ...] = ()
    reasons: tuple[Reason, ...] = ()


class QueueRow(Value, frozen=True, omit_defaults=False):
    """A queue after the plan. Amounts in canonical units."""

    name: str
    allocated: Amounts
    deserved: Mapping[str, int]
    entitlement: Amounts
    dominant_share: float
    parent: str | None = None


class TierRow(Value, frozen=True, omit_defaults=False):
    """One tier of the objective: what was reached and what cannot be surpassed."""

    tier: int
    name: str
    unit: str
    sense: Literal["max", "min"]
    value: int
    bound: int | None
    gap: float | None


class SolverRow(Value, frozen=True, omit_defaults=False):
    """How the answer was found."""

    engine: Literal["exact", "improve", "greedy"] = "greedy"
    status: Literal["optimal", "feasible", "fallback"] = "feasible"
    gap: float | None = None
    """The worst gap of the repair and admission tiers."""
    order_proven: bool = False
    """The order list (docs/design/order.md) was gone through to its end, and nothing objects."""
    exchanges: int = 0
    """How often an objection of the order list was followed after the search."""
    wall_seconds: float | None = None
    seed: int = 1
    detail: str = ""
    """Why the engine is what it is, where that is not plain: "child killed at 1.0 s"."""


class Settled(Value, frozen=True, omit_defaults=False):
    """What a pretend cluster came to rest at: pod to place, one entry per eviction."""

    cycles: int
    stable: bool
    running: Mapping[PodKey, Mapping[str, Any]]
    evicted: tuple[PodKey, ...]


class Plan(Value, frozen=True, omit_defaults=False):
    """The answer of one cycle."""

    snapshot: str
    """Digest of the snapshot it was made for; "" where nobody has asked for it (:func:`named`)."""
    config: str
    binds: tuple[Bind, ...] = ()
    evictions: tuple[Eviction, ...] = ()
    nominations: tuple[Nomination, ...] = ()
    moves: tuple[Move, ...] = ()
    """Not written where there are none; the pods are among the evictions as well."""
    admissions: tuple[Admission, ...] = ()
    allocations: tuple[Allocation, ...] = ()
    held: tuple[Held, ...] = ()
    geometries: tuple[NewGeometry, ...] = ()
    rejected: tuple[Rejected, ...] = ()
    warnings: tuple[Warned, ...] = ()
    queues: tuple[QueueRow, ...] = ()
    objective: tuple[TierRow, ...] = ()
    settled: Settled | None = None
    solver: SolverRow = SolverRow()

    @property
    def places(self) -> dict[PodKey, NodeName]:
        """Node of every pod that the plan starts, now or once its place is free."""
        now = {b.pod: b.node for b in self.binds}
        return now | {n.pod: n.node for n in self.nominations}

    @property
    def moved(self) -> dict[PodKey, NodeName]:
        """Node of every pod that is evicted to run again elsewhere."""
        return {m.pod: m.node for m in self.moves}

    @property
    def devices(self) -> dict[PodKey, tuple[int, ...]]:
        """Devices that the plan gives to shares; those of whole devices are only advice."""
        starts: tuple[Bind | Nomination, ...] = (*self.binds, *self.nominations)
        return {b.pod: b.devices for b in starts if b.devices and not b.advisory}

    @property
    def digest(self) -> str:
        return "sha256:" + hashlib.sha256(to_json(_body(self))).hexdigest()


def named(plan: Plan, snapshot: Snapshot) -> Plan:
    """Return the plan with the digest of the snapshot that it was made for."""
    return plan if plan.snapshot else replace(plan, snapshot=snapshot.digest)


def _body(plan: Plan) -> dict[str, Any]:
    body: dict[str, Any] = to_data(plan)
    body = {k: v for k, v in body.items() if v is not None and (v or k != "moves")}
    for e in body["evictions"]:
        e["for"] = e.pop("beneficiaries", [])
    return body


def to_document(plan: Plan) -> dict[str, Any]:
    """Return the public JSON document, with its digest."""
    return {"apiVersion": API_VERSION, "kind": KIND, "digest": plan.digest, **_body(plan)}


def from_document(data: Mapping[str, Any]) -> Plan:
    """Read a plan's document; unknown keys are passed over.

    Raises
    ------
    ValueError
        With the path of what cannot be read.
    """
    body = {k: v for k, v in data.items() if k not in ("apiVersion", "kind", "digest")}
    body.setdefault("snapshot", "")
    body.setdefault("config", "")
    evictions = body.get("evictions", [])
    if isinstance(evictions, list | tuple):
        body["evictions"] = [
            {**e, "beneficiaries": e.get("for", [])} if isinstance(e, dict) else e
            for e in evictions
        ]
    return from_data(body, Plan)
