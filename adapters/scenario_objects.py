"""A scenario's nodes, queues and groups as the Kubernetes objects that they stand for.

So they pass the same door as everybody's objects, and may be mixed with them.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from ..models import InputError
from .durations import duration_ms
from .kubernetes.shape import checked
from .kubernetes.times import seconds_of, stamp
from .paths import below
from .patterns import PatternError, filled_in
from .scenario import Scenario, ScenarioNode, ScenarioQueue
from .scenario_group import Near, Role, ScenarioGroup
from .strict import sentence

Data = dict[str, Any]
NOW = "2026-01-05T12:00:00Z"
"""The time of scenarios that are all in short form and do not name one."""
_VOLCANO = "scheduling.volcano.sh/v1beta1"
_PODS_OF_A_NODE = "110"


def now_of(scenario: Scenario) -> int | None:
    """Return the scenario's time; None: the newest moment in its objects."""
    if scenario.now is not None:
        return seconds_of(scenario.now)
    return None if scenario.cluster.objects or scenario.cluster.files else seconds_of(NOW)


def objects_of(scenario: Scenario, scheduler: str, source: str) -> Iterator[Data]:
    """Yield the objects that the short forms stand for, then those written in place.

    Raises
    ------
    InputError
        If a pattern has no value at one of its numbers, or makes something that may not stand
        there.
    """
    now_s = now_of(scenario)
    try:
        for at, node in enumerate(scenario.cluster.nodes):
            yield from _nodes(node, f"cluster.nodes[{at}]")
        for queue in scenario.queues:
            yield _queue(queue)
        for at, group in enumerate(scenario.groups):
            for i in range(group.repeat):
                one = _numbered(group, i, f"groups[{at}]", source)
                yield from _group(one, scheduler, now_s)
    except PatternError as e:
        raise InputError(sentence(source, [(e.path, str(e))])) from e
    yield from scenario.cluster.objects


def _nodes(node: ScenarioNode, path: str) -> Iterator[Data]:
    for i in range(node.repeat):
        name = filled_in(node.name, i, f"{path}.name")
        topology = filled_in(node.topology, i, f"{path}.topology")
        labels = filled_in(node.labels, i, f"{path}.labels")
        spec: Data = {"unschedulable": True} if node.cordoned else {}
        if node.taints:
            taints = [t.model_dump() for t in node.taints]
            spec["taints"] = filled_in(taints, i, f"{path}.taints")
        yield {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {
                "name": name,
                "labels": {"kubernetes.io/hostname": name, **topology, **labels},
            },
            "spec": spec,
            "status": {
                "allocatable": {"pods": _PODS_OF_A_NODE, **node.capacity},
                "conditions": [{"type": "Ready", "status": "True" if node.ready else "False"}],
            },
        }


def _queue(queue: ScenarioQueue) -> Data:
    spec: Data = {
        "parent": queue.parent,
        "weight": queue.weight,
        "priority": queue.priority,
        "capability": queue.capability if queue.quota is None else queue.quota,
        "deserved": queue.deserved,
        "guarantee": None if queue.guarantee is None else {"resource": queue.guarantee},
        "reclaimable": queue.reclaimable,
        "state": queue.state,
    }
    meta: Data = {"name": queue.name}
    if queue.namespaces is not None:
        meta["annotations"] = {"apportion.dev/namespaces": ",".join(queue.namespaces)}
    return {
        "apiVersion": _VOLCANO,
        "kind": "Queue",
        "metadata": meta,
        "spec": {k: v for k, v in spec.items() if v is not None},
    }


def _numbered(group: ScenarioGroup, i: int, path: str, source: str) -> ScenarioGroup:
    data = group.model_dump(by_alias=True)
    data = {k: v if k == "spec" else filled_in(v, i, below(path, k)) for k, v in data.items()}
    one, found = checked({**data, "repeat": 1}, ScenarioGroup)
    if one is None:
        wrong = [(f"{path}.{where}" if where else path, f"at i = {i}: {m}") for where, m in found]
        raise InputError(sentence(source, wrong))
    return one


def _group(group: ScenarioGroup, scheduler: str, now_s: int | None) -> Iterator[Data]:
    created = group.created
    if group.age is not None:
        created = stamp(max(0, (now_s or 0) - duration_ms(group.age) // 1000))
    meta: Data = {"name": group.name, "namespace": group.namespace}
    if created is not None:
        meta["creationTimestamp"] = created
    annotations = {} if group.preemptable else {"volcano.sh/preemptable": "false"}
    by_role = {r.name: r.minimum for r in group.roles if r.minimum is not None}
    minimum = group.minimum
    if minimum is None:
        minimum = sum(by_role.values()) if by_role else group.size
    spec: Data = {"minMember": minimum}
    if group.queue is not None:
        spec["queue"] = group.queue
    if by_role:
        spec["minTaskMember"] = by_role
    near = _near(
        group.topology, "apportion.dev/topology-required", "apportion.dev/topology-preferred"
    )
    yield {
        "apiVersion": _VOLCANO,
        "kind": "PodGroup",
        "metadata": {**meta, "annotations": {**annotations, **near}},
        "spec": spec,
    }
    places = group.places
    for at, (suffix, role) in enumerate(_members(group)):
        node = places[at] if at < len(places) else None
        yield _pod(group, f"{group.name}-{suffix}", role, meta, annotations, scheduler, node)


def _near(near: Near | None, required: str, preferred: str) -> dict[str, str]:
    if near is None:
        return {}
    said = {required: near.within, preferred: near.preferred}
    return {key: level for key, level in said.items() if level is not None}


def _members(group: ScenarioGroup) -> Iterable[tuple[str, Role | None]]:
    if not group.roles:
        return [(str(n), None) for n in range(group.size)]
    return [(f"{r.name}-{n}", r) for r in group.roles for n in range(r.pods)]


def _pod(
    group: ScenarioGroup,
    name: str,
    role: Role | None,
    meta: Data,
    annotations: Data,
    scheduler: str,
    node: str | None,
) -> Data:
    notes = {"scheduling.k8s.io/group-name": group.name, **annotations, **group.annotations}
    if role is not None:
        notes["volcano.sh/task-spec"] = role.name
        notes |= _near(
            role.topology,
            "kueue.x-k8s.io/podset-required-topology", "kueue.x-k8s.io/podset-preferred-topology",
        )  # fmt: skip
        if role.priority is not None:
            notes["volcano.sh/task-priority"] = str(role.priority)
        if role.preemptable is not None:
            notes["volcano.sh/preemptable"] = str(role.preemptable).lower()
    if group.runtime is not None:
        notes["apportion.dev/runtime"] = group.runtime
    if group.user is not None:
        notes["apportion.dev/user"] = group.user
    requests = group.requests if role is None or role.requests is None else role.requests
    selector = group.node_selector
    if role is not None and role.node_selector is not None:
        selector = role.node_selector
    spec: Data = {
        "schedulerName": scheduler,
        "containers": [{"name": "main", "resources": {"requests": requests}}],
    }
    for key, value in (
        ("nodeName", node),
        ("priority", group.priority),
        ("preemptionPolicy", None if group.may_preempt else "Never"),
        ("nodeSelector", selector or None),
        ("tolerations", group.tolerations or None),
        ("affinity", group.affinity),
        ("topologySpreadConstraints", group.spread or None),
    ):
        if value is not None:
            spec[key] = value
    status: Data = {"phase": "Pending" if node is None else "Running"}
    if node is not None and "creationTimestamp" in meta:
        status["startTime"] = meta["creationTimestamp"]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {**meta, "name": name, "labels": group.labels, "annotations": notes},
        "spec": {**spec, **group.spec},
        "status": status,
    }
