"""Whether a plan breaks a rule: the choice (who), the places (where), and claims on nodes."""

from collections.abc import Collection, Iterator, Mapping

from apportion.models import Config, NodeName, PodKey, Snapshot
from oracle.allocating import allocation_problems
from oracle.amount import minus
from oracle.choice import Choice
from oracle.placing import clashes, place_problems
from oracle.standing import Standing, standing_of


def violations(
    snapshot: Snapshot,
    config: Config,
    places: Mapping[PodKey, NodeName],
    evicted: Collection[PodKey],
) -> list[str]:
    """Return every broken rule of the plan that starts ``places`` and evicts ``evicted``."""
    standing = standing_of(snapshot, config)
    c = standing.cluster
    out = []
    started: dict[int, int] = {}
    for pod, node in places.items():
        i, n = c.pod_index.get(pod), c.node_index.get(node)
        if i is None or n is None:
            out.append(f"unknown: pod {pod} or node {node}")
        elif i not in c.allowed:
            out.append(f"state: pod {pod} is {c.pods[i].state} or foreign, it cannot start")
        else:
            started[i] = n
    gone: set[int] = set()
    for pod in evicted:
        i = c.pod_index.get(pod)
        if i is None or i not in c.ours:
            out.append(f"state: pod {pod} is not running or not ours, it cannot be evicted")
        else:
            gone.add(i)
    choice = Choice(standing, frozenset(started), frozenset(gone))
    return [*out, *choice.problems(), *where_problems(choice, started)]


def is_well_placed(choice: Choice, places: Mapping[int, int]) -> bool:
    return next(where_problems(choice, places), None) is None


def where_problems(choice: Choice, places: Mapping[int, int]) -> Iterator[str]:
    """Say what is broken by the places of the choice's pods."""
    yield from place_problems(choice.cluster, places, choice.evicted)
    if choice.units:
        yield from _node_claims(choice, places)
        if choice.cluster.social:
            yield from _claims_by_clash(choice, places)
        if choice.cluster.claiming:
            yield from _claims_of_devices(choice, places)


def _node_claims(choice: Choice, places: Mapping[int, int]) -> Iterator[str]:
    c = choice.cluster
    for n in sorted(set(places.values())):
        freed = [
            (u, c.sum_of(c.size[i] for i in u.pods if c.node_of[i] == n))
            for u in choice.units
            if any(c.node_of[i] == n for i in u.pods)
        ]
        if not freed:
            continue
        asked: dict[int, list[int]] = {}
        for i, m in places.items():
            if m == n:
                asked.setdefault(c.group_of[i], []).append(i)
        need = {g: c.sum_of(c.size[i] for i in pods) for g, pods in asked.items()}
        left = c.sum_of(c.size[i] for i in choice.given_up if c.node_of[i] == n)
        before = minus(c.offers[n], c.base[n])
        for r in range(c.slot + 1):
            room = max(0, before[r]) + left[r]
            if not choice.claims_hold(room, {g: v[r] for g, v in need.items()}, freed, r):
                name = (*c.resources, "pods")[r]
                yield f"claims: {name} of node {c.nodes[n].name}"


def _claims_by_clash(choice: Choice, places: Mapping[int, int]) -> Iterator[str]:
    c = choice.cluster
    for u in choice.units:
        for v in u.pods:
            for i, n in places.items():
                if c.node_of[v] < 0 or not clashes(c, i, n, v, c.node_of[v]):
                    continue
                if not choice.right(c.group_of[i], u):
                    yield f"claims: {c.pods[i].key} clashes with {c.pods[v].key} without a right"


def _claims_of_devices(choice: Choice, places: Mapping[int, int]) -> Iterator[str]:
    """Devices that victims leave go to groups with a right to these."""
    c = choice.cluster
    unit_of = {i: u for u in choice.units for i in u.pods}

    def may(i: int, leaver: int) -> bool:
        return leaver not in unit_of or bool(choice.right(c.group_of[i], unit_of[leaver]))

    for said in allocation_problems(c, places, choice.evicted, may):
        yield f"claims: {said}"


def plan_of(
    standing: Standing, places: Mapping[PodKey, NodeName], evicted: Collection[PodKey]
) -> tuple[dict[int, int], frozenset[int]]:
    """Translate a plan to indices; it must name things of the snapshot only."""
    c = standing.cluster
    started = {c.pod_index[p]: c.node_index[n] for p, n in places.items()}
    return started, frozenset(c.pod_index[p] for p in evicted)
