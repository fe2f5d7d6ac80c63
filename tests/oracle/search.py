"""Every legal plan of a small cluster, and the best one by given levels.

Plans are told apart up to exchange of interchangeable pods (same group, role, spec, and labels that
some selector reads). A step is one choice looked at, or one way to place it.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from apportion.models import Config, GroupKey, NodeName, PodKey, Snapshot
from oracle.amount import minus, plus
from oracle.choice import Choice, may_ever_evict, victim_units
from oracle.cluster import BROKEN, Cluster
from oracle.cost import cost_of
from oracle.items import MINIMUM, items_of
from oracle.legality import is_well_placed
from oracle.placing import spots
from oracle.standing import Standing, standing_of

Level = Mapping[tuple[GroupKey, str], int]
Found = tuple[dict[PodKey, NodeName], frozenset[PodKey]]
STEPS = 300_000


class Oversize(Exception):  # noqa: N818 - it names what the cluster is, not a failure
    """The enumeration would take more steps than allowed."""


@dataclass
class Meter:
    """Counts steps."""

    left: int

    def step(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise Oversize("the cluster is too large to try every plan")


def plans(snapshot: Snapshot, config: Config, limit: int = STEPS) -> Iterator[Found]:
    """Give all legal plans as (places, evicted).

    Raises
    ------
    Oversize
        If it takes more than ``limit`` steps.
    """
    s = standing_of(snapshot, config)
    meter = Meter(limit)
    for started in start_sets(s, meter):
        for choice in choices(s, started, meter):
            for places in placings(choice, meter):
                yield named(s.cluster, places, choice.evicted)


def optimum(
    snapshot: Snapshot,
    config: Config,
    levels: Sequence[Level],
    forced: Collection[GroupKey] = (),
    limit: int = STEPS,
) -> tuple[tuple[int, ...], tuple[int, ...], Found] | None:
    """Return the best vector of Σ values per level, the least cost with it, and such a plan.

    A level maps (group, "minimum" | "elastic") to the value of its minimum, or of each elastic
    member, that starts. ``forced`` groups must start pods; None: no legal plan starts them all.

    Raises
    ------
    Oversize
        If it takes more than ``limit`` steps.
    """
    s = standing_of(snapshot, config)
    meter = Meter(limit)
    must = {s.cluster.group_index[k] for k in forced}
    by_value: dict[tuple[int, ...], list[frozenset[int]]] = {}
    for started in start_sets(s, meter):
        if must <= {s.cluster.group_of[i] for i in started}:
            by_value.setdefault(_value(s, started, levels), []).append(started)
    for value in sorted(by_value, reverse=True):
        best: tuple[tuple[int, ...], Found] | None = None
        for started in by_value[value]:
            ranked = sorted(
                ((cost_of(ch), n, ch) for n, ch in enumerate(choices(s, started, meter))),
                key=lambda t: t[:2],
            )
            for cost, _, choice in ranked:
                if best is not None and best[0] <= cost:
                    break
                places = next(placings(choice, meter), None)
                if places is not None:
                    best = (cost, named(s.cluster, places, choice.evicted))
                    break
        if best is not None:
            return value, best[0], best[1]
    return None


def _value(s: Standing, started: frozenset[int], levels: Sequence[Level]) -> tuple[int, ...]:
    c = s.cluster
    out = [0] * len(levels)
    for g in sorted({c.group_of[i] for i in started}):
        for x in items_of(c, g, started & set(c.pending[g])):
            if not started & set(x.pods):
                continue
            what = (c.groups[g].key, "minimum" if x.name[1] == MINIMUM else "elastic")
            for n, level in enumerate(levels):
                out[n] += level.get(what, 0)
    return tuple(out)


def named(c: Cluster, places: Mapping[int, int], evicted: Collection[int]) -> Found:
    return (
        {c.pods[i].key: c.nodes[n].name for i, n in sorted(places.items())},
        frozenset(c.pods[i].key for i in evicted),
    )


def ways_to_start(s: Standing, g: int) -> list[frozenset[int]]:
    """Return the sets of pods that a plan may start of the group, up to exchange; first none."""
    c = s.cluster
    if c.held[g]:
        return [frozenset()]
    by_kind: dict[int, list[int]] = {}
    for i in c.pending[g]:
        if c.allowed[i]:
            by_kind.setdefault(c.kind[i], []).append(i)
    sets = [
        frozenset(i for pods, n in zip(by_kind.values(), counts, strict=True) for i in pods[:n])
        for counts in product(*(range(len(pods) + 1) for pods in by_kind.values()))
    ]
    return [x for x in sets if not x or c.satisfies(g, (*c.running[g], *x))]


def start_sets(s: Standing, meter: Meter) -> Iterator[frozenset[int]]:
    """Give every set of pods that could start together by the room of the emptied cluster."""
    c = s.cluster
    room = c.zero
    gone = {i for g in range(len(c.groups)) for i in c.running[g] if c.state[g] == BROKEN}
    for n, node in enumerate(c.nodes):
        if node.takes_pods:
            free = minus(c.allocatable[n], c.base[n])
            for i in c.evictable | gone:
                if c.node_of[i] == n:
                    free = plus(free, c.size[i])
            room = plus(room, tuple(max(0, v) for v in free))
    options = [ways_to_start(s, g) for g in range(len(c.groups))]
    sizes = [[c.sum_of(c.size[i] for i in x) for x in option] for option in options]

    def extend(g: int, chosen: frozenset[int], used: tuple[int, ...]) -> Iterator[frozenset[int]]:
        if g == len(options):
            yield chosen
            return
        for option, size in zip(options[g], sizes[g], strict=True):
            after = plus(used, size)
            if option:
                meter.step()
                if any(a > b for a, b in zip(after, room, strict=True)):
                    continue
            yield from extend(g + 1, chosen | option, after)

    return extend(0, frozenset(), c.zero)


def choices(s: Standing, started: frozenset[int], meter: Meter) -> Iterator[Choice]:
    """Give every set of victims with which these starts break no rule, places aside."""
    c = s.cluster
    forced = s.given_up(started)
    starters = {c.group_of[i] for i in started}
    per_group: list[list[frozenset[int]]] = []
    for h in range(len(c.groups)):
        if not c.running[h] or forced & set(c.running[h]):
            continue
        options = {frozenset[int]()}
        for unit in victim_units(s, h):
            if not any(may_ever_evict(s, g, unit) for g in starters):
                continue
            if unit.whole and h not in starters:
                options.add(unit.pods)
            elif not unit.whole:
                options |= {x | unit.pods for x in options}
        if len(options) > 1:
            per_group.append(sorted(options, key=lambda x: (len(x), sorted(x))))
    for some in product(*per_group):
        meter.step()
        choice = Choice(s, started, forced.union(*some))
        if choice.ok:
            yield choice


def placings(choice: Choice, meter: Meter) -> Iterator[dict[int, int]]:
    """Give every legal way to place the choice's pods."""
    for places in spots(choice.cluster, sorted(choice.started), choice.evicted, {}):
        meter.step()
        if is_well_placed(choice, places):
            yield places
