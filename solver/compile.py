"""Merging: pods into shapes, nodes into classes, groups into types, running work into units."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..models import GroupKey, Pod, QueueName
from ..policies.api import Telling, Tracked
from ..policies.board import (
    NOBODY,
    Claimant,
    GroupType,
    NodeClass,
    Parts,
    RoleSet,
    Shape,
    Unit,
    Victim,
)
from ..policies.budgets import covering_of
from ..policies.cells_tracker import celled
from ..policies.cost import spare_members
from ..policies.device_room import sharing_nodes
from ..policies.evictable import evictable, given_up, lowest_priority, victim_priority
from ..policies.items import nominated_pods
from ..policies.ledger import Matrix
from ..policies.levels import Levels, Worth
from ..policies.members import Members, Standing
from ..policies.rights import asks_of, cross_branches, limit_of
from ..policies.scene import Scene
from ..policies.standing import standing_of
from .fits import domain_keys, fits_of, on_known_nodes
from .scope import Scope, ties_of

EXACT_PAIRS = 20_000
"""Up to so many (shape, node) pairs every node is a class of its own."""


@dataclass(frozen=True)
class Compiled:
    """The parts of the board, and the pods behind each role set of each group."""

    parts: Parts
    pods: dict[tuple[int, GroupKey], tuple[Pod, ...]]
    """(role set, group) to its pending pods, best ranked first."""
    merged: bool
    """Some class has several nodes: its room is pooled and plans have to be spread."""


def compile_board(
    scene: Scene, levels: Levels, exact_pairs: int = EXACT_PAIRS, scope: Scope | None = None
) -> Compiled:
    """Merge a scene, or what the scope says of it, into the parts of a board."""
    return _Compiler(scene, levels, exact_pairs, scope).run()


_Kind = tuple[str, int, bool]
"""Role, shape, and whether the cycle before promised a place."""


class _Compiler:
    def __init__(self, scene: Scene, levels: Levels, exact_pairs: int, scope: Scope | None) -> None:
        self.scene = scene
        self.levels = levels
        self.exact_pairs = exact_pairs
        self.scope = scope
        self.table = standing_of(scene)
        self.promised = nominated_pods(scene)
        self._kinds: dict[int, object] = {}
        """What a shape is but for its claimant."""
        self._same_claimant: dict[Claimant, Claimant] = {}
        self._first_claimant: dict[object, Claimant] = {}
        self._settled: Mapping[int, Sequence[int]] = {}
        """By shape, where pods of it stay of which the board has no cells."""
        self.sees_pods = any(p.spec.sees_pods for p in scene.snapshot.pods if p.ours or p.holds)

        self.telling = [r for r in scene.rules if isinstance(r, Telling)]

    def run(self) -> Compiled:
        seekers = [m for m in self.scene.roster.values() if self._seeks(m)]
        victims, claims = self._victims(seekers)
        shapes: dict[object, Shape] = {}
        types: dict[object, list[Members]] = {}
        sets_of: dict[object, Sequence[_Kind]] = {}
        pods: dict[tuple[GroupKey, _Kind], list[Pod]] = {}
        for m in seekers:
            claimant = self._claimant(m) if claims else None
            if claimant is not None:
                claimant = self._merged(claimant, victims)
            counts: dict[_Kind, list[Pod]] = {}
            for p in m.pending:
                kind = (p.role, self._shape(shapes, p, claimant).index, p.key in self.promised)
                counts.setdefault(kind, []).append(p)
            kinds = sorted(counts)
            key = self._type_key(m, tuple((k, len(counts[k])) for k in kinds))
            types.setdefault(key, []).append(m)
            sets_of[key] = kinds
            pods |= {(m.key, k): ps for k, ps in counts.items()}
        shape_list = tuple(shapes.values())
        made_types: list[GroupType] = []
        rolesets: list[RoleSet] = []
        pods_of: dict[tuple[int, GroupKey], tuple[Pod, ...]] = {}
        for key, members in types.items():
            ordered = tuple(sorted(members, key=lambda m: (m.group.created_s, m.key)))
            t = GroupType(len(made_types), ordered, ordered[0].group.queue)
            made_types.append(t)
            for kind in sets_of[key]:
                each = len(pods[ordered[0].key, kind])
                keys = frozenset(p.key for m in ordered for p in pods[m.key, kind])
                r = RoleSet(len(rolesets), t, kind[0], shape_list[kind[1]], each, keys)
                rolesets.append(r)
                for m in ordered:
                    pods_of[r.index, m.key] = tuple(pods[m.key, kind])
        units = self._units(victims)
        classes, fits, merged = self._classes(shape_list, rolesets, units, pods_of)
        units = on_known_nodes(units, classes)
        if units:
            shape_list, fits, rolesets = self._pool(shape_list, fits, rolesets, classes, units)
        parts = Parts(
            shape_list, classes, tuple(made_types), tuple(rolesets), victims, units, fits,
            self._settled,
        )  # fmt: skip
        return Compiled(parts, pods_of, merged)

    def _pool(
        self,
        shapes: Sequence[Shape],
        fits: dict[tuple[int, int], int],
        rolesets: Sequence[RoleSet],
        classes: Sequence[NodeClass],
        units: Sequence[Unit],
    ) -> tuple[tuple[Shape, ...], dict[tuple[int, int], int], list[RoleSet]]:
        """Give shapes that differ only in their claimant one pool, for room that nobody claims."""
        same: dict[object, list[Shape]] = {}
        for s in shapes:
            same.setdefault(self._kinds[s.index], []).append(s)
        room = self._unclaimed(classes, units)
        out = list(shapes)
        fits = dict(fits)
        for alike in same.values():
            if len(alike) < 2:
                continue
            pool = Shape(len(out), alike[0].sample, alike[0].row, NOBODY)
            out.append(pool)
            for s in alike:
                out[s.index] = replace(s, pool=pool.index)
            for c in classes:
                most = sum(fits.get((s.index, c.index), 0) for s in alike)
                parts = [r // need for r, need in zip(room[c.index], pool.row, strict=True) if need]
                most = min(most, max(0, min(parts)) * c.size)
                if most:
                    fits[pool.index, c.index] = most
        renewed = [replace(r, shape=out[r.shape.index]) for r in rolesets]
        return tuple(out), fits, renewed

    @staticmethod
    def _unclaimed(classes: Sequence[NodeClass], units: Sequence[Unit]) -> list[list[int]]:
        """Return the room of one node of each class that needs no right, given-up work gone.

        What is missing on a node is for victims to make up, whoever has a right to them.
        """
        room = [[max(0, r) for r in c.room] for c in classes]
        of = {i: c.index for c in classes for i in c.nodes}
        for u in units:
            if u.victim.given_up and u.node in of:
                at = room[of[u.node]]
                at[:] = [a + len(u.pods) * b for a, b in zip(at, u.row, strict=True)]
        return room

    # Groups

    def _seeks(self, m: Members) -> bool:
        asked = self.scope is None or m.key in self.scope.groups
        return asked and bool(m.pending) and self.table.could_run[m.key] > 0

    def _worth(self, m: Members) -> tuple[Worth | None, Worth | None]:
        return self.levels.minimum.get(m.key), self.levels.elastic.get(m.key)

    def _type_key(self, m: Members, signature: object) -> object:
        g = m.group
        if m.standing is not Standing.NEW or m.choices:
            return ("one", m.key)
        return (
            g.queue, g.priority, g.may_preempt, g.preemptable, m.need,
            tuple(sorted(m.role_need.items())), signature, self._worth(m),
        )  # fmt: skip

    def _shape(self, shapes: dict[object, Shape], p: Pod, claimant: Claimant | None) -> Shape:
        labels: object = None
        if self.sees_pods:
            asked = self.scene.asked_labels
            labels = (p.namespace, tuple(sorted((k, v) for k, v in p.labels.items() if k in asked)))
        told = tuple(r.tells(self.scene, p) for r in self.telling)
        key = (p.spec, labels, told, claimant)
        if key not in shapes:
            row = tuple(int(v) for v in self.scene.row(p))
            self._kinds[len(shapes)] = (p.spec, labels, told)
            shapes[key] = Shape(len(shapes), p, row, claimant)
        return shapes[key]

    def _claimant(self, m: Members) -> Claimant:
        asks = asks_of(self.scene, m)
        return Claimant(m.group.queue, m.group.priority, m.group.may_preempt, asks)

    def _merged(self, c: Claimant, victims: Sequence[Victim]) -> Claimant:
        """Let claimants that have the same rights to everything be one."""
        if c not in self._same_claimant:
            own = frozenset(
                (v.index, self._limit(c, v))
                for v in victims
                if v.queue == c.queue and self._may_want(c, v.queue, v.lowest)
            )
            cross = frozenset(
                (v.index, self._limit(c, v))
                for v in victims
                if v.queue != c.queue and self._may_want(c, v.queue, v.lowest)
            )
            key: object = (own, (c.queue, c.asks, cross)) if cross else (own, None)
            if not c.may_preempt:
                key = (frozenset[int](), None)
            self._same_claimant[c] = self._first_claimant.setdefault(key, c)
        return self._same_claimant[c]

    # Victims

    def _victims(self, seekers: Sequence[Members]) -> tuple[tuple[Victim, ...], bool]:
        scene = self.scene
        claimants = {self._claimant(m) for m in seekers if m.group.may_preempt}
        out: list[Victim] = []
        for m in scene.roster.values():
            if not m.running:
                continue
            queue = m.group.queue
            if given_up(scene, m):
                out.append(
                    Victim(
                        len(out), m, queue, *self._priorities(m, m.running), True, 0, given_up=True
                    )
                )
                continue
            if self.scope is not None and m.key not in self.scope.victims:
                continue
            able = [p for p in m.running if evictable(scene, p)]
            whole = len(able) == len(m.running)
            surplus = min(spare_members(m), len(able))
            if not able or not (whole or surplus > 0):
                continue
            of = self._priorities(m, able)
            if any(self._may_want(c, queue, min(of)) for c in claimants):
                out.append(Victim(len(out), m, queue, *of, whole, max(0, surplus)))
        return tuple(out), bool(out)

    @staticmethod
    def _priorities(m: Members, able: Sequence[Pod]) -> tuple[int, int]:
        return victim_priority(m), lowest_priority(m, able)

    def _limit(self, c: Claimant, v: Victim) -> int | None:
        """Return below which priority pods of the victim may go; None: all of them may."""
        limit = limit_of(self.scene, c.queue, v.queue, c.priority)
        return None if limit is None or v.priority < limit else limit

    def _may_want(self, c: Claimant, queue: QueueName, priority: int) -> bool:
        limit = limit_of(self.scene, c.queue, queue, c.priority)
        if limit is not None and priority >= limit:
            return False
        if queue == c.queue:
            return True
        if queue not in self.scene.tree:
            return False
        return cross_branches(self.scene, c.queue, queue, c.asks, "due") is not None

    def _units(self, victims: Iterable[Victim]) -> tuple[Unit, ...]:
        scene = self.scene
        node_of = {p.key: i for p, i in scene.holders}
        out: list[Unit] = []
        for v in victims:
            same: dict[tuple[int, object], list[Pod]] = {}
            for p in v.members.running:
                if not (v.given_up or evictable(scene, p)):
                    continue
                labels = tuple(sorted(p.labels.items())) if self.sees_pods else None
                held = (p.devices, p.cells, p.claimed, tuple(sorted(p.draws.items())))
                kind = (
                    p.role, p.spec, p.priority, p.started_s, self._budgets(p), labels, held,
                )  # fmt: skip
                same.setdefault((node_of.get(p.key, -1), kind), []).append(p)
            for (node, _), pods in same.items():
                row = tuple(int(x) for x in scene.row(pods[0]))
                # The last ranked of equal pods go first.
                out.append(Unit(len(out), v, node, tuple(reversed(pods)), row))
        return tuple(out)

    def _budgets(self, p: Pod) -> tuple[int, ...]:
        return covering_of(self.scene).of(p)

    # Nodes

    def _classes(
        self,
        shapes: Sequence[Shape],
        rolesets: Sequence[RoleSet],
        units: Sequence[Unit],
        pods: Mapping[tuple[int, GroupKey], Sequence[Pod]],
    ) -> tuple[tuple[NodeClass, ...], dict[tuple[int, int], int], bool]:
        scene = self.scene
        room = scene.room_later
        wide = room.copy()
        for u in units:
            if u.node >= 0:
                wide[u.node] = wide[u.node] + np.array(u.row, dtype=room.dtype) * len(u.pods)
        demand = [0] * len(shapes)
        for r in rolesets:
            demand[r.shape.index] += r.limit * len(r.type.members)
        gone = {p.key for u in units for p in u.pods}
        world = scene.world(gone)
        trackers = [t.track(world) for t in scene.rules if isinstance(t, Tracked)]
        counts: list[Matrix] = []
        known: dict[object, Matrix] = {}
        for s in shapes:
            kind = self._kinds[s.index]
            if kind not in known:
                known[kind] = fits_of(scene, trackers, s, wide)
            counts.append(np.minimum(known[kind], demand[s.index]))
        if self.scope is not None:
            is_tied = ties_of(scene)
            cells, self._settled = self.scope.cells(counts, rolesets, pods, is_tied)
            near = self.scope.nodes | self.scope.changing
            looked_at = [u for u in units if u.node in near or is_tied(u.sample)]
            return self._single(shapes, cells, looked_at)
        pairs = int(sum((f > 0).sum() for f in counts))
        if pairs <= self.exact_pairs or not shapes:
            return self._single(shapes, counts, units)
        return self._merge(shapes, counts, demand, units)

    def _class(self, index: int, nodes: tuple[int, ...]) -> NodeClass:
        room = tuple(int(v) for v in self.scene.room_later[nodes[0]])
        return NodeClass(index, nodes, room, self.scene.nodes[nodes[0]].name)

    def _single(
        self, shapes: Sequence[Shape], counts: Sequence[Matrix], units: Sequence[Unit]
    ) -> tuple[tuple[NodeClass, ...], dict[tuple[int, int], int], bool]:
        used = {u.node for u in units if u.node >= 0}
        for f in counts:
            used |= {int(i) for i in np.flatnonzero(f)}
        classes = tuple(self._class(k, (i,)) for k, i in enumerate(sorted(used)))
        fits = {
            (s.index, c.index): int(counts[s.index][c.nodes[0]])
            for c in classes
            for s in shapes
            if counts[s.index][c.nodes[0]] > 0
        }
        return classes, fits, False

    def _merge(
        self,
        shapes: Sequence[Shape],
        counts: Sequence[Matrix],
        demand: Sequence[int],
        units: Sequence[Unit],
    ) -> tuple[tuple[NodeClass, ...], dict[tuple[int, int], int], bool]:
        """Merge nodes that are alike for every shape: same fits, same room, same domains."""
        alone = {u.node for u in units if u.node >= 0}
        for s in shapes:
            if s.sample.spec.volumes or s.sample.spec.claims:
                alone |= {int(i) for i in np.flatnonzero(counts[s.index])}
        alone |= sharing_nodes(self.scene)
        keys = domain_keys(shapes)
        split = [numbers for r in self.telling for numbers in r.splits(self.scene)]
        table = np.stack(counts, axis=1)
        alone |= {
            i for cells in celled(self.scene.rules, self.scene) for i in cells if table[i].any()
        }
        room = self.scene.room_later
        same: dict[object, list[int]] = {}
        for i, n in enumerate(self.scene.nodes):
            if i not in alone and not table[i].any():
                continue
            key: object = (
                ("alone", i)
                if i in alone
                else (
                    table[i].tobytes(), tuple(int(v) for v in room[i]),
                    tuple(n.labels.get(k) for k in keys), tuple(int(s[i]) for s in split),
                )
            )  # fmt: skip
            same.setdefault(key, []).append(i)
        classes = tuple(self._class(k, tuple(nodes)) for k, nodes in enumerate(same.values()))
        fits = {}
        for c in classes:
            for s in shapes:
                one = int(table[c.nodes[0], s.index])
                if one > 0:
                    fits[s.index, c.index] = min(demand[s.index], one * c.size)
        return classes, fits, any(c.size > 1 for c in classes)
