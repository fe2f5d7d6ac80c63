"""Every legal plan of a small cluster, and the best one by given levels.

Plans are told apart up to exchange of interchangeable pods (same group, role, spec, and labels that
some selector reads; running ones also node and times). A step is one choice looked at, or one way
to place it.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from apportion.models import Config, GroupKey, NodeName, PodKey, Snapshot
from oracle.amount import minus, plus
from oracle.choice import Choice, Unit, losses, may_ever_evict
from oracle.cluster import BROKEN, Cluster
from oracle.cost import cost_of
from oracle.items import MINIMUM, items_of
from oracle.legality import is_well_placed, plan_of
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
) -> tuple[tuple[int, ...], Found] | None:
    """Return the best vector of :func:`worth` of all legal plans, and such a plan.

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
    no_cost = (0,) * len(cost_of(Choice(s, frozenset(), frozenset())))
    hopes: list[tuple[tuple[int, ...], frozenset[int]]] = []
    for started in start_sets(s, meter):
        if must <= {s.cluster.group_of[i] for i in started}:
            work = _work(s.cluster, started, levels)
            hopes.append((tuple(x for w in work for x in (w, *no_cost)), started))
    best: tuple[tuple[int, ...], Found] | None = None
    for hope, started in sorted(hopes, key=lambda t: t[0], reverse=True):
        if best is not None and hope <= best[0]:
            break
        ranked = [(_worth(ch, levels), ch) for ch in choices(s, started, meter)]
        for vector, choice in sorted(ranked, key=lambda t: t[0], reverse=True):
            if best is not None and vector <= best[0]:
                break
            places = next(placings(choice, meter), None)
            if places is not None:
                best = (vector, named(s.cluster, places, choice.evicted))
                break
    return best


def worth(
    snapshot: Snapshot,
    config: Config,
    levels: Sequence[Level],
    places: Mapping[PodKey, NodeName],
    evicted: Collection[PodKey],
) -> tuple[int, ...]:
    """Return the plan's vector: per level its work, and the cost of its victims with minus signs.

    A victim belongs to the last level of which something starts that has a right to it; where no
    level has such a group, it is not priced.
    """
    s = standing_of(snapshot, config)
    started, gone = plan_of(s, places, evicted)
    return _worth(Choice(s, frozenset(started), gone), levels)


def _worth(choice: Choice, levels: Sequence[Level]) -> tuple[int, ...]:
    starts = _starts(choice.cluster, choice.started, levels)
    victims: list[list[Unit]] = [[] for _ in levels]
    for u in choice.units:
        having = choice.beneficiaries(u)
        last = [n for n, level in enumerate(starts) if any(g in having for g, _ in level)]
        if last:
            victims[last[-1]].append(u)
    out: list[int] = []
    for n, work in enumerate(_work(choice.cluster, choice.started, levels)):
        out += [work, *(-x for x in cost_of(choice, victims[n]))]
    return tuple(out)


def _work(c: Cluster, started: frozenset[int], levels: Sequence[Level]) -> list[int]:
    return [sum(v for _, v in level) for level in _starts(c, started, levels)]


def _starts(
    c: Cluster, started: frozenset[int], levels: Sequence[Level]
) -> list[list[tuple[int, int]]]:
    """Return what starts of each level: the group, and what it is worth."""
    found: list[tuple[int, str, int]] = []
    for g in sorted({c.group_of[i] for i in started}):
        mine = started & set(c.pending[g])
        missing = sum(len(mine & set(x.pods)) for x in items_of(c, g, mine) if x.name[1] == MINIMUM)
        if missing:
            found.append((g, "minimum", 1))
        if c.groups[g].choices:  # larger parts than need be count as members more
            missing = min(missing, max(0, c.need[g] - len(c.running[g])))
        if len(mine) > missing:
            found.append((g, "elastic", len(mine) - missing))
    return [
        [
            (g, n * level[c.groups[g].key, what])
            for g, what, n in found
            if (c.groups[g].key, what) in level
        ]
        for level in levels
    ]


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
        if node.ready:
            free = minus(c.offers[n], c.base[n])
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
        if h in starters or not forced.isdisjoint(c.running[h]):
            continue
        options = [frozenset[int]()] + [
            u.pods for u in losses(s, h) if any(may_ever_evict(s, g, u) for g in starters)
        ]
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
