"""Needless harm: victims that could stay, or that come back by right at the cost of others.

Item 8 of the order list (docs/design/order.md, section 5).
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations

from ..models import NodeName, Pod, PodKey
from ..models.advance import advance
from .evictable import given_up, given_up_pods
from .exchange import exchange
from .givers import Giver, runners
from .legality import is_legal
from .objection import Objection, Patience
from .outcome import Outcome
from .rights import rights_of
from .scene import Scene
from .smallest import SMALL, smallest
from .standing import standing_of


def needless(outcome: Outcome, patience: Patience) -> Iterator[Objection]:
    """Yield victims that could stay while everything starts where it starts, or that return."""
    scene = outcome.scene
    for key, pods in sorted(outcome.losses.items()):
        m = scene.roster[key]
        if given_up(scene, m):
            continue
        for saved in _savings(outcome, pods):
            if not patience.spend():
                return
            left = outcome.evicted - {p.key for p in saved}
            fewer = Outcome(scene, outcome.places, left, bound=())
            if is_legal(fewer):
                yield Objection(8, key, (), fewer)
                break
    yield from _returns(outcome, patience)


def _savings(outcome: Outcome, pods: tuple[Pod, ...]) -> Iterator[tuple[Pod, ...]]:
    """Yield parts of a group's evicted pods that might stay, the largest first.

    All parts of a few; of many all of them, all but those of one node, and single pods.
    """
    if len(pods) <= SMALL:
        for n in range(len(pods), 0, -1):
            yield from combinations(pods, n)
        return
    yield pods
    for node in sorted({p.node or "" for p in pods}):
        rest = tuple(p for p in pods if p.node != node)
        if rest:
            yield rest
    yield from ((p,) for p in pods)


def _returns(outcome: Outcome, patience: Patience) -> Iterator[Objection]:
    """Yield victims that come back by right in the next cycle, at the cost of others.

    A return counts against started groups that had a right to the victim, and against running work
    that could legally have been evicted in its place.
    """
    scene = outcome.scene
    victims = [g for g in sorted(outcome.losses) if not given_up(scene, scene.roster[g])]
    if not victims:
        return
    had = rights_of(outcome)
    places = {k: n for k, n in outcome.places.items()}
    after = Scene(advance(scene.snapshot, places, outcome.evicted), scene.config, scene.rules)
    nothing = Outcome(after, {}, given_up_pods(after), bound=())
    try:
        for key in victims:
            if not patience.spend():
                return
            if not standing_of(after).could_run[key] or exchange(nothing, key, ()) is not None:
                continue
            lost = {p.key for p in outcome.losses[key]}
            every = runners(nothing)
            takers = {g for g in outcome.started if had.may(g, key)}
            instead = set(map(id, stand_ins(outcome, lost, every)))
            pool = [r for r in every if r.group in takers or id(r) in instead]
            found = smallest(nothing, key, pool, patience) if pool else None
            if found is None:
                continue
            gives_way, then = found
            rights = rights_of(then)
            if gives_way and all(rights.may(key, s.group) for s in gives_way):
                yield Objection(8, key, gives_way, _in_its_place(outcome, lost, gives_way))
    finally:
        scene.cut_short |= after.cut_short


def stand_ins(outcome: Outcome, lost: set[PodKey], pool: Iterable[Giver]) -> Iterator[Giver]:
    """Yield running work that could have been evicted instead of these, and ran before as well."""
    crowded = _crowded(outcome, lost)
    for giver in pool:
        # Most are on other nodes: the rules need not be asked about them.
        elsewhere = not crowded <= {p.node for p in giver.pods}
        if elsewhere or any(p.key in outcome.places for p in giver.pods):
            continue
        if is_legal(_in_its_place(outcome, lost, (giver,))):
            yield giver


def _crowded(outcome: Outcome, lost: set[PodKey]) -> set[NodeName]:
    """Return the nodes where something starts for which there is no room if these stay."""
    stays = Outcome(outcome.scene, outcome.places, outcome.evicted - lost, bound=())
    over = (stays.room[stays.new_nodes] < 0) & (stays.new_rows != 0)
    return {stays.scene.nodes[i].name for i in stays.new_nodes[over.any(axis=1)].tolist()}


def _in_its_place(outcome: Outcome, lost: set[PodKey], gives_way: Sequence[Giver]) -> Outcome:
    """Return the plan in which these are evicted instead, or the plan itself where some start."""
    instead = {p.key for g in gives_way for p in g.pods}
    if not instead.isdisjoint(outcome.places):
        return outcome
    evicted = (outcome.evicted - lost) | instead
    return Outcome(outcome.scene, outcome.places, evicted, bound=())
