"""Pods: what state they are in, what they ask for, whether they are ours."""

from collections.abc import Iterable, Mapping

import msgspec

from ...models import End, GroupKey, NodeName, Pod, PodSpec, PodState
from ...models.devices import GPU
from .aligned import cells_of, marks_of, with_cells
from .body_pod import PodBody, PodSpecBody, PodStatusBody
from .cards import names_devices
from .device_claims import Held
from .device_shares import held_of, says_something, warn_of_notes, with_share
from .faults import Faults
from .meta import Thing, moment
from .npus import NPU, npus_of
from .places import pod_spec, selects_own_labels
from .resources import Defaults
from .times import duration_s
from .world import SYSTEM_CLASSES, Priority, World

DEFAULT_SCHEDULER = "default-scheduler"
_ENDED = ("Succeeded", "Failed")
_PHASES = (None, "", "Pending", "Running", *_ENDED, "Unknown")
_PREEMPTABLE = "volcano.sh/preemptable"
_KOORDINATOR_PREEMPTABLE = "quota.scheduling.koordinator.sh/preemptible"
_COOLDOWN = "volcano.sh/cooldown-time"
_TASK_PRIORITY = ("volcano.sh/task-priority", "kai.scheduler/task-priority")
ROLES = (
    "volcano.sh/task-spec",
    "kai.scheduler/subgroup-name",
    "jobset.sigs.k8s.io/replicatedjob-name",
    "training.kubeflow.org/replica-type",
    "training.kubeflow.org/job-role",
    "ray.io/group",
)
_TRUE, _FALSE = ("1", "t", "T", "TRUE", "true", "True"), ("0", "f", "F", "FALSE", "false", "False")


class Candidate(msgspec.Struct, gc=False):
    """A pod that was read, before its group is known."""

    thing: Thing
    spec: PodSpec
    state: PodState
    priority: Priority
    ours: bool
    held: Held = Held()

    @property
    def body(self) -> PodSpecBody:
        return self.thing.body.spec or PodSpecBody()

    @property
    def finished(self) -> bool:
        return self.state in (PodState.SUCCEEDED, PodState.FAILED)

    @property
    def waits(self) -> bool:
        return self.state in (PodState.PENDING, PodState.GATED)


def go_bool(text: str) -> bool | None:
    """Return what Go's ParseBool reads; None for anything else."""
    return True if text in _TRUE else False if text in _FALSE else None


def scheduler_of(thing: Thing) -> str:
    """Return the scheduler that the pod asks for."""
    spec = thing.body.spec
    return (spec.scheduler_name if spec else None) or DEFAULT_SCHEDULER


def candidates(things: Iterable[Thing], world: World) -> list[Candidate]:
    """Read the pods; bad ones are rejected, deleted ones without a node left out."""
    things = list(things)
    users = [t for t in things if not is_over(t)]
    world.storage.count_users(users)
    world.charges.claims.note_users(users)
    shapes = Shapes(world)
    return [c for t in things if (c := candidate_of(t, shapes, world)) is not None]


def candidate_of(thing: Thing, shapes: "Shapes", world: World) -> Candidate | None:
    """Read a pod; None if it is bad (then rejected) or was deleted without a node.

    Who uses which claim has to be counted before.
    """
    body: PodBody = thing.body
    faults = Faults()
    state = _state(thing, body, faults)
    shape = shapes.spec_of(thing, faults)
    if faults:
        _reject(thing, faults, world)
    if faults or state is None:
        return None
    spec = world.storage.with_volumes(thing, shape)
    spec, held = world.charges.claims.with_claims(thing, spec)
    spec = world.charges.charged(thing, spec, held)
    if spec is not shape:
        spec = shapes.the_same(spec)
    priority = world.priorities.of_pod(body.spec or PodSpecBody(), thing.title)
    warn_of_notes(spec, thing, world.ledger)
    ours = scheduler_of(thing) in world.options.scheduler_names
    return Candidate(thing, spec, state, priority, ours, held)


def is_over(thing: Thing) -> bool:
    """Say whether the pod has ended, or was deleted before it came to a node."""
    spec, status = thing.body.spec or PodSpecBody(), thing.body.status or PodStatusBody()
    return status.phase in _ENDED or (thing.deleted_s is not None and not spec.node_name)


def _reject(thing: Thing, faults: Faults, world: World) -> None:
    """List the faults; those of a pod made from a template stand in the template."""
    if thing.made_from is None:
        world.ledger.reject(thing.title, faults)
        return
    title, path = thing.made_from
    there = Faults()
    there.extend(faults.found, under=path)
    world.ledger.reject(title, there)


def _state(thing: Thing, body: PodBody, faults: Faults) -> PodState | None:
    """Return where the pod stands; None: it is gone."""
    spec, status = body.spec or PodSpecBody(), body.status or PodStatusBody()
    if not spec.containers:
        faults.add("spec.containers", "is missing; a pod needs at least one container")
    if status.phase not in _PHASES:
        faults.add(
            "status.phase",
            f"{status.phase!r} is no phase; write Pending, Running, Succeeded or Failed",
        )
    if status.phase in _ENDED:
        return PodState.SUCCEEDED if status.phase == "Succeeded" else PodState.FAILED
    if thing.deleted_s is not None:
        return PodState.TERMINATING if spec.node_name else None
    if spec.node_name:
        return PodState.RUNNING
    if status.phase == "Running":
        faults.add("spec.nodeName", "is missing, though status.phase is Running; write the node")
    return PodState.GATED if spec.scheduling_gates else PodState.PENDING


class Shapes:
    """Reads pod specs, once for all pods that say the same: equal specs are one object."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._known: dict[bytes, PodSpec] = {}
        self._specs: dict[PodSpec, PodSpec] = {}
        self._encode = msgspec.msgpack.Encoder(order="deterministic").encode

    def __len__(self) -> int:
        return len(self._specs) + len(self._known)

    def forget(self) -> None:
        """Read every spec again, since the world has changed; those alike stay one object."""
        self._known.clear()

    def keep_only(self, specs: Iterable[PodSpec]) -> None:
        """Forget all specs but these."""
        self._known.clear()
        self._specs = {spec: spec for spec in specs}

    def the_same(self, spec: PodSpec) -> PodSpec:
        """Return the one object that stands for all equal specs."""
        return self._specs.setdefault(spec, spec)

    def spec_of(self, thing: Thing, faults: Faults) -> PodSpec:
        """Return the pod's spec; what is wrong with it is added to the faults."""
        body: PodBody = thing.body
        spec = body.spec or PodSpecBody()
        defaults = self._defaults_for(thing, body)
        try:
            key = self._key(thing, spec, body.status, defaults is not None)
        except OverflowError:  # an integer beyond 64 bits: read it, but not by its bytes
            key = None
        known = self._known.get(key) if key is not None else None
        if known is None:
            before = len(faults.found)
            made = pod_spec(
                body, thing.namespace, thing.labels, self._world.surroundings, defaults, faults
            )
            made = with_share(made, thing, self._world.cards, faults)
            made = with_cells(made, thing, self._world, faults)
            known = self.the_same(made)
            if key is not None and len(faults.found) == before:
                self._known[key] = known
        return known

    def _defaults_for(self, thing: Thing, body: PodBody) -> Defaults | None:
        """Return the namespace's defaults for a pod that no API server has admitted yet."""
        created = thing.uid or (body.status is not None and body.status.phase)
        return None if created else self._world.defaults.get(thing.namespace)

    def _key(
        self, thing: Thing, spec: PodSpecBody, status: PodStatusBody | None, defaulted: bool
    ) -> bytes:
        own: tuple[object, ...] = ()
        if defaulted or selects_own_labels(spec):
            own = (thing.namespace, thing.labels, defaulted)
        if status is not None and any(given := _given(status)):
            own = (*own, *given, status.resize, status.conditions if _resizes(status) else None)
        own = (*own, *marks_of(thing, self._world))
        return self._encode(
            (
                spec.containers,
                spec.init_containers,
                spec.overhead,
                spec.resources,
                spec.node_selector,
                spec.affinity,
                spec.tolerations,
                spec.topology_spread_constraints,
                spec.host_network,
                says_something(thing),
                held_of(thing),
                own,
            )
        )


def _given(status: PodStatusBody) -> tuple[object, ...]:
    """Return what the kubelet says of amounts that it has given."""
    return (
        status.container_statuses, status.init_container_statuses,
        status.resources, status.allocated_resources,
    )  # fmt: skip


def _resizes(status: PodStatusBody) -> bool:
    return any(c.type == "PodResizePending" for c in status.conditions or ())


def pod_of(
    candidate: Candidate,
    group: GroupKey | None,
    world: World,
    subgroups: tuple[str, ...] = (),
    role: str | None = None,
    end: End | None = None,
) -> Pod:
    """Return the pod of the snapshot; its role is what it says itself, unless one is given."""
    thing, body = candidate.thing, candidate.body
    status: PodStatusBody = thing.body.status or PodStatusBody()
    owner = thing.owner
    started = started_s(thing)
    holds = candidate.state in (PodState.RUNNING, PodState.TERMINATING)
    return Pod(
        namespace=thing.namespace,
        name=thing.name,
        spec=candidate.spec,
        state=candidate.state,
        group=group,
        role=role_of(thing) if role is None else role,
        subgroups=subgroups,
        node=NodeName(body.node_name) if body.node_name else None,
        nominated=_nominated(candidate, status),
        labels=thing.labels,
        priority=candidate.priority.value,
        may_preempt=candidate.priority.may_preempt,
        preemptable=is_preemptable(thing),
        critical=body.priority_class_name in SYSTEM_CLASSES or thing.namespace == "kube-system",
        task_priority=_task_priority(thing, candidate.priority.value, world),
        created_s=world.taken_at_s if thing.created_s is None else thing.created_s,
        started_s=started if holds else None,
        protected_until_s=_protected_until(thing, status, started, world) if holds else None,
        end=end,
        ready=_is_ready(status) if holds else True,
        gates=tuple(sorted(g.name or "" for g in body.scheduling_gates or ())),
        uid=thing.uid,
        owner=f"{owner.kind}/{owner.name}" if owner else "",
        user=user_of(thing.labels, thing.annotations),
        scheduler=scheduler_of(thing),
        devices=_held(candidate, world) if holds else (),
        cells=cells_of(thing, world) if holds else (),
        claimed=candidate.held.devices if holds else (),
        draws=candidate.held.draws if holds else {},
        claim_names=candidate.held.names,
    )


def _held(candidate: Candidate, world: World) -> tuple[int, ...]:
    """Return the devices that the pod holds, where its marks say which."""
    thing, spec = candidate.thing, candidate.spec
    if NPU in spec.requests and (npus := npus_of(thing)):
        return npus
    whole = 0 if spec.share is not None else spec.requests[GPU] // 1000
    if spec.share is None and not (whole and names_devices(thing)):
        return ()
    return world.cards.held(thing, candidate.body.node_name or "", spec.share, whole)


def role_of(thing: Thing) -> str:
    """Return which task of its group the pod is."""
    return thing.note(*ROLES) or ""


def user_of(labels: Mapping[str, str], annotations: Mapping[str, str]) -> str:
    """Return whom the pod or group is for."""
    return annotations.get("apportion.dev/user") or labels.get("user") or ""


def is_preemptable(thing: Thing) -> bool:
    """Say whether the pod may be a victim: yes, unless it says otherwise."""
    written = thing.note(_PREEMPTABLE)
    if written is not None:
        return go_bool(written) is True
    koordinator = thing.labels.get(_KOORDINATOR_PREEMPTABLE)
    return koordinator is None or go_bool(koordinator) is not False


def _nominated(candidate: Candidate, status: PodStatusBody) -> NodeName | None:
    if not candidate.waits or not status.nominated_node_name:
        return None
    return NodeName(status.nominated_node_name)


def _task_priority(thing: Thing, priority: int, world: World) -> int:
    written = thing.note(*_TASK_PRIORITY)
    if written is None:
        return priority
    if len(written) <= 11 and written.isascii() and written.removeprefix("-").isdigit():
        return int(written)
    world.ledger.warn(
        thing.title,
        f'metadata.annotations["{_TASK_PRIORITY[0]}"]',
        f"{written[:40]!r} is no whole number; the pod's own priority counts instead",
    )
    return priority


def _is_ready(status: PodStatusBody) -> bool:
    """Say whether the pod is ready; one that says nothing of it counts as ready."""
    return all(c.status == "True" for c in status.conditions or () if c.type == "Ready")


def _scheduled_s(status: PodStatusBody) -> int | None:
    for c in status.conditions or ():
        if c.type == "PodScheduled" and c.status == "True":
            return moment(c.last_transition_time, "", Faults())
    return None


def started_s(thing: Thing) -> int | None:
    """Return when the pod started, as far as anything says it."""
    status: PodStatusBody = thing.body.status or PodStatusBody()
    started = moment(status.start_time, "", Faults())
    if started is None:
        started = _scheduled_s(status)
    return thing.created_s if started is None else started


def _protected_until(
    thing: Thing, status: PodStatusBody, started: int | None, world: World
) -> int | None:
    written = thing.note(_COOLDOWN)
    if written is None:
        return None
    scheduled = _scheduled_s(status)
    since = started if scheduled is None else scheduled
    try:
        lasts = duration_s(written)
    except ValueError as e:
        world.ledger.warn(
            thing.title, f'metadata.annotations["{_COOLDOWN}"]', f"{e}; the pod has no cooldown"
        )
        return None
    return None if since is None else since + lasts
