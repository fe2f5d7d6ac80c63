"""Repacking: all work that starts is placed anew, so that more work of the same order fits.

The greedy engine takes one item after the other and leaves room behind that nothing fits into.
Where many pods wait and the exact model would be too large, the packer looks for places of all of
them at once (docs/design/fragmentation.md). Its plan counts only where it is better, and legal.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from ..models import Config, PodKey, QueueName
from ..policies.api import Objective
from ..policies.ledger import Matrix
from ..policies.legality import is_legal
from ..policies.levels import Levels
from ..policies.limits import limits_of
from ..policies.outcome import Outcome
from ..policies.quota import non_preemptible_use
from ..policies.scene import Scene
from .decode import Decision, outcome_of
from .packing.fill import put_one
from .packing.lots import Lot, Lots, Packable, lots_of, yard_of
from .packing.pack import EACH, pack
from .packing.yard import Packing, Place
from .process import SolverProcess
from .rows import vector_of
from .search import Clock, parameters_of

PAIRS = 50_000
"""Up to so many (kind, node) pairs the exact search needs no help."""
PART = 0.7
"""Of the time that is left."""
MOST_S = 60.0
LEAST_S = 5.0
"""With less time nothing is begun: in an ordinary cycle the search has better use for it."""
WORKERS = 8
"""Whole numbers come from many kinds of search, even on few cores."""
GAP = 1e-5
STEP_S = 1e-7
"""What it takes to fill in one pod, for each node."""


def repacked(
    scene: Scene,
    levels: Levels,
    goals: Sequence[Objective],
    greedy: Decision,
    process: SolverProcess,
    clock: Clock,
) -> Decision:
    """Return a better plan where packing finds one, else the plan as it was."""
    config = scene.config
    waiting = sum(len(m.pending) for m in scene.roster.waiting)
    open_ = waiting - len(greedy.places)
    if config.engine == "greedy" or open_ <= 0 or waiting * len(scene.nodes) <= PAIRS:
        return greedy
    limit = _limit(waiting * len(scene.nodes), clock, config)
    if limit is not None and limit <= 0:
        return greedy
    before = outcome_of(scene, greedy, levels)
    lots = lots_of(before, levels)
    wanted = _wanted(lots, before)
    if all(lot.started for lot in wanted):
        return greedy
    packable = yard_of(lots, wanted)
    if int(packable.yard.kinds.may.sum()) <= PAIRS:
        return greedy
    places = _packed(packable, wanted, process, limit, config)
    if places is None:
        return greedy
    stay = {k: scene.index[n] for k, n in lots.fixed.places.items()}
    after = Decision(stay | places, greedy.evicted)
    outcome = outcome_of(scene, after, levels)
    better = vector_of(outcome, goals) > vector_of(before, goals)
    return after if better and is_legal(outcome) else greedy


def _limit(steps: int, clock: Clock, config: Config) -> float | None:
    """Return how long to pack: None for no limit, 0 for not at all."""
    left = clock.left()
    most = min(MOST_S, PART * (config.budget_ms / 1000.0 if left is None else left))
    if most < max(LEAST_S, steps * STEP_S):
        return 0.0
    return None if left is None else most


# Who is wanted


def _wanted(lots: Lots, before: Outcome) -> list[Lot]:
    """Return what starts, and what waits and might fit: by the room in sum, and by quotas.

    Where a queue's limit does not bear all that wants in, its waiting work stays out.
    """
    scene = lots.scene
    spare = np.maximum(before.room, 0)[~lots.closed].sum(axis=0)
    some = [lot for lot in lots.lots if lot.started or (scene.rows(lot.pods) <= spare).all()]
    tight = _tight(lots, some, fixed_only=False)
    tight_fixed = _tight(lots, some, fixed_only=True)

    def may(lot: Lot) -> bool:
        g = scene.snapshot.group(lot.group)
        path = set(scene.tree.path(g.queue))
        return path.isdisjoint(tight) and (g.preemptable or path.isdisjoint(tight_fixed))

    return [lot for lot in some if lot.started or may(lot)]


def _tight(lots: Lots, some: Sequence[Lot], fixed_only: bool) -> set[QueueName]:
    """Return the queues that may not have all of it, or not all that cannot be preempted."""
    scene, limits = lots.scene, limits_of(lots.scene)
    if fixed_only:
        use: dict[QueueName, Matrix] = {
            q: np.array(v, dtype=object) for q, v in non_preemptible_use(scene).items()
        }
    else:
        use = {q: np.array(v, dtype=object) for q, v in lots.fixed.use_after.items()}
    sums: dict[QueueName, Matrix] = {}
    pods = [(lot.group, lot.pods) for lot in some]
    if fixed_only:
        pods += list(lots.fixed.started.items())
    for key, mine in pods:
        g = scene.snapshot.group(key)
        if not fixed_only or not g.preemptable:
            row = scene.rows(mine).astype(object)
            sums[g.queue] = sums[g.queue] + row if g.queue in sums else row
    total: dict[QueueName, Matrix] = {}
    for leaf, row in sums.items():
        for q in scene.tree.path(leaf):
            total[q] = total[q] + row if q in total else row
    out = set()
    for q, row in total.items():
        most: Mapping[int, int | None] = (
            limits.due_named(q) if fixed_only else dict(enumerate(limits.limit[q]))
        )
        if any(m is not None and row[r] and use[q][r] + row[r] > m for r, m in most.items()):
            out.add(q)
    return out


# Packing, and who gets which place


def _packed(
    packable: Packable,
    wanted: Sequence[Lot],
    process: SolverProcess,
    limit: float | None,
    config: Config,
) -> dict[PodKey, int] | None:
    """Pack, and give the places to pods; None where something would be left out that must start."""
    kinds, of = packable.yard.kinds, packable.kind_of
    known = sum(int(kinds.worth[of[p.key]]) for lot in wanted if lot.started for p in lot.pods)
    parameters = parameters_of(config) | {"relative_gap_limit": GAP}
    if config.deterministic:
        parameters["max_deterministic_time"] = config.budget_ms / 1000.0 * EACH
    else:
        parameters["num_workers"] = max(WORKERS, config.workers)
    packing = pack(packable.yard, process, limit, parameters, known=known).packing
    return None if packing.short else _given(packing, packable, wanted)


def _given(packing: Packing, packable: Packable, wanted: Sequence[Lot]) -> dict[PodKey, int] | None:
    """Give places to lots, first things first; what cannot be used is filled up, lot by lot."""
    free: dict[int, list[Place]] = {}
    for place in reversed(packing.places):
        free.setdefault(place[1], []).append(place)
    of = packable.kind_of
    places: dict[PodKey, int] = {}
    begun = {lot.group for lot in wanted if lot.base and lot.must}
    based = {lot.group for lot in wanted if lot.base}
    late: list[Lot] = []
    for lot in sorted(wanted, key=lambda w: (not w.must, w.level, not w.base, w.order)):
        need = Counter(of[p.key] for p in lot.pods)
        able = lot.base or lot.group not in based or lot.group in begun
        if able and all(len(free.get(k, ())) >= n for k, n in need.items()):
            for p in lot.pods:
                places[p.key] = free[of[p.key]].pop()[0]
            if lot.base:
                begun.add(lot.group)
        elif lot.must:
            return None
        else:
            late.append(lot)
    for unused in (place for some in free.values() for place in some):
        packing.take(*unused)
    hopeless: set[object] = set()
    for lot in late:
        need = Counter(of[p.key] for p in lot.pods)
        key = frozenset(need.items())
        if key in hopeless or not (lot.base or lot.group not in based or lot.group in begun):
            continue
        put: list[Place] = []
        for p in lot.pods:
            if (found := put_one(packing, of[p.key])) is None:
                break
            put.append(found)
        if len(put) < len(lot.pods):
            hopeless.add(key)
            for one in put:
                packing.take(*one)
            continue
        places |= {p.key: v for p, (v, _, _) in zip(lot.pods, put, strict=True)}
        if lot.base:
            begun.add(lot.group)
    return places
