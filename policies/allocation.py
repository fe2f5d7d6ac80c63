"""Which devices serve which claims on one node: found by trying, equal devices only once.

Follows the allocator of Kubernetes' structured parameters (KEP-4381): requests in order, of
alternatives the first that can be, All means every device, counters are shared (KEP-4815),
and so is the capacity of devices that may be allocated several times (KEP-5075).
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from ..models import ClaimSpec, DeviceMatch, DeviceRequest, Node, PoolDevice

STEPS = 20_000
"""A search gives up after so many devices tried."""
Served = tuple[tuple[DeviceRequest, PoolDevice], ...]
"""The devices of one claim, with the request that each is for."""


@dataclass(frozen=True, slots=True)
class Ask:
    """A claim that wants devices of a node, but none of those that it is denied."""

    spec: ClaimSpec
    denied: AbstractSet[str] = frozenset()


class _Search:
    def __init__(
        self,
        node: Node,
        busy: AbstractSet[str],
        asks: Sequence[Ask],
        last: AbstractSet[str],
        drawn: Mapping[str, int],
        begun: AbstractSet[str] = frozenset(),
    ) -> None:
        self._asks = asks
        self._busy = set(busy)
        self._left = {c: n - drawn.get(c, 0) for c, n in node.counters.items()}
        self._users: Counter[str] = Counter()
        """Who has a part of each device that may be allocated several times."""
        self.steps = STEPS
        self._devices = sorted(node.pool_devices, key=lambda d: (d.id in last, d.id))
        for d in node.pool_devices:
            if d.taken:
                self._busy.add(d.id)
        for d in node.pool_devices:
            if d.id in self._busy:
                self._draw(d.counters, 1)
            if d.id in self._busy or d.id in begun:
                self._users[d.id] += d.multiple
        marks = [a.denied for a in asks]
        self._kind: dict[str, tuple[object, ...]] = {
            d.id: (
                d.selections, tuple(sorted(d.attributes.items())),
                tuple(sorted(d.counters.items())), tuple(d.id in m for m in marks), d.id in last,
                d.multiple and d.id,
            )
            for d in node.pool_devices
        }  # fmt: skip

    def split(self, kinds: Mapping[str, int]) -> None:
        """Take for equal only what is of one of these kinds."""
        self._kind = {k: (*v, kinds.get(k, -1)) for k, v in self._kind.items()}

    def run(self) -> Iterator[list[Served]]:
        """Give assignments of all the claims, devices of a kind in one order only."""
        return self._claim(0, [])

    def _claim(self, at: int, done: list[Served]) -> Iterator[list[Served]]:
        if at == len(self._asks):
            yield list(done)
            return
        ask = self._asks[at]
        for served in self._request(ask, 0, ()):
            done.append(served)
            yield from self._claim(at + 1, done)
            done.pop()

    def _request(self, ask: Ask, at: int, served: Served) -> Iterator[Served]:
        if at == len(ask.spec.requests):
            yield served
            return
        for one in ask.spec.requests[at]:
            for more in self._devices_for(ask, one, served):
                yield from self._request(ask, at + 1, more)

    def _devices_for(self, ask: Ask, one: DeviceRequest, served: Served) -> Iterator[Served]:
        able = [d for d in self._devices if one.selection in d.selections]
        if one.all:
            if able and all(one.admin or self._is_free(ask, d) for d in able):
                yield from self._exactly(ask, one, served, able)
            return
        yield from self._some(ask, one, served, able, one.count, 0)

    def _exactly(
        self, ask: Ask, one: DeviceRequest, served: Served, devices: Sequence[PoolDevice]
    ) -> Iterator[Served]:
        more = (*served, *((one, d) for d in devices))
        taken: list[PoolDevice] = []
        for d in devices:
            if not one.admin:
                if not self._fits(one, d):
                    break
                self._take(one, d, 1)
                taken.append(d)
        else:
            if matches(ask.spec.matches, more):
                yield more
        for d in taken:
            self._take(one, d, -1)

    def _some(
        self,
        ask: Ask,
        one: DeviceRequest,
        served: Served,
        able: Sequence[PoolDevice],
        n: int,
        at: int,
    ) -> Iterator[Served]:
        if n == 0:
            yield served
            return
        tried: set[object] = set()
        for i in range(at, len(able)):
            d = able[i]
            # Of what may be allocated several times a request may have several parts (KEP-5075).
            again = d.multiple and not one.admin
            had = not again and any(d is x for r, x in served if r is one)
            if self._kind[d.id] in tried or had:
                continue
            if not one.admin and not (self._is_free(ask, d) and self._fits(one, d)):
                continue
            tried.add(self._kind[d.id])
            self.steps -= 1
            if self.steps < 0:
                return
            more = (*served, (one, d))
            if not matches(ask.spec.matches, more):
                continue
            if not one.admin:
                self._take(one, d, 1)
            yield from self._some(ask, one, more, able, n - 1, i if again else i + 1)
            if not one.admin:
                self._take(one, d, -1)

    def _is_free(self, ask: Ask, d: PoolDevice) -> bool:
        return (d.multiple or d.id not in self._busy) and d.id not in ask.denied

    def _fits(self, one: DeviceRequest, d: PoolDevice) -> bool:
        return all(self._left.get(c, 0) >= n for c, n in self._wanted(one, d).items())

    def _wanted(self, one: DeviceRequest, d: PoolDevice) -> Mapping[str, int]:
        """Return what is taken of counters; of a device that is in parts, once for all parts."""
        if not d.multiple:
            return d.counters
        part = d.parts.get(one.selection, {})
        return part if self._users[d.id] else {**d.counters, **part}

    def _take(self, one: DeviceRequest, d: PoolDevice, sign: int) -> None:
        if not d.multiple:
            (self._busy.add if sign > 0 else self._busy.remove)(d.id)
            self._draw(d.counters, sign)
        elif sign > 0:
            self._draw(self._wanted(one, d), 1)
            self._users[d.id] += 1
        else:
            self._users[d.id] -= 1
            self._draw(self._wanted(one, d), -1)

    def _draw(self, amounts: Mapping[str, int], sign: int) -> None:
        for c, n in amounts.items():
            self._left[c] = self._left.get(c, 0) - sign * n


def matches(
    rules: Iterable[DeviceMatch], served: Iterable[tuple[DeviceRequest, PoolDevice]]
) -> bool:
    """Say whether the devices so far have equal (or different) values where they have to."""
    served = list(served)
    for rule in rules:
        values: list[str | None] = [
            d.attributes.get(rule.attribute)
            for r, d in served
            if not rule.requests or r.name in rule.requests or _parent(r.name) in rule.requests
        ]
        if None in values:
            return False
        if len(set(values)) != (len(values) if rule.distinct else min(1, len(values))):
            return False
    return True


def _parent(name: str) -> str:
    """Return the request of which an alternative (``request/alternative``) is one."""
    return name.split("/", 1)[0]


def in_parts(nodes: Iterable[Node]) -> frozenset[str]:
    """Return the devices that may be allocated several times (KEP-5075)."""
    return frozenset(d.id for n in nodes for d in n.pool_devices if d.multiple)


def allocate(
    node: Node,
    busy: AbstractSet[str],
    asks: Sequence[Ask],
    last: AbstractSet[str] = frozenset(),
    drawn: Mapping[str, int] | None = None,
    begun: AbstractSet[str] = frozenset(),
) -> list[Served] | None:
    """Return devices for all the claims, one of the ``last`` only where it has to be; else None.

    ``drawn``: what others have of the capacity of devices that may be allocated several times;
    ``begun``: such devices of which a further part draws no counters. A search that meets its limit
    has found nothing.
    """
    return next(_Search(node, busy, asks, last, drawn or {}, begun).run(), None)


Kind = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Pattern:
    """So many devices of each kind that a pod's claims could take on a node."""

    use: tuple[tuple[int, int], ...]
    """(kind, number)."""
    counters: Mapping[str, int]
    """What they take of counters, the parts of devices that may be allocated several times."""


MOST = 300
"""Of a pod's claims so many patterns are told at most for one node."""


def patterns(
    node: Node, gone: AbstractSet[str], asks: Sequence[ClaimSpec], kinds: Mapping[str, int]
) -> tuple[list[Pattern], bool]:
    """Return what the claims could take together, and whether that is all.

    ``gone``: ids that are never free; ``kinds``: the number of the kind of each other device.
    """
    # What a device in parts draws is counted apart, once for all its parts: here it is as begun.
    begun = in_parts((node,))
    search = _Search(node, gone, [Ask(a) for a in asks], frozenset(), {}, begun)
    search.split(kinds)
    found: dict[object, Pattern] = {}
    for served in search.run():
        taken = [(r, d) for claim in served for r, d in claim if not r.admin]
        use = tuple(sorted(Counter(kinds[d.id] for _, d in taken).items()))
        counters: Counter[str] = Counter()
        for r, d in taken:
            counters.update(d.parts.get(r.selection, {}) if d.multiple else d.counters)
        key = use, tuple(sorted(counters.items()))
        if key not in found:
            found[key] = Pattern(use, dict(counters))
        if len(found) > MOST:
            break
    whole = len(found) <= MOST and search.steps >= 0
    return list(found.values())[:MOST], whole
