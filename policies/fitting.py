"""Where can these pods go, everything else staying where it is? Exact while small.

Equal pods without ties to others are counted; otherwise a depth-first search tries places, equal
pods in one order only. A search that meets its step limit says so: its "no" is then no proof.
"""

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..models import NodeName, Pod, PodKey
from .device_sizes import ANY_NUMBER
from .ledger import Matrix, copies_by_room
from .pod_affinity import PodAffinity
from .scene import Scene
from .tracker import (
    Choice,
    Choosing,
    Counting,
    Lasting,
    Leveling,
    Mask,
    Resting,
    Sifting,
    Tracker,
    World,
    those_that,
)

STEPS = 20_000
DEEP = 500
"""Pods from which on a search may go deeper than Python allows by itself."""
STEPS_OF_A_DOMAIN = 20
"""What it costs to try a domain, in steps of the search."""


@dataclass(frozen=True, slots=True)
class Fit:
    """Places found, or None; ``proven`` says whether a None is certain."""

    places: Mapping[PodKey, NodeName] | None
    proven: bool = True


class Field:
    """Nodes with what is free on them, and the pods that stand there."""

    def __init__(self, scene: Scene, room: Matrix, world: World) -> None:
        self.scene = scene
        self.room = room.copy()
        tracked = [(r, r.track(world)) for r in scene.ties]
        # Most rules have no business in most clusters, and would be asked about every pod.
        idle = [t for t in those_that((t for _, t in tracked), Resting) if t.is_idle]
        busy = [(r, t) for r, t in tracked if t not in idle]
        self._ties = tuple(r.name for r, _ in busy)
        self._trackers: tuple[Tracker, ...] = tuple(t for _, t in busy)
        self.met: frozenset[PodKey] = frozenset()
        """Pods whose wish for company counts as met."""
        self.only: dict[PodKey, Mask] = {}
        """Nodes that pods are confined to while a domain is tried for them."""
        self._choosing: tuple[Choosing, ...] = those_that(self._trackers, Choosing)
        self._counting: tuple[Counting, ...] = those_that(self._trackers, Counting)
        self._leveling: tuple[Leveling, ...] = those_that(self._trackers, Leveling)
        self._lasting: tuple[Lasting, ...] = those_that(self._trackers, Lasting)
        sifting: tuple[Sifting, ...] = those_that(self._trackers, Sifting)
        self._sifting = {id(t): t for t in sifting}
        self._others = tuple(
            (t, isinstance(r, PodAffinity)) for r, t in busy if id(t) not in self._sifting
        )
        """The other trackers, and whether theirs is the rule of company."""
        self._steps = 0
        self._together = False
        self.changes = 0
        """How often pods have come or gone."""
        self.answers: dict[object, tuple[int, str]] = {}
        """What was found out about pods that do not fit, by what was asked."""

    def candidates(self, pod: Pod, together: bool = False) -> Mask:
        """Say which nodes take the pod now; or, together with others that come, might take it."""
        row = self.scene.row(pod)
        fits = np.ones(len(self.room), dtype=np.bool_)
        for r in np.flatnonzero(row).tolist():
            fits &= self.room[:, r] >= row[r]
        return self.allowed(pod, together, fits)

    def allowed(self, pod: Pod, together: bool = False, among: Mask | None = None) -> Mask:
        """Say which nodes (of some, or of all) take the pod, room aside."""
        return self.sifted(pod, self.left_to(pod, among, together))

    def takes(self, pod: Pod, node: int) -> bool:
        """Say whether the node takes the pod, room aside."""
        if not self.scene.mask(pod)[node]:
            return False
        if pod.key in self.only and not self.only[pod.key][node]:
            return False
        for tracker, company in self._others:
            met = company and pod.key in self.met
            allowed = tracker.opens(pod) if met else tracker.allows(pod)
            if allowed is not None and not allowed[node]:
                return False
        return self.sifts(pod, node)

    def sifts(self, pod: Pod, node: int) -> bool:
        """Say whether the node takes the pod, by what only looks at single nodes."""
        return all([tracker.takes(pod, node) for tracker in self._sifting.values()])

    def left_to(self, pod: Pod, among: Mask | None, together: bool = False) -> Mask:
        """Say which nodes take the pod, room aside, and what looks at single nodes aside."""
        mask: Mask = self.scene.mask(pod)
        if among is not None:
            mask = mask & among
        if pod.key in self.only:
            mask = mask & self.only[pod.key]
        for tracker, company in self._others:
            met = company and pod.key in self.met
            allowed = tracker.opens(pod) if together or met else tracker.allows(pod)
            if allowed is not None:
                mask = mask & allowed
        return mask

    def left_among(self, pod: Pod, nodes: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return which of some nodes that filters leave take the pod, as :meth:`left_to` says."""
        if pod.key in self.only:
            nodes = nodes[self.only[pod.key][nodes]]
        for tracker, company in self._others:
            met = company and pod.key in self.met
            allowed = tracker.opens(pod) if met else tracker.allows(pod)
            if allowed is not None:
                nodes = nodes[allowed[nodes]]
        return nodes

    def sifted(self, pod: Pod, mask: Mask) -> Mask:
        """Return those of the nodes that take the pod, by what only looks at single nodes."""
        for tracker in self._sifting.values():
            mask = tracker.within(pod, mask)
        return mask

    def against(self, pod: Pod, among: Mask) -> dict[str, int]:
        """Count, by rule, of these nodes those that other pods keep from the pod."""
        out: dict[str, int] = {}
        for name, tracker in zip(self._ties, self._trackers, strict=True):
            sifting = self._sifting.get(id(tracker))
            allowed = tracker.allows(pod) if sifting is None else sifting.within(pod, among)
            if allowed is not None and (among & ~allowed).any():
                out[name] = int((among & ~allowed).sum())
        return out

    def add(self, pod: Pod, node: int, times: int = 1) -> None:
        """Put the pod there (times −1: take it away)."""
        self.changes += 1
        self.room[node] -= times * self.scene.row(pod)
        for tracker in self._trackers:
            tracker.add(pod, node, times)

    def add_all(self, pods: Sequence[Pod], node: int) -> None:
        """Put pods of one spec there."""
        self.changes += len(pods)
        row = self.scene.row(pods[0])
        self.room[node] -= row if len(pods) == 1 else len(pods) * row
        for tracker in self._trackers:
            for p in pods:
                tracker.add(p, node)

    def surely(self, pod: Pod, node: int) -> int:
        """Return how many pods like this one, without ties, it takes in a row, room aside."""
        if len(self._lasting) < len(self._sifting):
            return 1
        return min((t.surely(pod, node) for t in self._lasting), default=ANY_NUMBER)

    def asks_nobody(self, pod: Pod) -> bool:
        """Say whether only what looks at single nodes has a say about the pod now."""
        return all(t.allows(pod) is None for t, _ in self._others)

    def says_nothing(self, pod: Pod) -> bool:
        """Say whether no rule but room and filters has a say about the pod now."""
        none = np.zeros(len(self.room), dtype=np.bool_)  # nodes need not be looked at for that
        return all(
            self._sifting[id(t)].within(pod, none) is none
            if id(t) in self._sifting
            else t.allows(pod) is None
            for t in self._trackers
        )

    def copies(self, pod: Pod, most: int) -> int:
        """Return how many copies of a pod without ties fit, at most ``most``."""
        return int(min(most, self.per_node(pod, most).sum()))

    def per_node(self, pod: Pod, most: int) -> Matrix:
        return self._counts(pod, self.candidates(pod), most)

    def _counts(self, pod: Pod, candidates: Mask, most: int) -> Matrix:
        counts = copies_by_room(self.room, self.scene.row(pod), candidates, most)
        for tracker in self._counting:
            counts = tracker.most(pod, counts)
        return counts

    def level_copies(self, pod: Pod, most: int) -> int | None:
        """Return how many copies of a pod that only levels itself over domains fit.

        None: only placing them one by one can tell.
        """
        mask = self.scene.mask(pod)
        levelled = {id(t) for t in self._leveling}
        for tracker in self._trackers:
            if id(tracker) in self._sifting:
                mask = self._sifting[id(tracker)].within(pod, mask)
                continue
            level = id(tracker) in levelled
            allowed = tracker.opens(pod) if level else tracker.allows(pod)
            if allowed is not None:
                mask = mask & allowed
        counts = self._counts(pod, mask, most)
        total = int(counts.sum())
        found = [tracker.level(pod, counts) for tracker in self._leveling]
        levels = [n for n in found if n is not None and n < total]
        if None in found or len(levels) > 1:
            return None
        return min(most, total, *levels)

    def place(self, pods: Sequence[Pod], steps: int = STEPS) -> Fit:
        """Find places for all the pods; the field is left as it was."""
        if not pods:
            return Fit({})
        self._steps = steps
        # The search goes one call deeper for each pod; calls of Python take no stack of C.
        if len(pods) > DEEP:
            sys.setrecursionlimit(max(sys.getrecursionlimit(), len(pods) + 2 * DEEP))
        choices = [c for c in self.choices(pods) if c.hard]
        fit = self._choose(pods, choices, 0) if choices else self._plain(pods)
        self.scene.cut_short |= fit.places is None and not fit.proven
        return fit

    # Domains

    def choices(self, pods: Sequence[Pod]) -> list[Choice]:
        """Return what has to be chosen for pods that want to be near each other."""
        return [c for t in self._choosing for c in t.choices(pods)]

    @contextmanager
    def confined(self, pods: Iterable[PodKey], mask: Mask) -> Iterator[None]:
        """Confine the pods to these nodes for a while, beside what confines them already."""
        before = self.only
        same: dict[int, Mask] = {}
        self.only = dict(before)
        for key in pods:
            old = before.get(key)
            if old is None:
                self.only[key] = mask
            else:
                if id(old) not in same:
                    same[id(old)] = old & mask
                self.only[key] = same[id(old)]
        try:
            yield
        finally:
            self.only = before

    def might_bear(self, pods: Sequence[Pod], mask: Mask, room: Matrix) -> bool:
        """Say whether room and filters speak for these nodes taking all the pods; quick."""
        total = self.scene.rows(pods)
        asked = np.flatnonzero(total)
        if (np.maximum(room[mask][:, asked], 0).sum(axis=0) < total[asked]).any():
            return False
        return each_kind_has_room(self.scene, pods, room, mask)

    def _choose(self, pods: Sequence[Pod], choices: Sequence[Choice], at: int) -> Fit:
        """Try the domains of one choice after the other; a part that is stuck ends its branch."""
        if at == len(choices):
            return self._plain(pods)
        choice = choices[at]
        mine = [p for p in pods if p.key in choice.pods]
        open_ = frozenset[PodKey]().union(*(c.pods for c in choices[at + 1 :]))
        settled = [p for p in pods if p.key not in open_]
        proven = True
        for mask in choice.domains:
            if not self.might_bear(mine, mask, self.room):
                continue
            self._steps -= STEPS_OF_A_DOMAIN
            if self._steps <= 0:
                return Fit(None, proven=False)
            with self.confined(choice.pods, mask):
                if at + 1 < len(choices) and settled:
                    part = self._plain(settled)
                    if part.places is None and part.proven:
                        continue
                fit = self._choose(pods, choices, at + 1)
            if fit.places is not None:
                return fit
            proven &= fit.proven
        return Fit(None, proven)

    # Pods

    def _plain(self, pods: Sequence[Pod]) -> Fit:
        kinds = self._kinds(pods)
        if len(kinds) == 1 and not is_tied(pods[0]):
            return self._count(pods)
        self._together = False
        found: dict[PodKey, int] = {}
        done = self._search([list(k) for k in kinds], found, [-1] * len(kinds))
        if not done and self._steps > 0 and len(pods) > 1 and any(map(_minds_others, pods)):
            # None may come first, and all of them together still stand.
            self._together = True
            done = self._search([list(k) for k in kinds], found, [-1] * len(kinds))
        if done:
            names = self.scene.nodes
            return Fit({k: names[i].name for k, i in found.items()})
        return Fit(None, proven=self._steps > 0)

    def _kinds(self, pods: Iterable[Pod]) -> list[list[Pod]]:
        """Group pods that no rule tells apart; hungry kinds first."""
        out: dict[object, list[Pod]] = {}
        for p in pods:
            labels = tuple(sorted(p.labels.items())) if is_tied(p) else p.role
            key = (id(p.spec), labels, p.namespace, id(self.only.get(p.key)))
            out.setdefault(key, []).append(p)
        return [list(reversed(k)) for k in out.values()]

    def _count(self, pods: Sequence[Pod]) -> Fit:
        counts = self.per_node(pods[0], len(pods))
        if int(counts.sum()) < len(pods):
            return Fit(None)
        left = list(pods)
        places: dict[PodKey, NodeName] = {}
        # Tightest nodes first: large holes stay.
        for i in np.argsort(np.where(counts > 0, counts, len(pods) + 1), kind="stable"):
            for _ in range(int(counts[i])):
                if not left:
                    return Fit(places)
                places[left.pop(0).key] = self.scene.nodes[i].name
        return Fit(places)

    def _stands(self, found: Mapping[PodKey, int]) -> bool:
        """Say whether each pod may be where it is, now that it can see those that came later."""
        for key, i in found.items():
            pod = self.scene.pods[key]
            if is_tied(pod):
                self.add(pod, i, -1)
                allowed = self.candidates(pod)[i]
                self.add(pod, i)
                if not allowed:
                    return False
        return True

    def _search(self, kinds: list[list[Pod]], found: dict[PodKey, int], last: list[int]) -> bool:
        if not any(kinds):
            return self._stands(found)
        for k, rest in enumerate(kinds):
            if not rest:
                continue
            pod = rest.pop()
            tied = is_tied(pod)
            for i in np.flatnonzero(self.candidates(pod, self._together)):
                if not tied and i < last[k]:
                    continue
                self._steps -= 1
                if self._steps <= 0:
                    break
                self.add(pod, int(i))
                before, last[k] = last[k], int(i)
                found[pod.key] = int(i)
                if self._search(kinds, found, last):
                    self.add(pod, int(i), -1)
                    rest.append(pod)
                    return True
                del found[pod.key]
                last[k] = before
                self.add(pod, int(i), -1)
            rest.append(pod)
            # Another kind may have to come first only where pods look at each other.
            if self._together or (not tied and not any(is_tied(q[0]) for q in kinds if q)):
                return False
        return False


def each_kind_has_room(
    scene: Scene, pods: Iterable[Pod], room: Matrix, among: Mask | None = None
) -> bool:
    """Say whether nodes have room for each kind of the pods by itself: a no is certain."""
    kinds: dict[int, list[Pod]] = {}
    for p in pods:
        kinds.setdefault(id(p.spec), []).append(p)
    for same in kinds.values():
        mask = scene.mask(same[0]) if among is None else scene.mask(same[0]) & among
        counts = copies_by_room(room, scene.row(same[0]), mask, len(same))
        if int(counts.sum()) < len(same):
            return False
    return True


def is_tied(pod: Pod) -> bool:
    spec = pod.spec
    return spec.sees_pods or bool(spec.host_ports or spec.volumes or spec.claims)


def _minds_others(pod: Pod) -> bool:
    return bool(pod.spec.affinity) or any(c.hard for c in pod.spec.spread)
