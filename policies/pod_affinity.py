"""Required pod affinity and anti-affinity, existing pods' anti-affinity included.

Semantics of kube-scheduler's InterPodAffinity filter: an existing pod counts for affinity when it
matches all terms; a pod that matches its own terms may be the first where no pod matches anywhere.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..models import Pod, PodTerm, Violation
from .outcome import Outcome
from .sieve import Sieve
from .tracker import Counter, Mask, World

if TYPE_CHECKING:
    from .board import Board, Shape, Term, Unit, Var


def matches_all(terms: Iterable[PodTerm], pod: Pod) -> bool:
    return all(t.matches(pod.namespace, pod.labels) for t in terms)


def repels(a: Pod, b: Pod) -> list[str]:
    """Return the topology keys in whose domains a's anti-affinity forbids b."""
    return [t.topology_key for t in a.spec.anti_affinity if t.matches(b.namespace, b.labels)]


class _Affinity:
    def __init__(self, world: World) -> None:
        self._world = world
        self.is_idle = world.nobody(lambda spec: spec.affinity or spec.anti_affinity)
        self._counter = Counter(world)
        self._matching: dict[tuple[PodTerm, ...], dict[str, NDArray[np.int64]]] = {}
        self._carried: dict[PodTerm, NDArray[np.int64]] = {}
        self._carried_for: Sieve[PodTerm] = Sieve()
        self._asking: Sieve[tuple[PodTerm, ...]] = Sieve()
        for p, i in world.present_with(lambda spec: spec.anti_affinity):
            self._carry(p, i, 1)

    def _carry(self, pod: Pod, node: int, times: int) -> None:
        for term in pod.spec.anti_affinity:
            if term not in self._carried:
                self._carried[term] = self._counter.fresh(term.topology_key)
                self._carried_for.add(term.selector, term)
            self._carried[term][self._world.domains(term.topology_key)[0][node]] += times

    def _counts(self, terms: tuple[PodTerm, ...]) -> dict[str, NDArray[np.int64]]:
        """Pods that match all the terms, by topology key and domain."""
        if terms not in self._matching:
            keys = {t.topology_key for t in terms}
            self._matching[terms] = {k: self._counter.fresh(k) for k in keys}
            self._asking.add(terms[0].selector, terms)
            for p, i, n in self._counter.history(terms[0].selector):
                self._count(terms, p, i, n)
        return self._matching[terms]

    def _count(self, terms: tuple[PodTerm, ...], pod: Pod, node: int, times: int) -> None:
        if matches_all(terms, pod):
            for key, counts in self._matching[terms].items():
                counts[self._world.domains(key)[0][node]] += times

    def add(self, pod: Pod, node: int, times: int = 1) -> None:
        self._carry(pod, node, times)
        self._counter.note(pod, node, times)
        for terms in self._asking.find(pod.labels):
            self._count(terms, pod, node, times)

    def allows(self, pod: Pod) -> Mask | None:
        mask = self._unrepelled(pod)
        if not pod.spec.affinity:
            return mask
        return self._near(pod) if mask is None else mask & self._near(pod)

    def opens(self, pod: Pod) -> Mask | None:
        mask = self._unrepelled(pod)
        for term in pod.spec.affinity:
            has_key = self._world.domains(term.topology_key)[0] >= 0
            mask = has_key if mask is None else mask & has_key
        return mask

    def _unrepelled(self, pod: Pod) -> Mask | None:
        """Say where no anti-affinity is in the way; None: nowhere is any."""
        spec = pod.spec
        terms = [
            t for t in self._carried_for.find(pod.labels) if t.matches(pod.namespace, pod.labels)
        ]
        if not terms and not spec.anti_affinity:
            return None
        mask = np.ones(len(self._world.nodes), dtype=np.bool_)
        for term in terms:
            mask &= ~self._occupied(term.topology_key, self._carried[term])
        for term in spec.anti_affinity:
            counts = self._counts((term,))[term.topology_key]
            mask &= ~self._occupied(term.topology_key, counts)
        return mask

    def _occupied(self, key: str, counts: NDArray[np.int64]) -> Mask:
        domains = self._world.domains(key)[0]
        return (domains >= 0) & (counts[domains] > 0)

    def _near(self, pod: Pod) -> Mask:
        counts = self._counts(pod.spec.affinity)
        has_keys = np.ones(len(self._world.nodes), dtype=np.bool_)
        near = has_keys.copy()
        for key, of_key in counts.items():
            has_keys &= self._world.domains(key)[0] >= 0
            near &= self._occupied(key, of_key)
        none = all(not c[:-1].any() for c in counts.values())
        if none and matches_all(pod.spec.affinity, pod):
            return has_keys
        return near


@dataclass(frozen=True, slots=True)
class PodAffinity:
    """Per domain: a pod with an affinity term has a peer there; repelled pods are not both there.

    Judged by the end of the plan: that pods of one plan come one before the other is not asked. A
    pod that matches its own terms may stand alone where no other matches anywhere.
    """

    name: str = "pod-affinity"

    def track(self, world: World) -> _Affinity:
        return _Affinity(world)

    def check(self, outcome: Outcome) -> Iterable[Violation]:
        if not any(p.spec.affinity or p.spec.anti_affinity for p, _ in outcome.standing_pods):
            return
        yield from self._check_anti(outcome)
        yield from self._check_near(outcome)

    def _check_anti(self, outcome: Outcome) -> Iterable[Violation]:
        nodes = outcome.scene.nodes
        standing = outcome.standing_pods
        shy = [(p, i) for p, i in standing if p.spec.anti_affinity]
        for a, i in shy:
            for b, j in standing:
                if a.key == b.key or not (a.key in outcome.places or b.key in outcome.places):
                    continue
                for key in repels(a, b):
                    here = nodes[i].labels.get(key)
                    if here is not None and here == nodes[j].labels.get(key):
                        new, other = (a, b) if a.key in outcome.places else (b, a)
                        does = "does not bear" if new is a else "is not borne by"
                        yield Violation(
                            self.name, f"pod {new.key}", f"{does} {other.key} in {key} {here}"
                        )
                        break

    def _check_near(self, outcome: Outcome) -> Iterable[Violation]:
        nodes = outcome.scene.nodes
        for p, i in outcome.new_pods:
            terms = p.spec.affinity
            if not terms:
                continue
            keys = sorted({t.topology_key for t in terms})
            peers = [
                nodes[j].labels
                for q, j in outcome.standing_pods
                if q.key != p.key and matches_all(terms, q)
            ]
            seen = any(k in labels for labels in peers for k in keys)
            first = not seen and matches_all(terms, p)
            for key in keys:
                here = nodes[i].labels.get(key)
                if here is None:
                    yield Violation(self.name, f"pod {p.key}", f"{nodes[i].name} has no {key}")
                elif not first and all(labels.get(key) != here for labels in peers):
                    yield Violation(self.name, f"pod {p.key}", f"has no peer in {key} {here}")

    def constrain(self, board: "Board") -> None:
        world = board.world
        for s in board.shapes:
            self._existing(board, s)
        for a, b in combinations(board.shapes, 2):
            if not (a.sample.spec.anti_affinity or b.sample.spec.anti_affinity):
                continue
            for key in sorted({*repels(a.sample, b.sample), *repels(b.sample, a.sample)}):
                self._apart(board, a, b, key)
        for s in board.shapes:
            for key in repels(s.sample, s.sample):
                numbers, _ = world.domains(key)
                for domain, cells in board.cells_by_domain(s, numbers).items():
                    if domain >= 0:
                        board.at_most([(1, v) for v in cells], 1, self.name, f"{s.label} {key}")
            if s.sample.spec.affinity:
                self._together(board, s)

    def _existing(self, board: "Board", s: "Shape") -> None:
        """Running victims that repel the shape, or that it repels, must go first."""
        shy = bool(s.sample.spec.anti_affinity)
        for unit in board.units:
            if unit.node < 0 or not (shy or unit.sample.spec.anti_affinity):
                continue
            keys = sorted({*repels(s.sample, unit.sample), *repels(unit.sample, s.sample)})
            for key in keys:
                numbers, _ = board.world.domains(key)
                domain = numbers[unit.node]
                if domain >= 0:
                    for cls, _ in board.cells(s):
                        if numbers[cls.nodes[0]] == domain:
                            board.displaces(s, unit, self.name, cls)

    def _apart(self, board: "Board", a: "Shape", b: "Shape", key: str) -> None:
        numbers, _ = board.world.domains(key)
        cells_b = board.cells_by_domain(b, numbers)
        for domain, cells in board.cells_by_domain(a, numbers).items():
            if domain < 0 or domain not in cells_b:
                continue
            here_a = board.present(a, key, domain, cells)
            here_b = board.present(b, key, domain, cells_b[domain])
            board.at_most([(1, here_a), (1, here_b)], 1, self.name, f"{a.label} {b.label}")

    def _together(self, board: "Board", s: "Shape") -> None:
        """Each used domain holds another pod that matches; or the pod is the first of its kind."""
        terms = s.sample.spec.affinity
        leaving = {p.key for u in board.units for p in u.pods}
        peers = _Peers(
            tuple(
                i for p, i in board.world.present if p.key not in leaving and matches_all(terms, p)
            ),
            tuple(u for u in board.units if matches_all(terms, u.sample)),
            tuple(t for t in board.shapes if matches_all(terms, t.sample)),
        )
        own = matches_all(terms, s.sample)
        first = self._first(board, s, peers) if own else None
        for key in sorted({t.topology_key for t in terms}):
            numbers, _ = board.world.domains(key)
            held = {int(numbers[i]) for i in peers.nodes}
            by_domain = [board.cells_by_domain(t, numbers) for t in peers.shapes]
            for domain, cells in board.cells_by_domain(s, numbers).items():
                about = f"{s.label} {key} {domain}"
                if domain < 0:
                    board.at_most([(1, v) for v in cells], 0, self.name, about)
                elif domain not in held:
                    here = board.present(s, key, domain, cells)
                    support = [(-1, v) for of in by_domain for v in of.get(domain, ())]
                    stay = [u for u in peers.units if u.node >= 0 and numbers[u.node] == domain]
                    support += [(1, board.lost(u)) for u in stay]
                    if first is not None:
                        support.append((-1, first))
                    board.at_most(
                        [(2 if own else 1, here), *support],
                        sum(len(u.pods) for u in stay), self.name, about,
                    )  # fmt: skip

    @staticmethod
    def _first(board: "Board", s: "Shape", peers: "_Peers") -> "Var | None":
        """1 only where at most one pod that matches the shape's terms stands in any domain."""
        terms = s.sample.spec.affinity
        keyed = np.zeros(len(board.world.nodes), dtype=np.bool_)
        for t in terms:
            keyed |= board.world.domains(t.topology_key)[0] >= 0
        if any(keyed[i] for i in peers.nodes):
            return None
        memo = ("only one", board.number(terms))
        known = memo in board.answers
        only = board.flag(memo)
        if not known:
            board.answers[memo] = only
            cells = [v for t in peers.shapes for c, v in board.cells(t) if keyed[c.nodes[0]]]
            stay = [u for u in peers.units if u.node >= 0 and keyed[u.node]]
            there = sum(len(u.pods) for u in stay)
            top = sum(board.upper(v) for v in cells) + there
            placed: list[Term] = [(1, v) for v in cells]
            left: list[Term] = [(-1, board.lost(u)) for u in stay]
            board.at_most(
                [*placed, *left, (top, only)], 1 + top - there, PodAffinity().name, s.label
            )
        return only


@dataclass(frozen=True, slots=True)
class _Peers:
    """What matches a shape's terms: pods that stay, where they are; victims' pods; other shapes."""

    nodes: tuple[int, ...]
    units: "tuple[Unit, ...]"
    shapes: "tuple[Shape, ...]"
