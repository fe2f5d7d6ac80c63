"""Queues as their objects declare them: Volcano's, KAI's and ElasticQuotas."""

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction

from ...models import UNLIMITED, QueueState, Reclaims
from ...models.quantity import parse_signed
from ..paths import below
from .body_queue import (
    KaiQueue,
    KaiQueueSpec,
    KaiResources,
    KaiShare,
    VolcanoQueue,
    VolcanoQueueSpec,
    VolcanoQueueStatus,
)
from .body_rare import ElasticQuota
from .faults import Faults, Ledger
from .meta import Thing
from .pods import go_bool
from .resources import amounts
from .times import duration_s

NAMESPACES = "apportion.dev/namespaces"
_ALLOWED = "allowed-namespaces"
_NOT_USED = "is not used yet"
_KAI_PRIORITY = 100
_GPU = "nvidia.com/gpu"
VOLCANO_ROOT = "root"
_KOORDINATOR = "quota.scheduling.koordinator.sh/"
_KOORDINATOR_ROOTS = ("", VOLCANO_ROOT, "koordinator-root-quota")


@dataclass(slots=True)
class QueueDraft:
    """What is known of a queue before the tree is checked."""

    name: str
    title: str
    api: str = ""
    """The group of the API, where another one has a kind of the same name."""
    parent: str = ""
    """"": directly below the root."""
    weight: Fraction = Fraction(1)
    priority: int = 0
    capability: dict[str, int] = field(default_factory=dict)
    deserved: dict[str, int] = field(default_factory=dict)
    guarantee: dict[str, int] = field(default_factory=dict)
    reclaimable: bool = True
    preempts: bool = True
    reclaims: Reclaims = Reclaims.ANY
    preempt_min_runtime_s: int | None = None
    reclaim_min_runtime_s: int | None = None
    state: QueueState = QueueState.OPEN
    namespaces: frozenset[str] | None = None
    created_s: int = 0
    path_of: Callable[[str, str], str] = lambda part, resource: below(f"spec.{part}", resource)
    """Where the object says the part ("deserved", "capability") for the resource."""


def volcano_queue(thing: Thing, ledger: Ledger) -> QueueDraft | None:
    """Return the queue; None for the object of the root, and for a bad one (then rejected)."""
    body: VolcanoQueue = thing.body
    spec, status = body.spec or VolcanoQueueSpec(), body.status or VolcanoQueueStatus()
    faults = Faults()
    draft = QueueDraft(
        name=thing.name,
        title=thing.title,
        api=thing.group,
        parent="" if spec.parent in (None, VOLCANO_ROOT) else spec.parent or "",
        weight=Fraction(1 if spec.weight is None else spec.weight),
        priority=spec.priority or 0,
        capability=_limits(spec, faults),
        deserved=amounts(spec.deserved, "spec.deserved", faults),
        guarantee=amounts(
            spec.guarantee.resource if spec.guarantee else None, "spec.guarantee.resource", faults
        ),
        reclaimable=spec.reclaimable is not False,
        state=QueueState(status.state or spec.state or "Open"),
        namespaces=_namespaces(thing),
        created_s=thing.created_s or 0,
    )
    if faults:
        ledger.reject(thing.title, faults)
        return None
    if thing.name == VOLCANO_ROOT:
        _warn_of_root(draft, ledger)
        return None
    _warn_of_unused(thing, spec, ledger)
    return draft


def _limits(spec: VolcanoQueueSpec, faults: Faults) -> dict[str, int]:
    """Return the limits; of cpu and memory, 0 or less means none."""
    out = amounts(spec.capability, "spec.capability", faults, signed=True)
    for resource, limit in list(out.items()):
        if limit <= 0 and resource in ("cpu", "memory"):
            del out[resource]
        elif limit < 0:
            path = below("spec.capability", resource)
            faults.add(path, "is negative; write 0 or more, or leave it out for no limit")
    return out


def _namespaces(thing: Thing) -> frozenset[str] | None:
    """Return who may use the queue; None: all. Of others' annotations every one is obeyed."""
    written = [v for k, v in thing.annotations.items() if k.rpartition("/")[2] == _ALLOWED]
    if NAMESPACES in thing.annotations:
        written = [thing.annotations[NAMESPACES]]
    lists = [frozenset(n.strip() for n in w.split(",") if n.strip()) for w in written]
    return frozenset.intersection(*lists) if lists else None


def _warn_of_root(draft: QueueDraft, ledger: Ledger) -> None:
    for part in ("capability", "deserved", "guarantee"):
        if getattr(draft, part):
            ledger.warn(
                draft.title,
                f"spec.{part}",
                "is passed over: the root has what the nodes offer; limit its children instead",
            )


def _warn_of_unused(thing: Thing, spec: VolcanoQueueSpec, ledger: Ledger) -> None:
    if spec.extend_clusters:
        ledger.warn(thing.title, "spec.extendClusters", _NOT_USED)
    if spec.dequeue_strategy == "fifo":
        ledger.warn(thing.title, "spec.dequeueStrategy", _NOT_USED)


def kai_queue(thing: Thing, ledger: Ledger) -> QueueDraft:
    """Return the queue of KAI: cpu in millicores, memory in 10^6 bytes, gpu in devices."""
    body: KaiQueue = thing.body
    spec = body.spec or KaiQueueSpec()
    given = spec.resources or KaiResources()
    draft = QueueDraft(
        name=thing.name,
        title=thing.title,
        api=thing.group,
        parent=spec.parent_queue or "",
        weight=_kai_weight(given),
        priority=_KAI_PRIORITY if spec.priority is None else spec.priority,
        namespaces=_namespaces(thing),
        created_s=thing.created_s or 0,
        path_of=_kai_path,
    )
    for resource, share, units in (
        ("cpu", given.cpu, 1),
        ("memory", given.memory, 10**6),
        (_GPU, given.gpu, 1000),
    ):
        quota = _exact(share.quota if share else None, Fraction(0))
        limit = _exact(share.limit if share else None, Fraction(-1))
        draft.deserved[resource] = UNLIMITED if quota < 0 else _up(quota * units)
        if limit >= 0:
            draft.capability[resource] = _up(limit * units)
    draft.preempt_min_runtime_s = _runtime_s(
        thing, "spec.preemptMinRuntime", spec.preempt_min_runtime, ledger
    )
    draft.reclaim_min_runtime_s = _runtime_s(
        thing, "spec.reclaimMinRuntime", spec.reclaim_min_runtime, ledger
    )
    return draft


def _runtime_s(thing: Thing, path: str, written: object, ledger: Ledger) -> int | None:
    """Return the duration in seconds; None where there is none, or none to read (a warning)."""
    if written is None:
        return None
    try:
        return duration_s(written if isinstance(written, str) else str(written))
    except ValueError as e:
        ledger.warn(thing.title, path, f"{e}; what the queue above says counts")
        return None


def _kai_path(part: str, resource: str) -> str:
    name = "gpu" if resource == _GPU else resource
    return f"spec.resources.{name}.{'quota' if part == 'deserved' else 'limit'}"


def _kai_weight(given: KaiResources) -> Fraction:
    for share in (given.gpu, given.cpu):
        if isinstance(share, KaiShare) and share.over_quota_weight is not None:
            return max(_exact(share.over_quota_weight, Fraction(1)), Fraction(0))
    return Fraction(1)


def _exact(number: str | int | float | None, missing: Fraction) -> Fraction:
    """Return the number exactly, to the thousandth that quantities keep."""
    return missing if number is None else Fraction(parse_signed(number, "cpu"), 1000)


def _up(amount: Fraction) -> int:
    return min(-(-amount.numerator // amount.denominator), UNLIMITED)


def elastic_quota(thing: Thing, key_of_name: dict[str, str], ledger: Ledger) -> QueueDraft | None:
    """Return the queue of an ElasticQuota, named ``namespace/name``: min is due, max the limit.

    Koordinator's labels name the parent, and whether the minimum may be lent.
    """
    body: ElasticQuota = thing.body
    faults = Faults()
    least = amounts(body.spec.min if body.spec else None, "spec.min", faults)
    most = amounts(body.spec.max if body.spec else None, "spec.max", faults)
    if faults:
        ledger.reject(thing.title, faults)
        return None
    parent = thing.labels.get(f"{_KOORDINATOR}parent", "")
    lends = thing.labels.get(f"{_KOORDINATOR}allow-lent-resource")
    return QueueDraft(
        name=thing.key,
        title=thing.title,
        parent="" if parent in _KOORDINATOR_ROOTS else key_of_name.get(parent, parent),
        capability=most,
        deserved=least,
        guarantee=dict(least) if lends is not None and go_bool(lends) is False else {},
        created_s=thing.created_s or 0,
        path_of=lambda part, resource: below(
            "spec.min" if part == "deserved" else "spec.max", resource
        ),
    )
