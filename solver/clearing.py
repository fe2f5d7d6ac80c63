"""Clearing: a small model of which nodes a group clears, for how many of its pods, and of whom."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..models import GroupKey, Pod
from ..policies.budgets import covering_of
from ..policies.cost import lost_work
from ..policies.eviction_cost import weight_of
from ..policies.items import leaf_key, resting_items
from ..policies.ledger import Matrix
from ..policies.scene import Scene
from .draft import Draft
from .linear import Linear, goal_of
from .prey import Prey, Preys
from .process import Floor, SolverProcess
from .search import parameters_of

LONGEST = 1000
"""Of so many of the last pods of a queue it is asked whether all of them go."""


@dataclass(frozen=True)
class Option:
    """So many pods of the group onto a node, and who leaves for them."""

    node: int
    count: int
    victims: tuple[Pod, ...]


def options_of(draft: Draft, group: GroupKey, pod: Pod, preys: Preys) -> list[Option]:
    """Return for each node how many of the pods it takes, once its cheapest victims have left."""
    scene, herd = draft.scene, preys.herd
    row = scene.row(pod)
    asked = np.flatnonzero(row)
    allowed = draft.field.allowed(pod)
    out: list[Option] = []
    for node, on in herd.on.items():
        if not allowed[node]:
            continue
        able = [
            (preys.of(n), p)
            for n, p in on
            if preys.chosen[n] and p.key not in draft.evicted
            and (preys.single[n] > 0 or herd.running[n] == 1)
        ]  # fmt: skip
        able.sort(key=lambda of: (*_price(scene, *of), of[1].key))
        free = draft.open_room_on(group, node)[asked].astype(object)
        count, leaving = 0, list[Pod]()
        for _, p in able:
            leaving.append(p)
            free = free + scene.row(p)[asked]
            fit = int((free // row[asked]).min())
            if fit > count:
                count = fit
                out.append(
                    Option(node, count, _needed(scene, leaving, free - fit * row[asked], asked))
                )
    return out


def _needed(scene: Scene, leaving: Sequence[Pod], spare: Matrix, asked: Matrix) -> tuple[Pod, ...]:
    """Return who has to leave: the dearest stay where there is room for them yet."""
    out: list[Pod] = []
    for p in reversed(leaving):
        held = scene.row(p)[asked]
        if (spare >= held).all():
            spare = spare - held
        else:
            out.append(p)
    return tuple(out)


def _price(scene: Scene, prey: Prey, pod: Pod) -> tuple[int, ...]:
    return int(prey.inside), weight_of(scene, scene.roster[prey.group]), lost_work(scene, pod)


class Clearing:
    """Which options: a 0-1 variable each, at most one on a node."""

    def __init__(self, draft: Draft, need: int, options: Sequence[Option], preys: Preys) -> None:
        self._draft, self._scene = draft, draft.scene
        self._options, self._preys = options, preys
        self._linear = Linear([0] * len(options), [1] * len(options))
        by_node: dict[int, list[int]] = {}
        for n, o in enumerate(options):
            by_node.setdefault(o.node, []).append(n)
        for of in by_node.values():
            self._row([(1, n) for n in of], 1)
        self._row([(o.count, n) for n, o in enumerate(options)], need, equal=True)
        covering = covering_of(self._scene)
        lost = covering.count(self._scene.pods[k] for k in draft.evicted)
        under: dict[int, list[tuple[int, int]]] = {}
        for n, o in enumerate(options):
            for b, k in covering.count(o.victims).items():
                under.setdefault(b, []).append((k, n))
        for b, terms in under.items():
            self._row(terms, max(0, self._scene.snapshot.budgets[b].allowed - lost[b]))

    def _row(self, terms: Sequence[tuple[int, int]], most: int, equal: bool = False) -> None:
        linear = self._linear
        linear.vars.extend(v for _, v in terms)
        linear.coefs.extend(c for c, _ in terms)
        linear.starts.append(len(linear.vars))
        linear.bounds.append(most)
        linear.equal.append(equal)

    def solve(
        self, process: SolverProcess, limit_s: float | None, last: bool
    ) -> list[Option] | None:
        """Return the options that are best, first things first; None where none are found."""
        parameters = parameters_of(self._scene.config)
        floors: list[Floor] = []
        found: tuple[int, ...] | None = None
        goals = self._costs()
        if last:
            goals.insert(0, [(1, v) for v in self._last()])
        for terms in goals:
            goal = goal_of(terms)
            if not goal.vars:
                continue
            reply = process.solve(self._linear, goal, floors, found, parameters, limit_s)
            if reply.values is None or reply.status in ("INFEASIBLE", "INVALID"):
                break
            found = reply.values
            floors.append((goal.vars, goal.coefs, goal.value(found)))
        return None if found is None else [o for n, o in enumerate(self._options) if found[n]]

    def _costs(self) -> list[list[tuple[int, int]]]:
        """Return what the victims of each option cost, as sums to be made large."""
        at = self._preys.herd.at
        sums = []
        for o in self._options:
            of = [_price(self._scene, self._preys.of(at[p.group]), p) for p in o.victims if p.group]
            sums.append([-sum(column) for column in zip(*of, strict=True)] or [0] * 3)
        return [[(s[k], n) for n, s in enumerate(sums)] for k in range(3)]

    def _last(self) -> list[int]:
        """Add a variable for each of the last pods of a queue: it goes, and all behind it.

        Where a queue keeps just what it is entitled to, those alone are out.
        """
        scene, herd = self._scene, self._preys.herd
        of_pod: dict[str, list[int]] = {}
        for n, o in enumerate(self._options):
            for p in o.victims:
                of_pod.setdefault(p.key, []).append(n)
        queues = {
            scene.snapshot.group(p.group).queue for o in self._options for p in o.victims if p.group
        }
        out: list[int] = []
        for q in sorted(queues):
            items = [
                (leaf_key(i), i)
                for r in herd.runners
                if r.members.group.queue == q
                for i in resting_items(scene, r.members)
            ]
            before: int | None = None
            for _, item in sorted(items, key=lambda of: of[0], reverse=True)[:LONGEST]:
                goes = of_pod.get(item.pods[0].key) if len(item.pods) == 1 else None
                if goes is None:
                    break
                self._linear.lower.append(0)
                self._linear.upper.append(1)
                var = len(self._linear.lower) - 1
                self._row([(1, var), *((-1, n) for n in goes)], 0)
                if before is not None:
                    self._row([(1, var), (-1, before)], 0)
                out.append(before := var)
        return out
