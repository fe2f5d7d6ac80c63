"""Whether a plan still holds for the cluster as it is now, group by group, before it is applied.

A plan is some moments old when it is applied. Whatever of it rests on an object that has changed
since is left out, and the next cycle plans it anew; the rest goes ahead.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable

from msgspec.structs import replace

from ...models import Bind, GroupKey, Node, NodeName, Plan, Pod, PodKey, PodState, Snapshot


def stale_groups(plan: Plan, seen: Snapshot, now: Snapshot) -> dict[GroupKey, str]:
    """Return the groups whose binds no longer hold, each with what has changed."""
    binds: dict[GroupKey, list[Bind]] = defaultdict(list)
    for b in plan.binds:
        binds[b.group].append(b)
    known = set(map(id, seen.pods))
    new = [p for p in now.pods if id(p) not in known and p.holds and not _was_there(p, seen)]
    repelling = [p for p in new if p.spec.anti_affinity]
    full = _unsafe(plan.binds, new, seen, now)
    out: dict[GroupKey, str] = {}
    for group, its in binds.items():
        for b in its:
            why = _pod_changed(b.pod, seen, now) or full.get(b.node)
            pod = seen.pods_by_key[b.pod]
            # Most pods look at nobody, and nobody keeps others away: then there is nothing to do.
            why = why or _meets(pod, new if pod.spec.sees_pods else repelling)
            if why is not None:
                out[group] = why
                break
    return out


def changed_victims(plan: Plan, seen: Snapshot, now: Snapshot) -> dict[PodKey, str]:
    """Return the victims that are not what the plan took them for: gone, replaced or leaving."""
    out: dict[PodKey, str] = {}
    for e in plan.evictions:
        pod, before = now.pods_by_key.get(e.pod), seen.pods_by_key[e.pod]
        if pod is None or pod.uid != before.uid:
            out[e.pod] = f"pod {e.pod} is gone"
        elif pod.state is not PodState.RUNNING:
            out[e.pod] = f"pod {e.pod} is {pod.state}"
    return out


def _pod_changed(key: PodKey, seen: Snapshot, now: Snapshot) -> str | None:
    before, pod = seen.pods_by_key[key], now.pods_by_key.get(key)
    if pod is before:
        return None
    if pod is None:
        return f"pod {key} is gone"
    if pod.uid != before.uid:
        return f"pod {key} is another one"
    if pod.state is not before.state:
        return f"pod {key} is {pod.state}"
    if replace(pod, nominated=before.nominated) != before:
        return f"pod {key} has changed"
    return None


def _meets(pod: Pod, new: Iterable[Pod]) -> str | None:
    """Return why newcomers matter to a pod, wherever they are: it looks at them, or they at it."""
    spec = pod.spec
    for p in new:
        seen = spec.sees_pods and (
            any(t.matches(p.namespace, p.labels) for t in (*spec.affinity, *spec.anti_affinity))
            or any(p.namespace == pod.namespace and s.matches(p.labels) for s in spec.spread)
        )
        if seen or any(t.matches(pod.namespace, pod.labels) for t in p.spec.anti_affinity):
            return f"pod {p.key} has come in between, and pod {pod.key} may not lie beside it"
    return None


def _unsafe(
    binds: Iterable[Bind], new: Iterable[Pod], seen: Snapshot, now: Snapshot
) -> dict[NodeName, str]:
    """Return the nodes on which the binds are not safe, with the reason.

    A node that has become another one is not safe. One that has taken other pods is, as long as
    everything on it still fits by amounts and no newcomer holds devices by their number, cells or
    ports.
    """
    coming: dict[NodeName, list[Pod]] = defaultdict(list)
    for b in binds:
        coming[b.node].append(seen.pods_by_key[b.pod])
    newcomers: dict[NodeName, list[Pod]] = defaultdict(list)
    for p in new:
        if p.node is not None and p.node in coming:
            newcomers[p.node].append(p)
    out: dict[NodeName, str] = {}
    before, after = seen.nodes_by_name, now.nodes_by_name
    for name in coming:
        if name not in after:
            out[name] = f"node {name} is gone"
        elif after[name] is not before[name] and after[name] != before[name]:
            out[name] = f"node {name} has changed"
    there = _holders(newcomers, now)
    for name, others in newcomers.items():
        if name in out:
            continue
        if any(p.devices or p.cells or p.claimed or p.spec.host_ports for p in others):
            out[name] = f"node {name} has taken pod {others[0].key} in between"
            continue
        over = _overfull((*there[name], *coming[name]), now.nodes_by_name[name])
        if over is not None:
            out[name] = f"node {name} has no room left in {over}"
    return out


def _holders(names: Collection[NodeName], now: Snapshot) -> dict[NodeName, list[Pod]]:
    """Return the pods that hold something on these nodes, in one pass over all pods."""
    out: dict[NodeName, list[Pod]] = {name: [] for name in names}
    if out:
        for p in now.pods:
            if p.node is not None and p.node in out and p.holds:
                out[p.node].append(p)
    return out


def _overfull(pods: Iterable[Pod], node: Node) -> str | None:
    """Return a resource of which the node would hold more than it has."""
    use: dict[str, int] = defaultdict(int)
    for p in pods:
        for r, v in p.footprint.items():
            use[r] += v
    return next((r for r, v in use.items() if v > node.allocatable[r]), None)


def _was_there(pod: Pod, seen: Snapshot) -> bool:
    before = seen.pods_by_key.get(pod.key)
    return before is pod or (before is not None and before.node == pod.node and before.holds)
