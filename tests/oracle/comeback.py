"""Item 8, second half: a victim that would come back by right in the next cycle.

The next cycle is the cluster after the plan: what starts runs (started now, protected by nothing
new), victims and given-up groups are pending, terminating pods are gone, nominations are spent. A
budget bears as many more as covered pods start, as many fewer as are evicted.
"""

from collections.abc import Iterator
from itertools import combinations

from msgspec.structs import replace

from apportion.models import Budget, Pod, PodState, Snapshot
from oracle.choice import Unit as Victims
from oracle.choice import may_ever_evict
from oracle.cluster import Cluster
from oracle.exchange import Draft, Exchanges, Piece, Step
from oracle.standing import Standing


def returning(x: Exchanges, draft: Draft) -> Iterator[int]:
    """Give the groups that lose pods by right and would come back by right."""
    c = x.cluster
    choice = x.choice(draft.started, draft.evicted)
    if not choice.losers:
        return
    after = next_cluster(c, draft)
    later = Exchanges(Standing(after))
    for g in choice.losers:
        if _comes_back(later, after.group_index[c.groups[g].key]):
            yield g


def next_cluster(c: Cluster, draft: Draft) -> Cluster:
    s = c.snapshot
    places = dict(draft.places)

    def after(i: int, p: Pod) -> Pod:
        if i in places:
            node = c.nodes[places[i]].name
            return replace(p, state=PodState.RUNNING, node=node, started_s=s.taken_at_s)
        if i in draft.evicted:
            return replace(p, state=PodState.PENDING, node=None, started_s=None)
        return p

    def bears(n: int, b: Budget) -> Budget:
        more = sum(n in c.budgets_of[i] for i in places)
        fewer = sum(n in c.budgets_of[i] for i in draft.evicted)
        return replace(b, allowed=max(0, b.allowed + more - fewer))

    pods = tuple(after(i, p) for i, p in enumerate(c.pods) if p.state is not PodState.TERMINATING)
    budgets = tuple(bears(n, b) for n, b in enumerate(s.budgets))
    return Cluster(_changed(s, pods, budgets), c.config)


def _changed(s: Snapshot, pods: tuple[Pod, ...], budgets: tuple[Budget, ...]) -> Snapshot:
    return replace(s, pods=pods, budgets=budgets, nominations=())


def _comes_back(x: Exchanges, g: int) -> bool:
    """Say whether g could start, alone, only by evicting, and by right."""
    nothing = Draft((), x.standing.given_up(frozenset()))
    if g not in x.askers(nothing) or x.ways(nothing, g, frozenset()):
        return False
    pieces = [
        p
        for p in x.running(nothing, g)
        if may_ever_evict(x.standing, g, Victims(p.group, p.pods, p.whole))
    ]
    found: list[frozenset[Piece]] = []
    for n in range(1, len(pieces) + 1):
        for some in combinations(pieces, n):
            given = frozenset(some)
            if any(f < given for f in found):
                continue
            ways = x.ways(nothing, g, given)
            if ways:
                found.append(given)
            if any(_is_by_right(x, g, given, step) for step in ways):
                return True
    return False


def _is_by_right(x: Exchanges, g: int, given: frozenset[Piece], step: Step) -> bool:
    c = x.cluster
    if all(c.queue_of[p.group] == c.queue_of[g] for p in given):
        return True
    return x.standing.is_in(step.name, step.draft.started)
