"""The model: what starts needs room on classes of nodes, and some of it room that victims free.

All rows say less than the rules do, never more (docs/design/certificate.md).
"""

from collections.abc import Sequence

import numpy as np

from ...models import GroupKey
from ...policies.levels import Levels
from ...policies.scene import Scene
from ...policies.standing import standing_of
from .beyond import beyond_of, growing
from .claims import claims_of
from .ground import Ground
from .nodes import classes_of, idle_devices, places_of, room_without
from .parts import Parts, Placing
from .program import Index, Program, Real
from .queues import staying_use, tell_queues
from .reach import Reach, most_started, told_apart
from .rights import tell_rights
from .victims import Candidate, candidates, victims_of
from .work import starts_of

NO_NODES: Index = np.zeros(0, dtype=np.int64)


def model_of(scene: Scene, levels: Levels, apart: bool = False) -> Ground:
    """Build the program over all that could start, could be a victim, and could take either.

    ``apart``: nodes with victims are told apart.
    """
    program = Program()
    starts = starts_of(scene, levels, program)
    table = standing_of(scene)
    claims = claims_of(table, starts.types)
    groups = candidates(scene) if claims.own or claims.spots else []
    may_leave = {p.key for c in groups for p in c.able if p.spec.share is not None}
    idle = idle_devices(scene, may_leave)
    beyond = beyond_of(table) if claims.spots and groups else {}
    room = room_without(scene)
    use = staying_use(scene)
    reach = Reach(table, claims, starts, groups, use)
    free = [int(places_of(s, room).sum()) for s in starts.shapes]
    grown = growing(beyond, most_started(starts, reach, free))
    victims = victims_of(scene, groups, beyond, grown, claims, idle)
    reach.given = {s for k in victims.kinds for s in k.could}
    starts = told_apart(starts, reach)
    freed = np.zeros_like(room)
    of, on = victims.places
    if len(of):
        np.add.at(freed, on, np.array(victims.rows)[of])
    alone = np.unique(on) if apart else NO_NODES
    classes = classes_of(starts.shapes, room, freed, idle.on_node, alone)
    widest = np.max([s.row for s in starts.shapes], axis=0, initial=1)
    unit = np.exp2(np.ceil(np.log2(np.maximum(widest.astype(np.float64), 1.0))))
    rows = _scaled([s.row for s in starts.shapes], unit)
    held = _scaled(victims.rows, unit)
    lost = _most(scene, groups)
    evicted = program.add_columns(list(victims.kinds.values()))
    parts = Parts(scene, program, starts, victims, classes, unit, rows, held, evicted, lost)
    placing, taken = _tell_nodes(parts)
    tell_queues(parts)
    ground = Ground(parts, placing, table, beyond, claims, grown, use, reach)
    tell_rights(ground, taken)
    return ground


def _most(scene: Scene, groups: Sequence[Candidate]) -> dict[GroupKey, tuple[Real, Real]]:
    """Return what each group could lose in all, and with one pod at most."""
    real: dict[int, Real] = {}
    out: dict[GroupKey, tuple[Real, Real]] = {}
    for c in groups:
        for p in c.samples:
            if id(p.spec) not in real:
                real[id(p.spec)] = scene.row(p).astype(np.float64)
        if len(c.samples) == 1:
            single = real[id(c.samples[0].spec)]
            out[c.members.key] = (single * len(c.able), single)
        else:
            single = np.max([real[id(p.spec)] for p in c.samples], axis=0)
            out[c.members.key] = (scene.rows(c.able).astype(np.float64), single)
    return out


def _scaled(rows: Sequence["np.ndarray[tuple[int, ...], np.dtype[np.int64]]"], unit: Real) -> Real:
    return np.array(rows, dtype=np.float64).reshape(-1, len(unit)) / unit


def _tell_nodes(parts: Parts) -> tuple[Placing, dict[int, Index]]:
    """Tell what fits; return where what is put, and by lead what is taken of freed room."""
    program, starts, classes = parts.program, parts.starts, parts.classes
    s, c = np.nonzero(classes.fits)
    placed = program.add_columns(classes.fits[s, c])
    # What starts stands somewhere.
    cover = program.add_rows(np.zeros(len(starts.shapes)))
    program.put(cover[starts.shape], starts.column, starts.pods)
    program.put(cover[s], placed, -1.0)
    v, k, n = _by_class(parts)
    left = program.add_columns(n)
    kinds = np.array([kind.shape for kind in parts.victims.kinds], dtype=np.int64)
    some = program.add_rows(np.zeros(len(parts.victims.rows)))
    program.put(some[v], left, 1.0)
    program.put(some[kinds], parts.evicted, -1.0)
    for r in range(len(parts.unit)):
        if parts.rows[:, r].any():
            most = program.add_rows(classes.room[:, r] / parts.unit[r])
            program.put(most[c], placed, parts.rows[s, r])
            program.put(most[k], left, -parts.held[v, r])
    _tell_devices(parts, s, c, placed, v, k, left)
    _tell_rightless(parts, s, c, placed)
    taken: dict[int, Index] = {}
    for r in parts.leads:
        freed = np.zeros(classes.size)
        np.add.at(freed, k, n * parts.held[v, r])
        taken[r] = program.add_columns(freed)
        mine = np.array([x.lead == r for x in starts.shapes])[s]
        most = program.add_rows(classes.room[:, r] / parts.unit[r])
        program.put(most[c[mine]], placed[mine], parts.rows[s[mine], r])
        program.put(most, taken[r], -1.0)
        # Who asks for more than is free on any node of the class takes the rest of it, each.
        least = np.maximum(parts.rows[s, r] - classes.most[c, r] / parts.unit[r], 0.0)
        alone = mine & (least > 0)
        each = program.add_rows(np.zeros(classes.size))
        program.put(each[c[alone]], placed[alone], least[alone])
        program.put(each, taken[r], -1.0)
        most = program.add_rows(np.zeros(classes.size))
        program.put(most, taken[r], 1.0)
        program.put(most[k], left, -parts.held[v, r])
    return Placing(s, c, placed, v, k, left), taken


def _tell_rightless(parts: Parts, s: Index, c: Index, placed: Index) -> None:
    """Those without a right to anything are content with what is free."""
    flags = np.array([x.is_rightless for x in parts.starts.shapes], dtype=np.bool_)
    mine = flags[s] if len(s) else np.zeros(0, dtype=np.bool_)
    if not mine.any():
        return
    for r in range(len(parts.unit)):
        some = mine & (parts.rows[s, r] > 0)
        if some.any():
            most = parts.program.add_rows(parts.classes.room[:, r] / parts.unit[r])
            parts.program.put(most[c[some]], placed[some], parts.rows[s[some], r])


def _by_class(parts: Parts) -> tuple[Index, Index, Real]:
    """Return shape, class and number of victims wherever there are some."""
    shapes, nodes = parts.victims.places
    classes = parts.classes.of_node[nodes]
    kept = classes >= 0
    size = max(1, parts.classes.size)
    key, counts = np.unique(shapes[kept] * size + classes[kept], return_counts=True)
    return key // size, key % size, counts.astype(np.float64)


def _tell_devices(
    parts: Parts, s: Index, c: Index, placed: Index, v: Index, k: Index, left: Index
) -> None:
    """Whole devices are idle ones, and of one node: seven idle ones are of no use to eight."""
    program, classes = parts.program, parts.classes
    whole = np.array([x.whole for x in parts.starts.shapes], dtype=np.float64)
    if not whole.any():
        return
    gained = np.array(parts.victims.idles)[v] if len(v) else np.zeros(0)
    asks = whole[s] > 0
    most = program.add_rows(classes.whole)
    program.put(most[c[asks]], placed[asks], whole[s[asks]])
    program.put(most[k], left, -gained)
    for size, sets in classes.by_size.items():
        if size == 1:
            continue
        # Of f freed devices at most f / (size − idle mod size) make one more set.
        missing = np.where(classes.idle >= 0, size - classes.idle % size, 1)
        asks = whole[s] >= size
        most = program.add_rows(sets)
        program.put(most[c[asks]], placed[asks], 1.0)
        program.put(most[k], left, -_up(gained / missing[k]))


def _up(values: Real) -> Real:
    """Round outward, for coefficients that are no exact binary fractions."""
    return values * (1 + 1e-12)
