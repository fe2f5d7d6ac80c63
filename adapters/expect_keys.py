"""The keys of an expectation that speak of the whole cluster, each with its judge."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from typing import Any

from ..models import PodKey, PodState
from ..models.amounts import total
from ..models.quantity import parse_signed, show
from .expect_view import View, fits, said, texts
from .expectations import PodsOfGroups

GPU = "nvidia.com/gpu"
Found = Iterable[str]


def _warning(v: View, value: str | list[str]) -> Found:
    notes = [f"{w.object} {w.path} {w.message}" for w in v.plan.warnings]
    for text in texts(value):
        if not any(text in one for one in notes):
            yield f"no warning says {text!r}: {'; '.join(notes[:3]) or 'there is none'}"


def _rejected(v: View, value: str | list[str]) -> Found:
    notes = [f"{r.object} {r.path} {r.message}" for r in v.plan.rejected]
    for text in texts(value):
        if not any(text in one for one in notes):
            yield f"nothing rejected says {text!r}: {'; '.join(notes[:3]) or 'all was accepted'}"


def _counts(v: View, value: Mapping[str, Any]) -> Found:
    for group, want in value.items():
        n = len(v.running(group))
        if not fits(n, want):
            yield f"group {group}: {n} run, expected {said(want)}"


def _counts_of(v: View, value: Iterable[PodsOfGroups]) -> Found:
    for one in value:
        n = sum(len(v.running(g)) for g in one.groups)
        if not fits(n, one.pods):
            yield f"groups {', '.join(one.groups)}: {n} run, expected {said(one.pods)}"


def _by_task(v: View, value: Mapping[str, Any]) -> Found:
    for name, want in value.items():
        if not isinstance(want, dict):
            n = sum(v.snapshot.pods_by_key[k].role == name for k in v.final if _known(v, k))
            if not fits(n, want):
                yield f"task {name}: {n} run, expected {said(want)}"
            continue
        roles = Counter(p.role for p in v.running(name))
        for task, n_want in want.items():
            if not fits(roles[task], n_want):
                yield f"{name}/{task}: {roles[task]} run, expected {said(n_want)}"


def _known(v: View, key: PodKey) -> bool:
    return key in v.snapshot.pods_by_key


def _total(v: View, want: Any) -> Found:
    if not fits(len(v.final), want):
        yield f"{len(v.final)} pods run, expected {said(want)}"


def _bound(v: View, value: list[str] | Mapping[str, Any]) -> Found:
    wanted = value if isinstance(value, Mapping) else dict.fromkeys(value)
    for name, node in wanted.items():
        where = v.final.get(v.pod(name))
        if where is None:
            yield f"{name} does not run"
        elif node is not None and where not in texts(node):
            yield f"{name} is on {where}, expected {node}"


def _pending(v: View, value: Iterable[str]) -> Found:
    for name in value:
        if v.pod(name) in v.final:
            yield f"{name} runs on {v.final[v.pod(name)]}, expected not to"


def _evicted(v: View, value: list[str]) -> Found:
    if not value and v.evicted:
        yield f"{', '.join(sorted(v.evicted))} was evicted, expected nobody"
    for name in value:
        if not v.evicted[v.pod(name)]:
            yield f"{name} was not evicted"


def _evicted_count(v: View, want: Any) -> Found:
    if not fits(v.evicted.total(), want):
        yield f"{v.evicted.total()} evictions, expected {said(want)}"


def _evicted_count_max(v: View, most: int) -> Found:
    if v.evicted.total() > most:
        yield f"{v.evicted.total()} evictions, expected at most {most}"


def _whole_groups(v: View, want: Any) -> Found:
    n = 0
    for pods in v.snapshot.pods_by_group.values():
        running = [p for p in pods if p.state is PodState.RUNNING]
        n += bool(running) and all(v.evicted[p.key] for p in running)
    if not fits(n, want):
        yield f"{n} whole groups were evicted, expected {said(want)}"


def _untouched(v: View, value: Iterable[str]) -> Found:
    for name in value:
        if v.evicted[v.pod(name)]:
            yield f"{name} was evicted, expected to stay"


def _may_be_evicted(v: View, value: Iterable[str]) -> Found:
    allowed = {v.pod(name) for name in value}
    for key in sorted(set(v.evicted) - allowed):
        yield f"{key} was evicted and is no eligible victim"


def _node(v: View, value: Mapping[str, Any]) -> Found:
    yield from _bound(v, value)


def _nodes_allowed(v: View, value: Mapping[str, list[str]]) -> Found:
    for group, nodes in value.items():
        for p in v.running(group):
            if v.final[p.key] not in nodes:
                yield f"{p.key} is on {v.final[p.key]}, expected one of {', '.join(nodes)}"


def _same_label(v: View, value: Mapping[str, str]) -> Found:
    nodes = v.snapshot.nodes_by_name
    for group, label in value.items():
        seen = {nodes[v.final[p.key]].labels.get(label) for p in v.running(group)}
        if len(seen) > 1:
            yield f"group {group} is spread over {label} {', '.join(sorted(map(str, seen)))}"


def _queue_used_gpu(v: View, value: Mapping[str, Any]) -> Found:
    yield from _queue_used(v, {q: {GPU: want} for q, want in value.items()})


def _queue_used(v: View, value: Mapping[str, Mapping[str, Any]]) -> Found:
    for queue, wants in value.items():
        if queue not in v.snapshot.queues_by_name:
            yield f"there is no queue {queue}"
            continue
        use = _use(v, queue)
        for resource, want in wants.items():
            both = want if isinstance(want, list) else [want, want]
            low, high = (Fraction(parse_signed(x, resource)) for x in both)
            if not low <= use[resource] <= high:
                shown = show(use[resource], resource)
                yield f"queue {queue} uses {shown} of {resource}, expected {said(want)}"


def _use(v: View, queue: str) -> Any:
    """Return what runs in the queue and below it."""
    inside: set[str] = {queue}
    grown = True
    while grown:
        more = {q.name for q in v.snapshot.queues if q.parent in inside} - inside
        inside |= more
        grown = bool(more)
    return total(
        p.spec.requests
        for p in v.snapshot.pods
        if p.group is not None and p.key in v.final and v.snapshot.group(p.group).queue in inside
    )


KEYS: Mapping[str, Callable[[View, Any], Found]] = {
    "warning": _warning,
    "rejected": _rejected,
    "running_count": _counts,
    "bound_count": _counts,
    "running_of": _counts_of,
    "running_by_task": _by_task,
    "bound_count_by_task": _by_task,
    "bound_total": _total,
    "bound": _bound,
    "pending": _pending,
    "gone": _pending,
    "evicted": _evicted,
    "evicted_count": _evicted_count,
    "evicted_count_max": _evicted_count_max,
    "whole_groups_evicted": _whole_groups,
    "untouched": _untouched,
    "may_be_evicted": _may_be_evicted,
    "node": _node,
    "node_in": _node,
    "nodes_allowed": _nodes_allowed,
    "same_label": _same_label,
    "queue_used_gpu": _queue_used_gpu,
    "queue_used": _queue_used,
}
"""Every key of an expectation but those of one group, with its judge."""
