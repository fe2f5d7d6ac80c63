"""Device claims, tried by brute force: every way to give every claim of a node its devices."""

from collections.abc import Callable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from itertools import combinations_with_replacement

from apportion.models import ClaimSpec, DeviceRequest, Node, PodState, PoolDevice
from oracle.cluster import Cluster

May = Callable[[int, int], bool]
"""Whether pod i may have what the leaving pod j has now."""


def allocation_problems(
    c: Cluster,
    places: Mapping[int, int],
    gone: AbstractSet[int],
    may: May = lambda i, leaver: True,
) -> Iterator[str]:
    """Say which nodes cannot serve the claims of what starts there once ``gone`` is gone."""
    claims = {x.key: x for x in c.snapshot.claims}
    new = {i: n for i, n in places.items() if c.pods[i].spec.claims}
    spot: dict[str, int] = {}
    for i, n in sorted(new.items()):
        for key in _named(c, i):
            claim, node = claims[key], c.nodes[n]
            if claim.allocated:
                terms = claim.nodes
                if terms is not None and not any(t.matches(node.labels, node.name) for t in terms):
                    yield f"claim {key}: its devices are not for {node.name}"
            elif spot.setdefault(key, n) != n:
                yield f"claim {key}: on {node.name} and elsewhere"
    leavers = _leavers(c, places, gone)
    for n in sorted(set(new.values())):
        mine = [i for i in sorted(new) if new[i] == n]
        wants: list[tuple[list[int], ClaimSpec]] = []
        for i in mine:
            wants += [
                ([i], _here(x.spec, c.nodes[n])) for x in c.pods[i].spec.claims if not x.claim
            ]
        for key in sorted({k for i in mine for k in _named(c, i)}):
            if not claims[key].allocated:
                wants.append(([i for i in mine if key in _named(c, i)], claims[key].spec))
        free = []
        used: dict[str, int] = dict(leavers.drawn)
        begun = set()
        for d in c.nodes[n].pool_devices:
            if d.taken or d.id in leavers.held:
                begun.add(d.id)
                for name, amount in d.counters.items():
                    used[name] = used.get(name, 0) + amount
            if d.multiple or d.id not in begun:
                free.append(d)
        left = {k: v - used.get(k, 0) for k, v in c.nodes[n].counters.items()}

        def allowed(i: int, d: PoolDevice) -> bool:
            return d.multiple or all(may(i, j) for j in leavers.of.get(d.id, ()))

        if not _serve(c.nodes[n].pool_devices, free, left, wants, allowed, begun):
            yield f"devices of {c.nodes[n].name}"


def beginners(c: Cluster) -> frozenset[int]:
    """Return the pods with parts of devices that could not be begun again: counters lack for it."""
    of_claim = {x.key: x.devices for x in c.snapshot.claims if x.allocated}
    has = {
        i: {*c.pods[i].claimed, *(d for key in _named(c, i) for d in of_claim.get(key, ()))}
        for i in c.sitting
    }
    busy = set[str]().union(*has.values(), *of_claim.values())
    scarce: set[str] = set()
    for node in c.nodes:
        left = dict(node.counters)
        in_use = [d for d in node.pool_devices if d.taken or d.id in busy]
        for d in in_use:
            _add(left, {name: -n for name, n in d.counters.items()})
        scarce |= {d.id for d in in_use if d.multiple and any(left[x] < 0 for x in d.counters)}
    return frozenset(i for i, devices in has.items() if not scarce.isdisjoint(devices))


def _here(spec: ClaimSpec, node: Node) -> ClaimSpec:
    """Leave out the extended resources that a device plug-in of the node has."""
    offered = dict(node.plugged) if node.pool_devices else dict(node.allocatable)
    kept = [of for of in spec.requests if not (of[0].resource and offered.get(of[0].resource))]
    return ClaimSpec(tuple(kept), spec.matches)


def _named(c: Cluster, i: int) -> list[str]:
    return [x.claim for x in c.pods[i].spec.claims if x.claim]


class _Leavers:
    def __init__(self) -> None:
        self.held: set[str] = set()
        self.drawn: dict[str, int] = {}
        """What those who stay have of capacities."""
        self.of: dict[str, list[int]] = {}
        """Device to the pods that have to leave it."""


def _leavers(c: Cluster, places: Mapping[int, int], gone: AbstractSet[int]) -> _Leavers:
    out = _Leavers()
    sitting = set(c.sitting)
    terminating = {i for i, p in enumerate(c.pods) if p.state is PodState.TERMINATING}
    for i in sorted(sitting | terminating):
        if i in sitting and i not in gone:
            _add(out.drawn, c.pods[i].draws)
        for d in c.pods[i].claimed:
            if i in sitting and i not in gone:
                out.held.add(d)
            else:
                out.of.setdefault(d, []).extend([i] if i in sitting else [])
    for claim in c.snapshot.claims:
        if not claim.allocated:
            continue
        had = [i for i in sorted(sitting | terminating) if claim.key in _named(c, i)]
        stay = [i for i in had if i in sitting and i not in gone]
        starts = [i for i in places if claim.key in _named(c, i)]
        if stay or starts or not had:
            _add(out.drawn, claim.draws)
        for d in claim.devices:
            if stay or starts or not had:
                out.held.add(d)
            else:
                out.of.setdefault(d, []).extend(i for i in had if i in sitting)
    return out


def _add(into: dict[str, int], more: Mapping[str, int]) -> None:
    for name, n in more.items():
        into[name] = into.get(name, 0) + n


def _serve(
    every: tuple[PoolDevice, ...],
    free: list[PoolDevice],
    left: Mapping[str, int],
    wants: list[tuple[list[int], ClaimSpec]],
    allowed: Callable[[int, PoolDevice], bool],
    begun: AbstractSet[str],
) -> bool:
    if not wants:
        return True
    (pods, spec), *rest = wants
    mine = [d for d in free if all(allowed(i, d) for i in pods)]
    for chosen in _ways(every, mine, spec.requests):
        if not _agree(spec, chosen):
            continue
        taken = [(r, d) for r, d in chosen if not r.admin]
        whole = [d for _, d in taken if not d.multiple]
        if len({d.id for d in whole}) < len(whole):
            continue
        after, now, drawn = dict(left), set(begun), set[str]()
        for r, d in taken:
            amounts = dict(d.parts.get(r.selection, {})) if d.multiple else {}
            if not d.multiple or d.id not in now:
                _add(amounts, d.counters)
            now.add(d.id)
            drawn |= set(amounts)
            _add(after, {name: -n for name, n in amounts.items()})
        if any(after[name] < 0 for name in drawn):
            continue
        ids = {d.id for d in whole}
        if _serve(every, [d for d in free if d.id not in ids], after, rest, allowed, now):
            return True
    return False


def _ways(
    every: tuple[PoolDevice, ...],
    free: list[PoolDevice],
    requests: tuple[tuple[DeviceRequest, ...], ...],
) -> Iterator[list[tuple[DeviceRequest, PoolDevice]]]:
    if not requests:
        yield []
        return
    first, *others = requests
    for r in first:
        suits = [d for d in every if r.selection in d.selections]
        able = suits if r.admin else [d for d in suits if any(d.id == f.id for f in free)]
        if r.all:
            sets = [tuple(suits)] if suits and len(able) == len(suits) else []
        else:
            sets = [
                some
                for some in combinations_with_replacement(able, r.count)
                if all((d.multiple and not r.admin) or some.count(d) == 1 for d in some)
            ]
        for some in sets:
            for more in _ways(every, free, tuple(others)):
                yield [*((r, d) for d in some), *more]


def _agree(spec: ClaimSpec, chosen: list[tuple[DeviceRequest, PoolDevice]]) -> bool:
    for m in spec.matches:
        values = [
            d.attributes.get(m.attribute)
            for r, d in chosen
            if not m.requests or {r.name, r.name.split("/")[0]} & set(m.requests)
        ]
        if any(v is None for v in values):
            return False
        if m.distinct and len(set(values)) < len(values):
            return False
        if not m.distinct and len(set(values)) > 1:
            return False
    return True
