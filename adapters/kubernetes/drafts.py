"""Groups as their objects declare them, before their pods are known; one reader per dialect."""

from dataclasses import dataclass, field, replace

from ...models import Reason
from .body_group import (
    GroupBody,
    GroupSpecBody,
    GroupStatusBody,
    NetworkTopologyBody,
    PolicyBody,
    WorkloadBody,
)
from .faults import Faults, Ledger
from .membership import DIALECT_OF_API, Dialect, workload_group
from .meta import Owner, Thing
from .resources import amounts

_NOT_YET = "which this version cannot honour yet; take it off to have the group placed anywhere"
FINISHED = ("Completed", "Finished", "Failed")


@dataclass(slots=True)
class Draft:
    """What is known of a group from its own object."""

    namespace: str
    name: str
    source: str
    dialect: Dialect | None = None
    thing: Thing | None = None
    minimum: int = 1
    roles: dict[str, int] = field(default_factory=dict)
    queue: str = ""
    priority_class: str = ""
    priority: int | None = None
    preemptable: bool | None = None
    """None: nothing was said."""
    created_s: int | None = None
    min_resources: dict[str, int] | None = None
    phase: str = ""
    implicit: bool = False
    broken_since_s: int | None = None
    owner: Owner | None = None
    hold: list[Reason] = field(default_factory=list)

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"

    @property
    def title(self) -> str:
        return f"{self.source} {self.key}"

    def held(self, rule: str, message: str) -> None:
        self.hold.append(Reason(rule, self.title, message))


def draft_of(thing: Thing, ledger: Ledger) -> Draft | None:
    """Return the group that a PodGroup object declares; None if it is bad (then rejected)."""
    body: GroupBody = thing.body
    spec = body.spec or GroupSpecBody()
    status = body.status or GroupStatusBody()
    faults = Faults()
    resources = spec.min_resources
    draft = Draft(
        namespace=thing.namespace,
        name=thing.name,
        source=thing.kind,
        dialect=DIALECT_OF_API[thing.group],
        thing=thing,
        minimum=1 if spec.min_member is None else spec.min_member,
        queue=spec.queue or "",
        priority_class=spec.priority_class_name or "",
        created_s=thing.created_s,
        min_resources=None
        if resources is None
        else amounts(resources, "spec.minResources", faults),
        phase=status.phase or "",
        owner=thing.owner,
    )
    _READERS[draft.dialect or Dialect.VOLCANO](draft, thing, spec, faults, ledger)
    if faults:
        ledger.reject(thing.title, faults)
        return None
    return draft


def _volcano(
    draft: Draft, thing: Thing, spec: GroupSpecBody, faults: Faults, ledger: Ledger
) -> None:
    draft.roles = {role: n for role, n in (spec.min_task_member or {}).items() if n}
    network_topology(draft, spec.network_topology, "spec.networkTopology", ledger)
    for i, policy in enumerate(spec.sub_group_policy or ()):
        path = f"spec.subGroupPolicy[{i}]"
        ledger.warn(draft.title, path, "is not used yet; the group counts as one gang")
        network_topology(draft, policy.network_topology, f"{path}.networkTopology", ledger)


def network_topology(
    draft: Draft, wish: NetworkTopologyBody | None, path: str, ledger: Ledger
) -> None:
    """Hold the group for a hard topology; warn of a soft one. Volcano's default mode is hard."""
    if wish is None:
        return
    if wish.mode not in (None, "", "hard", "soft"):
        ledger.warn(draft.title, f"{path}.mode", f"{wish.mode!r} is unknown; taken as hard")
    if wish.mode == "soft":
        ledger.warn(draft.title, path, "is not used yet; it was a wish, so the group is planned")
    else:
        draft.held("topology", f"{path} asks for a hard network topology, {_NOT_YET}")


def _kai(draft: Draft, thing: Thing, spec: GroupSpecBody, faults: Faults, ledger: Ledger) -> None:
    said = spec.preemptibility or thing.note("kai.scheduler/preemptibility") or ""
    draft.preemptable = {"preemptible": True, "non-preemptible": False}.get(said)
    if said == "semi-preemptible":
        draft.preemptable = False
        ledger.warn(draft.title, "spec.preemptibility", f"{said} counts as non-preemptible")
    elif said and draft.preemptable is None:
        ledger.warn(draft.title, "spec.preemptibility", f"{said[:40]!r} is unknown; passed over")
    draft.queue = draft.queue or thing.labels.get("kai.scheduler/queue", "")
    draft.priority_class = draft.priority_class or thing.labels.get("priorityClassName", "")
    parents = {g.parent for g in spec.sub_groups or () if g.parent}
    places = [(spec.topology_constraint, "spec.topologyConstraint")]
    for i, sub in enumerate(spec.sub_groups or ()):
        path = f"spec.subGroups[{i}]"
        if not sub.name:
            faults.add(f"{path}.name", "is missing; pods name their subgroup by it")
        elif sub.name not in parents:
            draft.roles[sub.name] = 1 if sub.min_member is None else sub.min_member
        if sub.min_sub_group is not None:
            ledger.warn(draft.title, f"{path}.minSubGroup", "is not used yet")
        places.append((sub.topology_constraint, f"{path}.topologyConstraint"))
    for wish, path in places:
        if wish is not None and wish.required_topology_level:
            draft.held("topology", f"{path} requires a topology level, {_NOT_YET}")
        elif wish is not None and wish.preferred_topology_level:
            ledger.warn(draft.title, path, "is not used yet; it was a wish")


def _plain(draft: Draft, thing: Thing, spec: GroupSpecBody, faults: Faults, ledger: Ledger) -> None:
    """scheduler-plugins and Koordinator: the common fields are all there is."""


def _upstream(
    draft: Draft, thing: Thing, spec: GroupSpecBody, faults: Faults, ledger: Ledger
) -> None:
    draft.minimum = _gang(spec.scheduling_policy)
    draft.priority = spec.priority
    if spec.scheduling_constraints is not None and spec.scheduling_constraints.topology:
        path = "spec.schedulingConstraints.topology"
        draft.held("topology", f"{path} requires a topology, {_NOT_YET}")


def _gang(policy: PolicyBody | None) -> int:
    """Return the minimum; pods of a basic group need nobody else."""
    if policy is None or policy.gang is None or policy.gang.min_count is None:
        return 1
    return policy.gang.min_count


_READERS = {
    Dialect.VOLCANO: _volcano,
    Dialect.KAI: _kai,
    Dialect.SCHEDULER_PLUGINS: _plain,
    Dialect.KOORDINATOR: _plain,
    Dialect.UPSTREAM: _upstream,
}


def workload_drafts(thing: Thing) -> list[Draft]:
    """Return the groups that a Workload of Kubernetes 1.35 declares."""
    body: WorkloadBody = thing.body
    groups = (body.spec.pod_groups if body.spec else None) or ()
    return [
        Draft(
            namespace=thing.namespace,
            name=workload_group(thing.name, g.name or ""),
            source="Workload",
            dialect=Dialect.UPSTREAM,
            thing=thing,
            minimum=_gang(g.policy),
            created_s=thing.created_s,
        )
        for g in groups
    ]


def replica_of(draft: Draft, name: str) -> Draft:
    """Return a copy of a Workload's group for one replica key."""
    return replace(draft, name=name, roles=dict(draft.roles), hold=list(draft.hold))
