"""Item 8, second half: a victim that would come back by right in the next cycle.

It comes back where its group, alone, can start by evicting and not without, and among what it would
evict are started pods of a group that had a right to it (the two would evict each other in turns),
or all of that ran before and could legally have gone in its place (the wrong one went). Other
returns are no harm that a plan could avoid: one gang makes room for a second one, which takes the
place of a third; or idle room is used meanwhile.

The next cycle is the cluster after the plan: what starts runs (started now, protected by nothing
new), victims and given-up groups are pending, terminating pods are gone, nominations are spent. A
budget bears as many more as covered pods start, as many fewer as are evicted.
"""

from collections.abc import Iterator

from msgspec.structs import replace

from apportion.models import Budget, Pod, PodState, Snapshot
from oracle.choice import Unit as Victims
from oracle.choice import may_ever_evict
from oracle.cluster import Cluster
from oracle.exchange import Draft, Exchanges, Piece
from oracle.standing import Standing


def returning(x: Exchanges, draft: Draft) -> Iterator[tuple[int, Draft | None]]:
    """Give the groups that lose pods by right and would come back by right, and that count.

    With each goes the plan that evicts others in its place, if there is one.
    """
    c = x.cluster
    choice = x.choice(draft.started, draft.evicted)
    if not choice.losers:
        return
    after = next_cluster(c, draft)
    later = Exchanges(Standing(after))
    for g, lost in choice.losers.items():
        rivals = {h for u in choice.units if u.group == g for h in choice.beneficiaries(u)}
        for given in _returns(later, after.group_index[c.groups[g].key]):
            against = {c.pod_index[after.pods[i].key] for p in given for i in p.pods}
            instead = Draft(draft.places, draft.evicted - lost | against)
            if any(c.group_of[i] in rivals for i in against & draft.started):
                yield g, None
                break
            if against <= c.ours and x.is_legal(instead):
                yield g, instead
                break


def next_cluster(c: Cluster, draft: Draft) -> Cluster:
    s = c.snapshot
    places = dict(draft.places)

    def after(i: int, p: Pod) -> Pod:
        if i in places:
            node = c.nodes[places[i]].name
            at = {"node": node, "started_s": s.taken_at_s, "devices": ()}
            return replace(p, state=PodState.RUNNING, **at)
        if i in draft.evicted:
            return replace(p, state=PodState.PENDING, node=None, started_s=None, devices=())
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


def _returns(x: Exchanges, g: int) -> Iterator[frozenset[Piece]]:
    """Give what g, alone, would evict by right where it can only start by evicting."""
    nothing = Draft((), x.standing.given_up(frozenset()))
    if g not in x.askers(nothing) or x.ways(nothing, g, frozenset()):
        return
    pieces = [
        p
        for p in x.running(nothing, g)
        if may_ever_evict(x.standing, g, Victims(p.group, p.pods, p.whole))
    ]
    yield from x.minimal_sets(nothing, g, pieces)
