"""The hunt: places for a group's pods where running work has to leave, at small cost.

A heuristic: node by node the cheapest victims that make a pod fit, then whatever can be spared is
spared. The checker judges every result; the solver improves on it.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

import numpy as np

from ..models import GroupKey, Pod, PodKey
from ..policies.api import Constraint
from ..policies.budgets import covering_of
from ..policies.cost import age_s, lost_work
from ..policies.ledger import Matrix
from ..policies.outcome import Outcome
from .draft import Draft
from .prey import Prey, prey_of, running_on

Cost = tuple[int, ...]


class Hunt:
    """One attempt to make room for pods of a group."""

    def __init__(
        self,
        draft: Draft,
        group: GroupKey,
        pods: Sequence[Pod],
        prey: Sequence[Prey] | None = None,
    ) -> None:
        """``prey``: what the group could evict, where that is known."""
        self._draft = draft
        self._group = group
        self._pods = pods
        self._node_of = running_on(draft.scene)
        self._prey: dict[GroupKey, Prey] = {
            p.group: p for p in (prey_of(draft, group, pods) if prey is None else prey)
        }
        self._taken: dict[GroupKey, list[Pod]] = {}
        self._wholes: dict[tuple[GroupKey, int], tuple[Pod, ...]] = {}
        """What is left of a group, by how much is evicted so far."""
        self._placed: list[Pod] = []
        self._on: dict[int, list[tuple[Prey, Pod]]] = {}
        """What could be evicted, by node."""
        for one in self._prey.values():
            for p in one.pods:
                if (node := self._node_of.get(p.key)) is not None:
                    self._on.setdefault(node, []).append((one, p))
        self._covering = covering_of(draft.scene)
        self._guarded: dict[int, set[int]] = {}
        """By budget, the nodes with prey that it covers."""
        for i, on in self._on.items():
            for b in self._covering.count(p for _, p in on):
                self._guarded.setdefault(b, set()).add(i)
        pods_of = draft.scene.pods
        self._lost = self._covering.count(pods_of[k] for k in draft.evicted)
        """How many evictions each budget bears already."""
        self._costs: dict[int, dict[int, Cost | None]] = {}
        """Cost of making room on a node, by spec, as long as nothing there changes."""

    def run(self) -> bool:
        """Place all the pods and evict what must leave; or change nothing and say no."""
        if not self._prey:
            return False
        done = self._clears() and self._spare() and self._stands()
        if not done:
            self.undo()
        return done

    def finds_room(self) -> bool:
        """Place all the pods and evict for them, sparing nobody; or change nothing and say no."""
        done = bool(self._prey) and self._clears()
        if not done:
            self.undo()
        return done

    def _clears(self) -> bool:
        return self._quota() and self._places()

    # Costs

    def _cost(self, prey: Prey, pod: Pod) -> Cost:
        scene = self._draft.scene
        breaks = len(self._taken.get(prey.group, ())) >= prey.single
        return (
            int(prey.inside), prey.priority,
            len(self._wave(prey, pod)), int(breaks), lost_work(scene, pod),
            age_s(scene, pod),
        )  # fmt: skip

    def _wave(self, prey: Prey, pod: Pod) -> tuple[Pod, ...]:
        """Return the pods that leave with this one: itself, or the whole group."""
        gone, evicted = self._taken.get(prey.group, ()), self._draft.evicted
        if len(gone) < prey.single:
            members = self._draft.scene.roster[prey.group]
            rest = [p for p in members.running if p is not pod and p.key not in evicted]
            if members.is_whole(rest):
                return (pod,) if self._bears((pod,)) else ()
        if not prey.whole:
            return ()
        at = (prey.group, len(evicted))
        if at not in self._wholes:
            self._wholes[at] = tuple(p for p in prey.pods if p.key not in evicted)
        wave = self._wholes[at]
        return wave if self._bears(wave) else ()

    def _bears(self, pods: Sequence[Pod], more: Mapping[int, int] = MappingProxyType({})) -> bool:
        """Say whether the budgets bear these evictions, beside those so far and some more."""
        if not any(map(self._covering.of, pods)):
            return True
        counts = self._covering.count(pods)
        lost = self._lost
        return self._covering.bear({i: n + lost[i] + more.get(i, 0) for i, n in counts.items()})

    # Taking

    def _take(self, prey: Prey, pods: Iterable[Pod]) -> None:
        for q in prey.pods:
            self._forget(self._node_of.get(q.key))
        for p in pods:
            node = self._node_of.get(p.key)
            self._draft.evict(p, node, taker=self._group)
            self._taken.setdefault(prey.group, []).append(p)
            for b in self._covering.of(p):
                self._lost[b] += 1
                for i in self._guarded.get(b, ()):
                    self._forget(i)

    def _forget(self, node: int | None) -> None:
        """Something there has changed: costs have to be found anew."""
        if node is not None:
            self._costs.pop(node, None)

    def _open(self, on: int | None = None) -> list[tuple[Cost, Prey, Pod]]:
        """Return what could still be evicted (on a node), cheapest first."""
        known = ((prey, p) for prey in self._prey.values() for p in prey.pods)
        out = []
        for prey, p in known if on is None else self._on.get(on, ()):
            if p.key not in self._draft.evicted and self._wave(prey, p):
                out.append((self._cost(prey, p), prey, p))
        out.sort(key=lambda t: (t[0], t[2].key))
        return out

    # Quota

    def _quota(self) -> bool:
        draft = self._draft
        row = draft.ask(self._pods)
        while gaps := draft.quota_gap(self._group, row):
            q, gap = next(iter(gaps.items()))
            helpful = [
                (c, prey, p)
                for c, prey, p in self._open()
                if q in draft.scene.tree.path(draft.scene.snapshot.group(prey.group).queue)
                and any(gap[r] and v for r, v in enumerate(draft.scene.row(p)))
            ]
            if not helpful:
                return False
            _, prey, pod = helpful[0]
            self._take(prey, self._wave(prey, pod))
        return True

    # Placing

    def _places(self) -> bool:
        for pod in self._pods:
            if self._place_free(pod):
                continue
            best: tuple[Cost, int] | None = None
            for i in self._nodes_with_prey(pod):
                known = self._costs.setdefault(i, {})
                if id(pod.spec) not in known:
                    known[id(pod.spec)] = self._node_cost(pod, i)
                cost = known[id(pod.spec)]
                if cost is not None and (best is None or (cost, i) < best):
                    best = (cost, i)
            if best is None or not self._clear(pod, best[1]):
                return False
        return True

    def _place_free(self, pod: Pod) -> bool:
        placed = self._draft.place_all([pod])
        if placed:
            self._forget(placed[0][1])
            self._placed.append(pod)
        return bool(placed)

    def _nodes_with_prey(self, pod: Pod) -> list[int]:
        mask = self._draft.scene.mask(pod)
        only = self._draft.field.only.get(pod.key)
        if only is not None:
            mask = mask & only
        evicted = self._draft.evicted
        return sorted(
            i for i, on in self._on.items() if mask[i] and any(p.key not in evicted for _, p in on)
        )

    def _node_cost(self, pod: Pod, node: int) -> Cost | None:
        """Return the cost of making the pod fit there; None if it cannot."""
        draft = self._draft
        row = draft.scene.row(pod)
        free = draft.open_room_on(self._group, node).astype(object)
        total: Cost = (0,) * 6
        leaving: set[PodKey] = set()
        lost: Counter[int] = Counter()
        for _, prey, p in self._open(on=node):
            if (free >= row).all():
                break
            if p.key in leaving:
                continue
            wave = self._wave(prey, p)
            if not self._bears(wave, lost):
                continue
            lost += self._covering.count(wave)
            leaving |= {q.key for q in wave}
            for q in wave:
                if self._node_of.get(q.key) == node:
                    free = free + draft.scene.row(q)
            cost = self._cost(prey, p)
            total = (
                max(total[0], cost[0]), max(total[1], cost[1]) if leaving else cost[1],
                total[2] + cost[2], *(a + b for a, b in zip(total[3:], cost[3:], strict=True)),
            )  # fmt: skip
        asked = np.flatnonzero(row)
        if not (free[asked] >= row[asked]).all():
            # Room is no obstacle perhaps, but a port or a repelling pod is: try with all prey gone.
            return None
        return total

    def _clear(self, pod: Pod, node: int) -> bool:
        draft = self._draft
        row = draft.scene.row(pod)
        asked = np.flatnonzero(row)
        for _, prey, p in self._open(on=node):
            if self._fits_on(pod, node, row, asked):
                break
            if p.key not in draft.evicted and (wave := self._wave(prey, p)):
                self._take(prey, wave)
        if not self._fits_on(pod, node, row, asked):
            return False
        draft.put(pod, node)
        self._forget(node)
        self._placed.append(pod)
        return True

    def _fits_on(self, pod: Pod, node: int, row: Matrix, asked: Matrix) -> bool:
        draft = self._draft
        free = draft.open_room_on(self._group, node)
        return bool((free[asked] >= row[asked]).all() and draft.field.candidates(pod)[node])

    # Sparing

    def _spare(self) -> bool:
        """Let stay whatever can stay, the dearest first."""
        draft = self._draft
        groups = sorted(
            self._taken,
            key=lambda g: (self._prey[g].inside, self._prey[g].priority, len(self._taken[g])),
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
        return self._stands({p.key for p in pods})

    def _stands(self, spared: Iterable[PodKey] = ()) -> bool:
        """Ask the checker."""
        draft = self._draft
        places, evicted = draft.outcome_parts()
        outcome = Outcome(draft.scene, places, evicted - set(spared), bound=())
        # Gangs are still partial while their members are placed one after the other.
        rules = (r for r in draft.scene.rules if isinstance(r, Constraint) and r.name != "gang")
        return not any(True for rule in rules for _ in rule.check(outcome))

    def total(self) -> Cost:
        """Return what the victims cost: the dearest priority, how many pods, how much work."""
        scene = self._draft.scene
        taken = [(self._prey[g], p) for g, pods in self._taken.items() for p in pods]
        return (
            max((int(prey.inside) for prey, _ in taken), default=0),
            max((prey.priority for prey, _ in taken), default=-(1 << 31)),
            len(taken),
            sum(lost_work(scene, p) for _, p in taken),
        )

    def undo(self) -> None:
        for p in reversed(self._placed):
            self._draft.take_back(p)
        for g, pods in self._taken.items():
            del g
            for p in pods:
                self._draft.spare(p)
        for groups in self._draft.claimed.values():
            if self._taken and self._group not in self._draft.started:
                groups.discard(self._group)
        self._placed, self._taken = [], {}
