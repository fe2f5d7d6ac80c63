"""Which group a pod says it belongs to, in every dialect, in order of precedence.

Volcano first, then KAI, scheduler-plugins, Koordinator, upstream, Kueue; the pod's owner comes last
and is read elsewhere (:mod:`.owners`).
"""

from collections.abc import Iterator
from enum import IntEnum
from typing import NamedTuple

from .body_pod import PodBody
from .meta import Thing

_VOLCANO = ("scheduling.k8s.io/group-name", "scheduling.volcano.sh/group-name")
_KAI = "pod-group-name"
_SCHEDULER_PLUGINS = "scheduling.x-k8s.io/pod-group"
_KOORDINATOR = "pod-group.scheduling.sigs.k8s.io"
_LIGHT = (
    ("pod-group.scheduling.sigs.k8s.io/name", "pod-group.scheduling.sigs.k8s.io/min-available"),
    ("gang.scheduling.koordinator.sh/name", "gang.scheduling.koordinator.sh/min-available"),
)
_KUEUE = "kueue.x-k8s.io/pod-group-name"
_KUEUE_TOTAL = "kueue.x-k8s.io/pod-group-total-count"
_KUEUE_FAST = "kueue.x-k8s.io/pod-group-fast-admission"


class Dialect(IntEnum):
    """Who declares groups; a smaller number takes precedence."""

    VOLCANO = 0
    KAI = 1
    SCHEDULER_PLUGINS = 2
    KOORDINATOR = 3
    UPSTREAM = 4
    KUEUE = 5


DIALECT_OF_API = {
    "scheduling.volcano.sh": Dialect.VOLCANO,
    "scheduling.run.ai": Dialect.KAI,
    "scheduling.x-k8s.io": Dialect.SCHEDULER_PLUGINS,
    "scheduling.sigs.k8s.io": Dialect.KOORDINATOR,
    "scheduling.k8s.io": Dialect.UPSTREAM,
}


class Reference(NamedTuple):
    """A pod's word that it belongs to a group."""

    dialect: Dialect
    name: str
    minimum: str | None = None
    """Given where the reference itself declares the group, so that no object is needed."""

    @property
    def said_by(self) -> str:
        """What the minimum is called there."""
        return "pod-group-total-count" if self.dialect is Dialect.KUEUE else "min-available"

    template: str | None = None
    """Name of the declared group that this one is a replica of (Workloads of 1.35)."""


def references(thing: Thing) -> Iterator[Reference]:
    """Yield the groups that the pod names, the one that counts first."""
    annotations, labels = thing.annotations, thing.labels
    for key in _VOLCANO:
        if annotations.get(key):
            yield Reference(Dialect.VOLCANO, annotations[key])
            break
    if annotations.get(_KAI):
        yield Reference(Dialect.KAI, annotations[_KAI])
    if labels.get(_SCHEDULER_PLUGINS):
        yield Reference(Dialect.SCHEDULER_PLUGINS, labels[_SCHEDULER_PLUGINS])
    if labels.get(_KOORDINATOR):
        yield Reference(Dialect.KOORDINATOR, labels[_KOORDINATOR])
    for of, (name, minimum) in zip((labels, annotations), _LIGHT, strict=True):
        if of.get(name):
            yield Reference(Dialect.KOORDINATOR, of[name], of.get(minimum))
    yield from _upstream(thing)
    # Kueue lets groups in before all of their pods exist where these are made one after another.
    if labels.get(_KUEUE) and annotations.get(_KUEUE_FAST) != "true":
        yield Reference(Dialect.KUEUE, labels[_KUEUE], annotations.get(_KUEUE_TOTAL, ""))


def _upstream(thing: Thing) -> Iterator[Reference]:
    body: PodBody = thing.body
    if body.spec is None:
        return
    group = body.spec.scheduling_group
    if group is not None and group.pod_group_name:
        yield Reference(Dialect.UPSTREAM, group.pod_group_name)
    ref = body.spec.workload_ref
    if ref is not None and ref.name and ref.pod_group:
        template = workload_group(ref.name, ref.pod_group)
        name = workload_group(ref.name, ref.pod_group, ref.pod_group_replica_key)
        yield Reference(Dialect.UPSTREAM, name, template=template)


def workload_group(workload: str, group: str, replica: str | None = None) -> str:
    """Return our name of a group of a Workload; each replica key is a group of its own."""
    return f"{workload}-{group}-{replica}" if replica else f"{workload}-{group}"
