"""Groups as their objects declare them, before their pods are known; one reader per dialect."""

from dataclasses import dataclass, field, replace

from ...models import Choice, Reason
from .body_group import (
    GroupBody,
    GroupSpecBody,
    GroupStatusBody,
    PolicyBody,
    WorkloadBody,
)
from .faults import Faults, Ledger
from .membership import DIALECT_OF_API, Dialect, workload_group
from .meta import Owner, Thing
from .nearness import (
    Nearness,
    Split,
    levels_near,
    policy_split,
    subgroup_splits,
    tiers_near,
)
from .resources import amounts
from .subgroup_tree import check_tree, tree_of

FINISHED = ("Completed", "Finished", "Failed")
_LIMITS = "limits."


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
    choices: tuple[Choice, ...] = ()
    """Of which roles, beside those, some have to have their minimum."""
    queue: str = ""
    priority_class: str = ""
    priority: int | None = None
    preemptable: bool | None = None
    """None: nothing was said."""
    created_s: int | None = None
    min_resources: dict[str, int] | None = None
    min_limits: dict[str, int] = field(default_factory=dict)
    """What minResources say under ``limits.``, which only a ResourceQuota counts."""
    phase: str = ""
    implicit: bool = False
    broken_since_s: int | None = None
    owner: Owner | None = None
    near: Nearness | None = None
    splits: list[Split] = field(default_factory=list)
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
    limits = {r: q for r, q in (resources or {}).items() if r.startswith(_LIMITS)}
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
        else amounts(
            {r: q for r, q in resources.items() if r not in limits}, "spec.minResources", faults
        ),
        min_limits=amounts(
            {r.removeprefix(_LIMITS): q for r, q in limits.items()},
            "spec.minResources.limits",
            faults,
        ),
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
    title = draft.title
    draft.near = tiers_near(spec.network_topology, "spec.networkTopology", title, ledger)
    for i, policy in enumerate(spec.sub_group_policy or ()):
        path = f"spec.subGroupPolicy[{i}]"
        draft.splits.append(policy_split(policy, path, title, faults, ledger))


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
    draft.near = levels_near(spec.topology_constraint, "spec.topologyConstraint")
    draft.splits = subgroup_splits(spec.sub_groups or [])
    tree = tree_of(spec.sub_groups, spec.min_sub_group)
    check_tree(tree, faults)
    if not faults:
        draft.roles, draft.choices = tree.needs
        if tree.parts and not draft.roles and not draft.choices:
            draft.minimum = 0
    for path, said in (
        ("spec.preemptionDelay", spec.preemption_delay),
        ("spec.stalenessGracePeriod", spec.staleness_grace_period),
    ):
        if said is not None:
            ledger.warn(draft.title, path, "is not used yet")


def _plain(draft: Draft, thing: Thing, spec: GroupSpecBody, faults: Faults, ledger: Ledger) -> None:
    """scheduler-plugins and Koordinator: the common fields are all there is."""


def _upstream(
    draft: Draft, thing: Thing, spec: GroupSpecBody, faults: Faults, ledger: Ledger
) -> None:
    draft.minimum = _gang(spec.scheduling_policy)
    draft.priority = spec.priority
    constraints = spec.scheduling_constraints
    keys = [x.key for x in (constraints.topology or ()) if x.key] if constraints else []
    if keys:
        path = "spec.schedulingConstraints.topology"
        draft.near = Nearness(f"{path}[0].key", required=keys[0])
        draft.splits = [
            Split(f"all in one {key}", Nearness(f"{path}[{i}].key", required=key), _everybody)
            for i, key in enumerate(keys[1:], 1)
        ]


def _everybody(thing: Thing) -> str:
    return "all"


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
