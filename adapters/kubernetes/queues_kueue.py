"""Queues of Kueue: ClusterQueues as leaves, their cohorts as inner queues.

nominalQuota (summed over flavors) is due; borrowingLimit bounds what may come on top;
what lendingLimit keeps back is guaranteed. Without a cohort nothing can be borrowed, and nothing
from outside the tree of cohorts: its root has what all in it bring. Of a resource
that a ClusterQueue does not cover nothing is due to it. What its preemption says, bounds the rights
of its groups; where it says nothing, they have all rights there are.
"""

from collections.abc import Iterable, Mapping
from fractions import Fraction

from ...models import QueueState, Reclaims
from .body_pod import SelectorBody
from .body_queue import FlavorResource, KueuePreemption, KueueQueue, KueueSpec
from .faults import Faults, Ledger
from .meta import Thing
from .places import Surroundings
from .queue_drafts import QueueDraft
from .resources import amounts
from .selectors import label_selector
from .shape import shaped

_THOUSANDTHS = 1000
_RECLAIMS = {"Never": Reclaims.NEVER, "LowerPriority": Reclaims.LOWER}


def kueue_queues(
    cluster_queues: Iterable[Thing],
    cohorts: Iterable[Thing],
    around: Surroundings,
    ledger: Ledger,
) -> list[QueueDraft]:
    """Return a queue for each ClusterQueue and each cohort, declared or only named."""
    leaves = sorted(cluster_queues, key=lambda t: t.name)
    declared = {c.name: c for c in cohorts}
    names = _Names(q.name for q in leaves)
    drafts = [d for q in leaves if (d := _leaf(q, names, around, ledger)) is not None]
    wanted = {_cohort(q) for q in leaves} | set(declared)
    wanted |= {_parent(c) for c in declared.values()}
    lending: dict[str, Mapping[str, int]] = {}
    inner = [_inner(n, declared.get(n), names, lending, ledger) for n in sorted(wanted - {""})]
    _add_children(inner, drafts, lending)
    _nothing_unsaid(drafts, inner)
    return drafts + inner


class _Names:
    """Names of cohorts' queues: their own, unless a ClusterQueue has it."""

    def __init__(self, taken: Iterable[str]) -> None:
        self._taken = frozenset(taken)

    def of_cohort(self, name: str) -> str:
        return f"cohort/{name}" if name in self._taken else name


def _cohort(thing: Thing) -> str:
    body: KueueQueue = thing.body
    return (body.spec.cohort_name or body.spec.cohort or "") if body.spec else ""


def _parent(thing: Thing) -> str:
    body: KueueQueue = thing.body
    return (body.spec.parent_name or body.spec.parent or "") if body.spec else ""


class _Quotas:
    """Quotas of one object, summed over its flavors."""

    def __init__(self, spec: KueueSpec, faults: Faults) -> None:
        self.nominal: dict[str, int] = {}
        self.borrowing: dict[str, int] = {}
        self.lending: dict[str, int] = {}
        self.kept: dict[str, int] = {}
        unbounded: set[str] = set()
        lent: set[str] = set()
        for path, r in _resources(spec):
            nominal = self._of(r, "nominalQuota", r.nominal_quota, path, faults) or 0
            borrowing = self._of(r, "borrowingLimit", r.borrowing_limit, path, faults)
            lending = self._of(r, "lendingLimit", r.lending_limit, path, faults)
            self._add(self.nominal, r.name, nominal)
            self._add(self.borrowing, r.name, borrowing or 0)
            if borrowing is None:
                unbounded.add(r.name)
            self._add(self.lending, r.name, lending or 0)
            if lending is None:
                lent.add(r.name)
            else:
                self._add(self.kept, r.name, max(nominal - lending, 0))
        for name in unbounded:
            self.borrowing.pop(name, None)
        for name in lent:
            self.lending.pop(name, None)

    @staticmethod
    def _of(r: FlavorResource, key: str, value: object, path: str, faults: Faults) -> int | None:
        if value is None:
            return None
        return amounts({r.name: value}, f"{path}.{key}", faults).get(r.name)

    @staticmethod
    def _add(into: dict[str, int], name: str, more: int) -> None:
        into[name] = into.get(name, 0) + more


def _resources(spec: KueueSpec) -> Iterable[tuple[str, FlavorResource]]:
    for i, group in enumerate(spec.resource_groups or ()):
        for j, flavor in enumerate(group.flavors or ()):
            for k, resource in enumerate(flavor.resources or ()):
                yield f"spec.resourceGroups[{i}].flavors[{j}].resources[{k}]", resource


def _leaf(thing: Thing, names: _Names, around: Surroundings, ledger: Ledger) -> QueueDraft | None:
    body: KueueQueue = thing.body
    spec = body.spec or KueueSpec()
    faults = Faults()
    quotas = _Quotas(spec, faults)
    namespaces = _namespaces(spec, around, faults)
    if faults:
        ledger.reject(thing.title, faults)
        return None
    _warn_of_unused(thing, spec, ledger)
    cohort = _cohort(thing)
    draft = _draft(thing.name, thing, spec)
    draft.parent = names.of_cohort(cohort) if cohort else ""
    draft.deserved = quotas.nominal
    draft.guarantee = quotas.kept if cohort else {}
    draft.namespaces = namespaces
    said = spec.preemption or KueuePreemption()
    draft.preempts = said.within_cluster_queue != "Never"
    draft.reclaims = _RECLAIMS.get(said.reclaim_within_cohort or "", Reclaims.ANY)
    if cohort:
        draft.capability = {r: quotas.nominal[r] + v for r, v in quotas.borrowing.items()}
    else:
        draft.capability = dict(quotas.nominal)
    return draft


def _warn_of_unused(thing: Thing, spec: KueueSpec, ledger: Ledger) -> None:
    """Name what is told of the ClusterQueue and changes nothing here, with what counts instead."""
    borrows = spec.preemption.borrow_within_cohort if spec.preemption else None
    if isinstance(borrows, dict) and borrows.get("policy", "Never") != "Never":
        said = "is not used: fair shares say who may take what others borrowed"
        ledger.warn(thing.title, "spec.preemption.borrowWithinCohort", said)
    if spec.preemption and spec.preemption.within_cluster_queue == "LowerOrNewerEqualPriority":
        said = "is read as LowerPriority: of equal priority what runs keeps its place"
        ledger.warn(thing.title, "spec.preemption.withinClusterQueue", said)
    if spec.queueing_strategy == "StrictFIFO":
        said = "StrictFIFO is not used: who could start is not kept waiting by who could not"
        ledger.warn(thing.title, "spec.queueingStrategy", said)
    for path, written in (
        ("spec.admissionChecks", spec.admission_checks),
        ("spec.admissionChecksStrategy", spec.admission_checks_strategy),
    ):
        if written:
            said = "is not used: nothing is asked before work starts"
            ledger.warn(thing.title, path, said)
    if spec.flavor_fungibility:
        said = "is not used: the plan tries all flavors at once"
        ledger.warn(thing.title, "spec.flavorFungibility", said)


def _inner(
    name: str,
    thing: Thing | None,
    names: _Names,
    lending: dict[str, Mapping[str, int]],
    ledger: Ledger,
) -> QueueDraft:
    queue = names.of_cohort(name)
    if thing is None:
        return QueueDraft(queue, f"Cohort {name}")
    body: KueueQueue = thing.body
    spec = body.spec or KueueSpec()
    faults = Faults()
    quotas = _Quotas(spec, faults)
    draft = _draft(queue, thing, spec)
    parent = _parent(thing)
    draft.parent = names.of_cohort(parent) if parent else ""
    draft.deserved = quotas.nominal
    draft.capability = quotas.borrowing
    lending[queue] = quotas.lending
    if faults:
        ledger.reject(thing.title, faults)
    return draft


def _draft(name: str, thing: Thing, spec: KueueSpec) -> QueueDraft:
    return QueueDraft(
        name=name,
        title=thing.title,
        weight=_weight(spec),
        state=QueueState.CLOSED
        if spec.stop_policy in ("Hold", "HoldAndDrain")
        else QueueState.OPEN,
        created_s=thing.created_s or 0,
        path_of=lambda part, resource: "spec.resourceGroups",
    )


def _weight(spec: KueueSpec) -> Fraction:
    written = spec.fair_sharing.weight if spec.fair_sharing else None
    if written is None:
        return Fraction(1)
    return Fraction(amounts({"cpu": written}, "", Faults()).get("cpu", 0), _THOUSANDTHS)


def _namespaces(spec: KueueSpec, around: Surroundings, faults: Faults) -> frozenset[str] | None:
    """Return the namespaces that may use the queue; a missing selector selects none."""
    if spec.namespace_selector is None:
        return frozenset()
    body, found = shaped(spec.namespace_selector, SelectorBody)
    faults.extend(found, under="spec.namespaceSelector")
    selector = label_selector(body, "spec.namespaceSelector", faults)
    return frozenset() if selector is None else around.matching(selector)


def _nothing_unsaid(leaves: Iterable[QueueDraft], inner: Iterable[QueueDraft]) -> None:
    """Let nothing be due to a ClusterQueue in what it does not cover, where others have quotas."""
    leaves = list(leaves)
    named = {r for d in (*leaves, *inner) for r in d.deserved}
    for d in leaves:
        d.deserved = {**dict.fromkeys(sorted(named), 0), **d.deserved}


def _add_children(
    inner: Iterable[QueueDraft],
    leaves: Iterable[QueueDraft],
    lending: Mapping[str, Mapping[str, int]],
) -> None:
    """Raise quotas of cohorts to what their children bring, and bound the trees by their sums.

    A cohort keeps what its children keep, and of the rest what is more than it may lend.
    """
    by_name = {d.name: d for d in inner}
    everybody = (*by_name.values(), *leaves)
    above = {d.name: _ancestors(d, by_name) for d in everybody}
    sums: dict[str, dict[str, int]] = {name: dict(d.deserved) for name, d in by_name.items()}
    for d in everybody:
        for name in above[d.name]:
            _raise(sums[name], d.deserved)
    kept: dict[str, dict[str, int]] = {name: {} for name in by_name}
    for d in sorted(everybody, key=lambda d: -len(above[d.name])):
        if d.name in by_name:
            _bound(d, sums[d.name], kept[d.name], lending.get(d.name, {}))
        if d.parent in by_name:
            _raise(kept[d.parent], d.guarantee)


def _ancestors(d: QueueDraft, by_name: Mapping[str, QueueDraft]) -> list[str]:
    """Return the cohorts above, the nearest first, of a circle each once."""
    out: list[str] = []
    name = d.parent
    while name in by_name and name not in out and name != d.name:
        out.append(name)
        name = by_name[name].parent
    return out


def _bound(
    d: QueueDraft, total: dict[str, int], kept: dict[str, int], lending: Mapping[str, int]
) -> None:
    """Set what is due to a cohort, its limit, and what it keeps."""
    if d.deserved:
        d.deserved = total
    if not d.parent:
        d.capability = dict(total)
        return
    d.capability = {r: total.get(r, 0) + v for r, v in d.capability.items()}
    own = {r: total.get(r, 0) - kept.get(r, 0) - v for r, v in lending.items()}
    d.guarantee = dict(kept)
    _raise(d.guarantee, {r: v for r, v in own.items() if v > 0})


def _raise(into: dict[str, int], more: Mapping[str, int]) -> None:
    for r, v in more.items():
        into[r] = into.get(r, 0) + v
