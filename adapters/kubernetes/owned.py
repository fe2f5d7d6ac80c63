"""Groups of pods that name none: their owner's, if it is annotated or they are a gang by nature."""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from ..paths import below
from .body_rare import Workload
from .drafts import Draft
from .faults import Ledger
from .gangs import Holder, at_once, gang_of, holder_of
from .meta import Thing
from .owners import MIN_MEMBER, Owners, written_minimum
from .pods import Candidate

_GENERATIONS = ("Deployment", "CronJob", "RayService")
"""What makes one owner of pods after another; each of those is a group of its own."""
_ONE_BY_ONE = ("SparkApplication", "FlinkDeployment", "Workflow", "CronWorkflow")
"""Owners whose pods come one after another: the first must not wait for those it will create."""
Name = Callable[[str, str, str], str]
"""From namespace, kind and name to a name that no other group has."""


class Owned(NamedTuple):
    """A group that an owner stands for, and its pods."""

    draft: Draft
    pods: list[Candidate]


def owned_groups(
    pods: Iterable[Candidate], owners: Owners, free: Name, ledger: Ledger
) -> tuple[list[Owned], list[Candidate]]:
    """Return the groups of owners, and the pods that are in none of them.

    Groups of which all pods have finished are none any more; their pods are counted.
    """
    by_holder: dict[tuple[str, Holder], list[Candidate]] = {}
    singles: list[Candidate] = []
    for c in pods:
        holder = holder_in(c.thing, owners)
        if holder is None:
            singles.append(c)
        else:
            by_holder.setdefault((c.thing.namespace, holder), []).append(c)
    groups: list[Owned] = []
    for (namespace, holder), members in by_holder.items():
        draft = None
        if not all(c.finished for c in members):
            draft = _draft(namespace, holder, members, owners, ledger)
        if draft is None:
            singles += members
            continue
        draft.name = free(namespace, holder.kind, holder.group)
        groups.append(Owned(draft, members))
    return groups, singles


def _draft(
    namespace: str, holder: Holder, pods: list[Candidate], owners: Owners, ledger: Ledger
) -> Draft | None:
    """Return what is known of the group; None if its pods need nobody and nobody says they do."""
    thing = owners.named(namespace, holder.kind, holder.name)
    natural = holder_of(pods[0].thing, owners) is not None
    gang = gang_of(holder, thing, pods) if natural else None
    written = _written(pods[0].thing, thing, owners)
    if not written and not (gang is not None and gang.is_one):
        return None
    draft = Draft(namespace, holder.group, holder.kind, owner=pods[0].thing.owner)
    if thing is not None and holder.kind != "LeaderWorkerSet":  # its replicas come and go
        draft.created_s = thing.created_s
    if gang is not None:
        draft.minimum, draft.roles = gang.minimum, dict(gang.roles)
        draft.queue, draft.priority_class = gang.queue, gang.priority_class
    if written:
        draft.roles = {}
        set_minimum(draft, written, ledger)
        asked = gang.asked if gang is not None else _asked(holder.kind, thing)
        _lower(draft, asked, thing, ledger)
    return draft


def holder_in(thing: Thing, owners: Owners) -> Holder | None:
    """Return whose group the pod would be in."""
    if thing.owner is None:
        return None
    natural = holder_of(thing, owners)
    if natural is not None:
        return natural
    if written_minimum(thing):
        return Holder(thing.owner.kind, thing.owner.name)
    below_it: Holder | None = None
    for above in owners.chain(thing):
        found = Holder(above.kind, above.name)
        if written_minimum(above):
            return below_it if above.kind in _GENERATIONS and below_it is not None else found
        below_it = found
    return None


def _written(pod: Thing, holder: Thing | None, owners: Owners) -> str:
    """Return the minimum that the pod or an owner is annotated with; "" for none."""
    return owners.minimum(pod) or (written_minimum(holder) if holder is not None else "")


def _lower(draft: Draft, asked: int | None, thing: Thing | None, ledger: Ledger) -> None:
    """Take back a minimum above the number of pods that the workload creates at once."""
    if asked is None or draft.minimum <= asked:
        return
    kind = draft.source
    why = f"asks for no more than {asked} pods at once, so that counts; lower the annotation"
    if asked == 1 and kind in (*_ONE_BY_ONE, "StatefulSet"):
        why = "creates its pods one after another, so 1 counts"
        if kind == "StatefulSet":
            why += "; with podManagementPolicy: Parallel it creates all at once"
    # While a Deployment is rolled out, each of its ReplicaSets asks for a part of its pods.
    if thing is None or thing.owner is None or thing.owner.kind not in _GENERATIONS:
        path = below("metadata.annotations", MIN_MEMBER)
        ledger.warn(draft.title, path, f"is {draft.minimum}, but the {kind} {why}")
    draft.minimum = asked


def _asked(kind: str, thing: Thing | None) -> int | None:
    """Return how many pods a workload creates without waiting for one of them; None: unknown."""
    if kind in _ONE_BY_ONE:
        return 1
    body = thing.body if thing is not None else None
    spec = body.spec if isinstance(body, Workload) else None
    if spec is None:
        return None
    if kind == "StatefulSet" and spec.pod_management_policy != "Parallel":
        return 1
    if kind == "Job":
        return None if spec.parallelism is None else at_once(spec)
    return spec.replicas


def set_minimum(draft: Draft, written: str, ledger: Ledger) -> None:
    """Set the minimum that an annotation says; what is no number counts as 1."""
    minimum = count(written)
    if minimum is None:
        path = below("metadata.annotations", MIN_MEMBER)
        ledger.warn(draft.title, path, f"{written[:40]!r} is no whole number; 1 counts")
    draft.minimum = 1 if minimum is None else minimum


def count(text: str) -> int | None:
    """Return the whole number that is written; None for anything else."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 9 else None
