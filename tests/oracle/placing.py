"""Where pods may stand: the rules of nodes, judged in the state that a plan ends in.

Required affinity and hard spread are read of the final state: who is evicted or terminating is
gone, who starts is there. A pod whose affinity nobody else in the cluster meets may stand alone if
it meets it itself, as kube-scheduler has it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet

from apportion.models import Node, Pod, PodState, PodTerm, SpreadConstraint
from oracle.allocating import allocation_problems
from oracle.amount import minus, plus
from oracle.cells import cell_problems
from oracle.cluster import CORDON, Cluster, bears, refusal, selects, tolerates
from oracle.devices import device_problems


def admits(pod: Pod, node: Node) -> bool:
    """Say whether the pod bears the node's taints, a cordon's among them."""
    cordoned = node.unschedulable and not bears(pod, CORDON)
    return node.ready and not cordoned and tolerates(pod, node)


def place_problems(
    c: Cluster,
    places: Mapping[int, int],
    gone: AbstractSet[int],
    met: AbstractSet[int] = frozenset(),
) -> Iterator[str]:
    """Say which rules of nodes the pods started at ``places`` break once ``gone`` is gone.

    The wish for company of those in ``met`` counts as met.
    """
    for i, n in places.items():
        if n not in c.allowed.get(i, ()):
            why = refusal(c.pods[i], c.nodes[n])
            if why:
                yield f"{why}: pod {c.pods[i].key} on {c.nodes[n].name}"
    yield from _capacity(c, places, gone)
    if c.storing:
        yield from _attached(c, places, gone)
    yield from _levels(c, places, gone)
    if c.claiming:
        yield from allocation_problems(c, places, gone)
    if c.bounded:
        yield from _storage(c, places)
    if c.social:
        yield from _company(c, places, gone, met)
        yield from device_problems(c, places, gone)
        yield from cell_problems(c, places, gone)


def _levels(c: Cluster, places: Mapping[int, int], gone: AbstractSet[int]) -> Iterator[str]:
    """Members under one request run in one domain of its level, whoever stays included."""
    there = {i: c.node_of[i] for i in c.sitting if i not in gone} | dict(places)
    for g in sorted({c.group_of[i] for i in places}):
        for name, level in c.required[g]:
            members = [i for i in there if c.group_of[i] == g and c.is_in(i, name)]
            if not any(i in places for i in members):
                continue
            found = {level.get(c.nodes[there[i]].name) for i in members}
            if None in found or len(found) > 1:
                yield f"topology: group {c.groups[g].key} {name} lies in {sorted(map(str, found))}"


def _capacity(c: Cluster, places: Mapping[int, int], gone: AbstractSet[int]) -> Iterator[str]:
    for n in sorted(set(places.values())):
        started = c.sum_of(c.size[i] for i, m in places.items() if m == n)
        left = c.sum_of(c.size[i] for i in gone if c.node_of[i] == n)
        after = minus(plus(c.base[n], started), left)
        for r, amount in enumerate(started):
            if amount and after[r] > c.offers[n][r]:
                name = (*c.resources, "pods")[r]
                yield f"capacity: {name} of {c.nodes[n].name}: {after[r]} > {c.offers[n][r]}"


def _storage(c: Cluster, places: Mapping[int, int]) -> Iterator[str]:
    """Claims that are still to be made stay inside the quotas of their namespace."""
    for q in c.snapshot.quotas:
        made = [v for i in places for v in c.pods[i].spec.volumes if v.made_in == q.namespace]
        for key, most in q.hard.items():
            prefix, _, last = key.rpartition("/")
            of = [v for v in made if prefix in ("", "count") or prefix.startswith(v.storage_class)]
            if "." in prefix and not prefix.endswith(".storageclass.storage.k8s.io"):
                continue
            amounts = {
                "persistentvolumeclaims": len(of),
                "requests.storage": sum(v.size for v in of),
            }
            asked = amounts.get(last, 0)
            if asked and not q.scoped and q.used.get(key, 0) + asked > most:
                yield f"storage quota: {key} of {q.name}"


def _attached(c: Cluster, places: Mapping[int, int], gone: AbstractSet[int]) -> Iterator[str]:
    """Every volume counts once on a node for its driver, own ones by their pod."""
    there = {i: c.node_of[i] for i in c.sitting if i not in gone} | dict(places)
    for n in sorted(set(places.values())):
        new = {v.driver for i, m in places.items() if m == n for v in c.pods[i].spec.volumes}
        for driver, most in c.nodes[n].drivers.items():
            if most is None or driver not in new:
                continue
            volumes = {
                (v.claim, 0, 0) if v.claim else ("", i, k)
                for i, m in there.items()
                if m == n
                for k, v in enumerate(c.pods[i].spec.volumes)
                if v.driver == driver
            }
            if len(volumes) > most:
                yield f"attach limit: {driver} on {c.nodes[n].name}: {len(volumes)} > {most}"


def _company(
    c: Cluster, places: Mapping[int, int], gone: AbstractSet[int], met: AbstractSet[int]
) -> Iterator[str]:
    there = {i: c.node_of[i] for i in c.sitting if i not in gone} | dict(places)
    for i, n in places.items():
        pod, node = c.pods[i], c.nodes[n].name
        for j, m in there.items():
            if (i in c.wary or j in c.wary) and j != i and clashes(c, i, n, j, m):
                yield f"host port or anti-affinity: {pod.key} and {c.pods[j].key} on {node}"
        if pod.spec.affinity and not _has_company(c, i, n, there, i in met):
            yield f"affinity: {pod.key} on {node}"
        for constraint in pod.spec.spread:
            if constraint.hard and not _is_spread(c, i, n, constraint, there):
                yield f"spread: {pod.key} on {node}"


def clashes(c: Cluster, i: int, n: int, j: int, m: int) -> bool:
    """Say whether pod i on node n and pod j on node m may not be there together."""
    a, b = c.pods[i], c.pods[j]
    if n == m and any(x.clashes(y) for x in a.spec.host_ports for y in b.spec.host_ports):
        return True
    return _repels(c, a, n, b, m) or _repels(c, b, m, a, n) or _apart(c, a, n, b, m)


def _apart(c: Cluster, a: Pod, n: int, b: Pod, m: int) -> bool:
    """Say whether the pods share a claim that can not be used from both places."""
    for v in a.spec.volumes:
        if not v.claim or all(v.claim != w.claim for w in b.spec.volumes):
            continue
        if v.sharing == "pod" or (v.sharing == "node" and n != m):
            return True
        if any(c.nodes[n].labels.get(k) != c.nodes[m].labels.get(k) for k in v.keys):
            return True
    return False


def _repels(c: Cluster, a: Pod, n: int, b: Pod, m: int) -> bool:
    return any(
        _same_domain(c, t.topology_key, n, m) and t.matches(b.namespace, b.labels)
        for t in a.spec.anti_affinity
    )


def _same_domain(c: Cluster, key: str, n: int, m: int) -> bool:
    here = c.nodes[n].labels.get(key)
    return here is not None and here == c.nodes[m].labels.get(key)


def could_be_met(c: Cluster, g: int) -> frozenset[int]:
    """Return the group's waiting pods whose company others run or could start."""
    leaving = c.given_up(frozenset())
    others = [
        p
        for j, p in enumerate(c.pods)
        if c.group_of[j] != g
        and j not in leaving
        and (p.state is PodState.RUNNING or (p.ours and p.state is PodState.PENDING))
    ]
    asking = [i for i in c.pending[g] if c.pods[i].spec.affinity]
    return frozenset(
        i for i in asking if any(_matches_all(c.pods[i].spec.affinity, p) for p in others)
    )


def _has_company(c: Cluster, i: int, n: int, there: Mapping[int, int], met: bool) -> bool:
    pod, terms = c.pods[i], c.pods[i].spec.affinity
    if any(t.topology_key not in c.nodes[n].labels for t in terms):
        return False
    if met:
        return True
    fitting = [m for j, m in there.items() if j != i and _matches_all(terms, c.pods[j])]
    if all(any(_same_domain(c, t.topology_key, n, m) for m in fitting) for t in terms):
        return True
    seen = any(t.topology_key in c.nodes[m].labels for m in fitting for t in terms)
    return not seen and _matches_all(terms, pod)


def _matches_all(terms: Iterable[PodTerm], pod: Pod) -> bool:
    return all(t.matches(pod.namespace, pod.labels) for t in terms)


def _is_spread(
    c: Cluster, i: int, n: int, constraint: SpreadConstraint, there: Mapping[int, int]
) -> bool:
    """count(domain) − min over eligible domains ≤ maxSkew; fewer domains than minDomains: min 0."""
    pod, key = c.pods[i], constraint.topology_key
    hard_keys = [s.topology_key for s in pod.spec.spread if s.hard]
    counts: dict[str, int] = {}
    for m, node in enumerate(c.nodes):
        if any(k not in node.labels for k in hard_keys):
            continue
        if constraint.honor_affinity and not selects(pod, node):
            continue
        if constraint.honor_taints and not admits(pod, node):
            continue
        counts[node.labels[key]] = counts.get(node.labels[key], 0) + sum(
            at == m
            and c.pods[j].namespace == pod.namespace
            and constraint.matches(c.pods[j].labels)
            for j, at in there.items()
        )
    domain = c.nodes[n].labels.get(key)
    if domain not in counts:
        return False
    least = 0 if len(counts) < constraint.min_domains else min(counts.values())
    return counts[domain] - least <= constraint.max_skew


def spots(
    c: Cluster, pods: Sequence[int], gone: AbstractSet[int], fixed: Mapping[int, int]
) -> Iterator[dict[int, int]]:
    """Give every way to place the pods by room and by the rules of one pod and one node.

    Interchangeable pods are placed in one order only. ``fixed`` starts besides.
    """
    free = [minus(a, b) for a, b in zip(c.offers, c.base, strict=True)]
    for i in gone:
        if c.node_of[i] >= 0:
            free[c.node_of[i]] = plus(free[c.node_of[i]], c.size[i])
    for i, n in fixed.items():
        free[n] = minus(free[n], c.size[i])
    order = sorted(pods, key=lambda i: (c.kind[i], c.rank(i)))
    out: dict[int, int] = {}

    def place(at: int) -> Iterator[dict[int, int]]:
        if at == len(order):
            yield dict(out)
            return
        i = order[at]
        size = c.size[i]
        twin = at > 0 and c.kind[order[at - 1]] == c.kind[i]
        first = out[order[at - 1]] if twin else 0
        for n in c.allowed[i]:
            if n < first or any(s and s > f for s, f in zip(size, free[n], strict=True)):
                continue
            before = free[n]
            free[n] = minus(before, size)
            out[i] = n
            yield from place(at + 1)
            free[n] = before
            del out[i]

    return place(0)


def can_be_placed(
    c: Cluster,
    pods: Sequence[int],
    gone: AbstractSet[int],
    fixed: Mapping[int, int] | None = None,
    met: AbstractSet[int] = frozenset(),
) -> bool:
    """Say whether the pods can be placed together by every rule of nodes."""
    fixed = fixed or {}
    for out in spots(c, pods, gone, fixed):
        judged = c.social or c.storing or c.leveled or c.claiming or c.bounded
        if not judged or next(place_problems(c, {**fixed, **out}, gone, met), None) is None:
            return True
    return False
