"""Single pods: those that come one by one, and ask for nothing but room."""

from ...models import PodSpec, PodState, Snapshot

FEW_PODS = 500
"""Up to so many pods, each on its own, go where the greedy engine puts them. It is where a search
finds no better places, as far as it could be proven (benchmarks/README.md), and takes longer."""


def are_few_and_single(world: Snapshot) -> bool:
    """Say whether few pods wait, which only amounts and rules about nodes keep from places."""
    waiting = [p for p in world.pods if p.ours and p.state is PodState.PENDING]
    if len(waiting) > FEW_PODS or not all(asks_only_for_room(p.spec) for p in waiting):
        return False
    keys = {p.group for p in waiting}
    groups = [g for g in world.groups if g.key in keys]
    return all(g.effective_minimum <= 1 and g.topology is None and not g.subgroups for g in groups)


def asks_only_for_room(spec: PodSpec) -> bool:
    """Say whether only amounts and rules about nodes keep such pods from places."""
    more = (spec.preferred_nodes, spec.volumes, spec.share, spec.claims, spec.aligned, spec.plugged)
    return not (spec.sees_pods or any(more))
