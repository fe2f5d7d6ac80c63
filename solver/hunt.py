"""The hunt: places for a group's pods where running work has to leave, at small cost.

A heuristic: node by node the cheapest victims that make a pod fit, then whatever can be spared is
spared. The checker judges every result; the solver improves on it.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from operator import add, ge
from types import MappingProxyType

import numpy as np

from ..models import GroupKey, Pod, PodKey
from ..policies.api import Constraint
from ..policies.budgets import covering_of
from ..policies.cost import lost_work
from ..policies.ledger import Matrix
from ..policies.outcome import Outcome
from .draft import Draft
from .footing import above_guarantees, may_stay, rights_to
from .gone import Wave
from .herd import Herd
from .market import Cost, Market
from .prey import Prey, Preys, prey_of

NOTHING: Cost = (0,) * 5
LARGE = 600
"""Of more pods than these a hunt is not judged by the whole plan."""


class Hunt:
    """One attempt to make room for pods of a group."""

    def __init__(
        self, draft: Draft, group: GroupKey, pods: Sequence[Pod], preys: Preys | None = None
    ) -> None:
        """``preys``: what the group could evict, where that is known."""
        self._draft = draft
        self._group = group
        self._pods = pods
        self._preys = preys if preys is not None else prey_of(draft, group, pods)
        self._taken: dict[GroupKey, list[Pod]] = {}
        self._placed: list[Pod] = []
        self._covering = covering_of(draft.scene)
        self._lost = self._covering.count(draft.scene.pods[k] for k in draft.evicted)
        """How many evictions each budget bears already."""
        self._is_large = len(draft.scene.snapshot.pods) > LARGE
        self._markets: dict[int, Market] = {}
        """Nodes that could be cleared and what that costs, by spec."""

    def run(self) -> bool:
        """Place all the pods and evict what must leave; or change nothing and say no."""
        done = self._preys is not None and self._clears() and self._spare() and self._stands()
        if done:
            self._draft.pledges.add(rights_to(self._draft, self._group, self._taken) or ())
        else:
            self.undo()
        return done

    def finds_room(self) -> bool:
        """Place all the pods and evict for them, sparing nobody; or change nothing and say no."""
        done = self._preys is not None and self._clears()
        if not done:
            self.undo()
        return done

    def _clears(self) -> bool:
        done = self._quota() and self._places()
        self._markets.clear()  # they know this hunt
        return done

    @property
    def _herd(self) -> Herd:
        return self._draft.herd

    def _prey(self, group: GroupKey) -> Prey:
        assert self._preys is not None
        return self._preys.of_group(group)

    # Costs

    def _weight(self, prey: Prey) -> int:
        return int(self._herd.weights[self._herd.at[prey.group]])

    def _cost(self, prey: Prey, wave: Wave) -> Cost:
        """Return what counts of pods that leave together, first things first."""
        breaks = len(self._taken.get(prey.group, ())) >= prey.single
        number = len(wave.pods)
        return (
            prey.inside * number, self._weight(prey) * number, int(breaks),
            wave.lost, wave.age_s,
        )  # fmt: skip

    def _wave(self, prey: Prey, pod: Pod) -> Wave | None:
        """Return what leaves with this pod: itself, or the whole group; None: it may not."""
        draft = self._draft
        if len(self._taken.get(prey.group, ())) < prey.single and self._stays_whole(prey, pod):
            wave = draft.gone.alone(pod)
        elif prey.whole:
            wave = draft.gone.rest(self._herd.at[prey.group], draft.evicted)
        else:
            return None
        return wave if self._bears(wave.pods) else None

    def _stays_whole(self, prey: Prey, pod: Pod) -> bool:
        """Say whether the group is whole without this pod, and without those that leave so far."""
        draft = self._draft
        members = draft.scene.roster[prey.group]
        if not members.role_need and not members.choices:
            left = len(members.running) - int(draft.gone.of_runner[self._herd.at[prey.group]])
            return left - 1 >= members.need
        return members.is_whole(
            [p for p in members.running if p is not pod and p.key not in draft.evicted]
        )

    def _bears(self, pods: Sequence[Pod], more: Mapping[int, int] = MappingProxyType({})) -> bool:
        """Say whether the budgets bear these evictions, beside those so far and some more."""
        if not self._covering.any or not any(map(self._covering.of, pods)):
            return True
        counts = self._covering.count(pods)
        lost = self._lost
        return self._covering.bear({i: n + lost[i] + more.get(i, 0) for i, n in counts.items()})

    # Taking

    def _take(self, prey: Prey, pods: Iterable[Pod]) -> None:
        herd = self._herd
        for q in prey.pods:
            self._forget(herd.node_of.get(q.key), freed=False)
        for p in pods:
            node = herd.node_of.get(p.key)
            self._forget(node)
            self._draft.evict(p, node, taker=self._group)
            self._taken.setdefault(prey.group, []).append(p)
            for b in self._covering.of(p):
                self._lost[b] += 1
                for i in herd.guarded.get(b, ()):
                    self._forget(i, freed=False)

    def _forget(self, node: int | None, freed: bool = True) -> None:
        """Something there has changed: costs have to be found anew."""
        if node is not None:
            for market in self._markets.values():
                market.forget(node, freed)

    def _sorted(self, known: Iterable[tuple[Prey, Pod]]) -> list[tuple[Cost, Prey, Pod]]:
        """Return what of it could still be evicted, cheapest first."""
        out = [
            (self._cost(prey, wave), prey, p)
            for prey, p in known
            if p.key not in self._draft.evicted and (wave := self._wave(prey, p)) is not None
        ]
        out.sort(key=lambda t: (t[0], t[2].key))
        return out

    def _open(self, node: int) -> list[tuple[Cost, Prey, Pod]]:
        """Return what could still be evicted on a node, cheapest first."""
        preys = self._preys
        assert preys is not None
        on = self._herd.on.get(node, ())
        return self._sorted((preys.of(n), p) for n, p in on if preys.chosen[n])

    # Quota

    def _quota(self) -> bool:
        draft, path = self._draft, self._draft.scene.tree.path
        row = draft.ask(self._pods)
        assert self._preys is not None
        while gaps := draft.quota_gap(self._group, row):
            q, gap = next(iter(gaps.items()))
            below = [k for k, name in enumerate(self._herd.queues) if q in path(name)]
            runners = np.flatnonzero(self._preys.chosen & np.isin(self._herd.queue, below))
            helpful = self._sorted(
                (prey, p)
                for prey in map(self._preys.of, map(int, runners))
                for p in prey.pods
                if any(gap[r] and v for r, v in enumerate(draft.scene.row(p)))
            )
            if not helpful:
                return False
            _, prey, pod = helpful[0]
            wave = self._wave(prey, pod)
            assert wave is not None
            self._take(prey, wave.pods)
        return True

    # Placing

    def _places(self) -> bool:
        for pod in self._pods:
            if self._place_free(pod):
                continue
            node = self._market(pod).cheapest(pod)
            if node is None or not self._clear(pod, node):
                return False
        return True

    def _place_free(self, pod: Pod) -> bool:
        placed = self._draft.place_all([pod])
        if placed:
            self._forget(placed[0][1])
            self._placed.append(pod)
        return bool(placed)

    def _market(self, pod: Pod) -> Market:
        if id(pod.spec) not in self._markets:
            assert self._preys is not None
            self._markets[id(pod.spec)] = Market(
                self._draft, self._preys, self._group, pod, self._node_cost
            )
        return self._markets[id(pod.spec)]

    def _node_cost(self, pod: Pod, node: int) -> Cost | None:
        """Return the cost of making the pod fit there; None if it cannot."""
        draft = self._draft
        row = draft.scene.row(pod)
        asked = np.flatnonzero(row)
        need = [int(v) for v in row[asked]]
        free = [int(v) for v in draft.open_room_on(self._group, node)[asked]]
        total: Cost = NOTHING
        left: set[GroupKey] = set()
        """Of which everybody leaves."""
        lost: Counter[int] = Counter()
        for cost, prey, p in self._open(node):
            if all(map(ge, free, need)):
                break
            if prey.group in left:
                continue
            wave = self._wave(prey, p)
            if wave is None or not self._bears(wave.pods, lost):
                continue
            if self._covering.any:
                lost += self._covering.count(wave.pods)
            if wave is not draft.gone.alone(p):
                left.add(prey.group)
            free = list(map(add, free, wave.freed[node][asked].tolist()))
            total = tuple(map(add, total, cost))
        # Room is no obstacle perhaps, but a port or a repelling pod is: clearing will tell.
        return total if all(map(ge, free, need)) else None

    def _clear(self, pod: Pod, node: int) -> bool:
        draft = self._draft
        row = draft.scene.row(pod)
        asked = np.flatnonzero(row)
        for _, prey, p in self._open(node):
            if self._fits_on(pod, node, row, asked):
                break
            if p.key not in draft.evicted and (wave := self._wave(prey, p)) is not None:
                self._take(prey, wave.pods)
        if not self._fits_on(pod, node, row, asked):
            return False
        draft.put(pod, node)
        self._forget(node)
        self._placed.append(pod)
        return True

    def _fits_on(self, pod: Pod, node: int, row: Matrix, asked: Matrix) -> bool:
        draft = self._draft
        free = draft.open_room_on(self._group, node)
        return bool((free[asked] >= row[asked]).all() and draft.field.takes(pod, node))

    # Sparing

    def _spare(self) -> bool:
        """Let stay whatever can stay, the dearest first."""
        draft = self._draft
        groups = sorted(
            self._taken,
            key=lambda g: (self._prey(g).inside, self._prey(g).priority, len(self._taken[g])),
            reverse=True,
        )
        for g in groups:
            m = draft.scene.roster[g]
            pods = self._taken[g]
            if self._can_stay(pods):
                for p in pods:
                    draft.spare(p)
                del self._taken[g]
                continue
            for p in sorted(pods, key=lambda p: -lost_work(draft.scene, p)):
                left = [q for q in m.running if q.key not in draft.evicted or q.key == p.key]
                if m.is_whole(left) and self._can_stay([p]):
                    draft.spare(p)
                    pods.remove(p)
        return True

    def _can_stay(self, pods: Sequence[Pod]) -> bool:
        draft = self._draft
        need: dict[int, Matrix] = {}
        for p in pods:
            node = draft.evicted[p.key]
            if node >= 0:
                row = draft.scene.row(p)
                need[node] = need[node] + row if node in need else row
        if any((draft.field.room[i] < r).any() for i, r in need.items()):
            return False
        if self._is_large:
            return may_stay(draft, self._group, pods)
        return self._stands({p.key for p in pods})

    def _stands(self, spared: Iterable[PodKey] = ()) -> bool:
        """Ask the checker; in a large cluster look at what the hunt touches alone."""
        draft = self._draft
        if self._is_large:
            return rights_to(draft, self._group, self._taken) is not None and above_guarantees(
                draft, self._group, self._taken
            )
        places, evicted = draft.outcome_parts()
        outcome = Outcome(draft.scene, places, evicted - set(spared), bound=())
        # Gangs are still partial while their members are placed one after the other.
        rules = (r for r in draft.scene.rules if isinstance(r, Constraint) and r.name != "gang")
        return not any(True for rule in rules for _ in rule.check(outcome))

    def total(self) -> Cost:
        """Return what the victims cost."""
        scene = self._draft.scene
        taken = [(self._prey(g), pods) for g, pods in self._taken.items()]
        return (
            sum(prey.inside * len(pods) for prey, pods in taken),
            sum(self._weight(prey) * len(pods) for prey, pods in taken),
            sum(len(pods) > prey.single for prey, pods in taken),
            sum(lost_work(scene, p) for _, pods in taken for p in pods),
        )

    def undo(self) -> None:
        for p in reversed(self._placed):
            self._draft.take_back(p)
        for g, pods in self._taken.items():
            del g
            for p in pods:
                self._draft.spare(p)
        if self._taken and self._group not in self._draft.started:
            self._draft.waive(self._group)
        self._placed, self._taken = [], {}
