"""A group alone: the cluster emptied of evictable work, and every rule a row that can be let go.

Filters, and pods that stand in the way, are rows here as well: the board of a plan leaves out what
they refuse before there is a model, and then nobody can be told that they did.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from dataclasses import replace as changed

import numpy as np
from msgspec.structs import replace

from ..models import GroupKey, Pod, PodState, Snapshot
from ..policies.api import Constraint, Telling, Tracked
from ..policies.board import Board, GroupType, NodeClass, Parts, RoleSet, Row, Shape, Var
from ..policies.cells_tracker import celled
from ..policies.could_run import met_by_others
from ..policies.device_room import sharing_nodes
from ..policies.evictable import evictable_flags, given_up_flags
from ..policies.levels import Levels
from ..policies.limits import Limits, limits_of
from ..policies.members import Members
from ..policies.outcome import use_before
from ..policies.pod_affinity import PodAffinity, matches_all
from ..policies.podset import PodSet
from ..policies.quota import Quota
from ..policies.scene import Scene
from .subjects import About, Merging, Refused, Subject

EXACT_PAIRS = 4_000
"""Up to so many pairs of shape and node every node is a class of its own, where shapes differ."""
WORDS = {"gang": 0, "quota": 1, "topology": 2, "capacity": 8, "devices": 9}
"""The order in which rules are told: what says most in fewest words first."""


def emptied_for(scene: Scene, key: GroupKey) -> Snapshot:
    """Return the cluster with the group alone, without all that could be evicted."""
    snapshot = scene.snapshot
    m = scene.roster[key]
    leaves = evictable_flags(scene) | given_up_flags(scene)
    met = met_by_others(scene, m)
    pods: list[Pod] = []
    for p, goes in zip(snapshot.pods, leaves.tolist(), strict=True):
        if p.group == key:
            if p.key in met:
                p = replace(p, spec=replace(p.spec, affinity=()))
            pods.append(p)
        elif (p.state is PodState.RUNNING and not goes) or _is_reserved(p):
            pods.append(p)
    there = {key, *(p.group for p in pods)}
    groups = tuple(g for g in snapshot.groups if g.key in there)
    return replace(snapshot, pods=tuple(pods), groups=groups, nominations=())


def _is_reserved(pod: Pod) -> bool:
    """Say whether another scheduler has promised the pod its place."""
    return not pod.ours and pod.state is PodState.PENDING and pod.nominated is not None


def _limits_kept(scene: Scene, small: Scene) -> Limits:
    """Return the limits of the whole cluster, with the use of the small one.

    What is to be divided depends on who runs where; emptying the cluster must not change it.
    """
    base, names = limits_of(scene), small.ledger.resources
    at = [scene.ledger.column[r] for r in names]
    column = {c: i for i, c in enumerate(at)}
    return changed(
        base,
        root=tuple(base.root[c] for c in at),
        capacity=tuple(base.capacity[c] for c in at),
        limit={q: tuple(row[c] for c in at) for q, row in base.limit.items()},
        deserved={
            q: {column[c]: v for c, v in of.items() if c in column}
            for q, of in base.deserved.items()
        },
        guarantee={q: tuple(row[c] for c in at) for q, row in base.guarantee.items()},
        use={q: tuple(int(v) for v in row) for q, row in use_before(small).items()},
        named=frozenset(column[c] for c in base.named if c in column),
    )


@dataclass
class Alone:
    """The board of a group alone, its rows by subject, and what a subject speaks of."""

    scene: Scene
    members: Members
    board: Board
    rows: dict[Subject, list[Row]] = field(default_factory=dict)
    hard: list[Row] = field(default_factory=list)
    about: dict[Subject, About] = field(default_factory=dict)
    """The nodes that it is about, and the column of the resource."""
    shapes: tuple[Shape, ...] = ()

    @property
    def subjects(self) -> list[Subject]:
        """Every subject, those first that say most."""
        return sorted(self.rows, key=lambda s: (WORDS.get(s[0], 5), s))


def alone(scene: Scene, key: GroupKey) -> Alone:
    """Tell every rule about the group alone."""
    small = Scene(emptied_for(scene, key), scene.config, scene.rules)
    small.once("limits", lambda of: _limits_kept(scene, of))
    originals = {p.key: p for p in scene.roster[key].pending}
    m = small.roster[key]
    shapes, rolesets, group = _merged(small, m)
    refused = [list(_refusals(small, s, originals[s.sample.key], m)) for s in shapes]
    classes = _classes(small, shapes, refused)
    demand = {s.index: sum(r.limit for r in rolesets if r.shape is s) for s in shapes}
    fits = {(s.index, c.index): demand[s.index] for s in shapes for c in classes}
    parts = Parts(shapes, classes, (group,), rolesets, (), (), fits)
    board = Board(small, parts, Levels({}, {}))
    # Demand stays inside the limits even where plans need not (policies/could_run.py).
    more = () if any(isinstance(r, Quota) for r in small.rules) else (Quota(),)
    for rule in (*small.rules, *more):
        if isinstance(rule, Constraint):
            rule.constrain(board)
    out = Alone(small, m, board, shapes=shapes)
    _tell_nodes(out, refused)
    _demand(board, group)
    board.close()
    for row in board.rows:
        subject = _subject(row, m)
        if subject is None:
            out.hard.append(row)
        else:
            out.rows.setdefault(subject, []).append(row)
    _merge(out, Merging(small, classes, shapes, demand))
    return out


def _merge(out: Alone, merging: Merging) -> None:
    """Make subjects one that say the same of different nodes."""
    wider = merging.merged(list(out.rows))
    rows, out.rows = out.rows, {}
    for subject, mine in rows.items():
        into, nodes = wider.get(subject, (subject, None))
        out.rows.setdefault(into, []).extend(mine)
        if nodes is not None:
            out.about[into] = (nodes, out.about.get(subject, (nodes, None))[1])


def _subject(row: Row, m: Members) -> Subject | None:
    if row.rule == "placement":
        return None
    if row.rule == "gang":
        return ("gang", f"group {m.key}")
    return (row.rule, row.about)


def _demand(board: Board, group: GroupType) -> None:
    """Require what is asked: the group starts, or one member more."""
    start = board.started(group)
    terms = [(-1, board.count(r)) for r in board.rolesets_of(group)]
    if start is not None:
        terms = [(-1, start)]
    board.rows.append(
        Row(tuple(v for _, v in terms), tuple(c for c, _ in terms), -1, "placement", "demand")
    )


# What is merged


def _merged(scene: Scene, m: Members) -> tuple[tuple[Shape, ...], tuple[RoleSet, ...], GroupType]:
    telling = [r for r in scene.rules if isinstance(r, Telling)]
    sees = any(p.spec.sees_pods for p in scene.snapshot.pods)
    kinds: dict[object, Shape] = {}
    sets: dict[tuple[str, int], list[Pod]] = {}
    for p in m.pending:
        labels = (p.namespace, tuple(sorted(p.labels.items()))) if sees else None
        key = (p.spec, labels, tuple(r.tells(scene, p) for r in telling))
        if key not in kinds:
            row = tuple(int(v) for v in scene.row(p))
            kinds[key] = Shape(len(kinds), p, row)
        sets.setdefault((p.role, kinds[key].index), []).append(p)
    shapes = tuple(kinds.values())
    group = GroupType(0, (m,), m.group.queue)
    rolesets = tuple(
        RoleSet(i, group, role, shapes[s], len(pods), frozenset(p.key for p in pods))
        for i, ((role, s), pods) in enumerate(sets.items())
    )
    return shapes, rolesets, group


def _classes(
    scene: Scene, shapes: Sequence[Shape], refused: Sequence[Sequence[Refused]]
) -> tuple[NodeClass, ...]:
    """Merge nodes that neither room, nor filters, nor domains, nor pods there tell apart."""
    n = len(scene.nodes)
    alone_ = set(range(n)) if len(shapes) > 1 and n * len(shapes) <= EXACT_PAIRS else set[int]()
    tied = any(s.sample.spec.volumes or s.sample.spec.claims for s in shapes)
    if tied or any(s.sample.spec.share is not None for s in shapes):
        alone_ = set(range(n))
    alone_ |= sharing_nodes(scene) | {i for cells in celled(scene.rules, scene) for i in cells}
    telling = [r for r in scene.rules if isinstance(r, Telling)]
    split = [numbers for r in telling for numbers in r.splits(scene)]
    keys = sorted(_domain_keys(shapes))
    same: dict[object, list[int]] = {}
    for i, node in enumerate(scene.nodes):
        key: object = ("alone", i)
        if i not in alone_:
            key = (
                tuple(int(v) for v in scene.room_later[i]),
                tuple(node.labels.get(k) for k in keys),
                tuple(int(s[i]) for s in split),
                tuple(bool(mask[i]) for of in refused for _, mask in of),
            )
        same.setdefault(key, []).append(i)
    return tuple(
        NodeClass(k, tuple(nodes), tuple(int(v) for v in scene.room_later[nodes[0]]),
                  scene.nodes[nodes[0]].name)
        for k, nodes in enumerate(same.values())
    )  # fmt: skip


def _domain_keys(shapes: Sequence[Shape]) -> set[str]:
    specs = [s.sample.spec for s in shapes]
    near = {t.topology_key for spec in specs for t in (*spec.affinity, *spec.anti_affinity)}
    return near | {c.topology_key for spec in specs for c in spec.spread}


def _refusals(scene: Scene, shape: Shape, pod: Pod, m: Members) -> Iterator[Refused]:
    """Yield, by rule, the nodes that a filter or who stands there keeps from the shape.

    ``pod`` is its sample with the wish for company that counts as met: it still needs domains.
    """
    follows = _follows(shape.sample, m)
    pods = PodSet((shape.sample,))
    for rule in scene.filters:
        numbers, samples = scene.grouping(rule.sees(pods))
        refused = [rule.refuse(pods, scene.nodes[i]) is not None for i in samples]
        if any(refused):
            yield rule.name, np.array(refused, dtype=np.bool_)[numbers]
    world = scene.world()
    for tied in scene.rules:
        if isinstance(tied, Tracked):
            tracker = tied.track(world)
            near = follows and isinstance(tied, PodAffinity)
            opens = tracker.allows(shape.sample) if near else tracker.opens(pod)
            if opens is not None and not opens.all():
                yield tied.name, ~np.asarray(opens, dtype=np.bool_)


def _follows(pod: Pod, m: Members) -> bool:
    """Say whether the pod can only be where company is already.

    What could run beyond a minimum comes one by one: so it is where one pod or none is missing to
    that, and whoever of the group would be company to it looks for the same.
    """
    terms = pod.spec.affinity
    peers = (p for p in m.pending if matches_all(terms, p))
    return bool(terms) and len(m.first) <= 1 and all(p.spec.affinity == terms for p in peers)


def _tell_nodes(out: Alone, refused: Sequence[Sequence[Refused]]) -> None:
    """Add rows for what a board leaves out: refused nodes, and one pod that is too large."""
    board, scene = out.board, out.scene
    resources = scene.ledger.resources
    for c in board.classes:
        for r, name in enumerate(resources):
            out.about["capacity", f"{c.label} {name}"] = (c, r)
    for s, refusals in zip(out.shapes, refused, strict=True):
        bonds = scene.bonds.of(s.sample)
        for rule, mask in refusals:
            for c in board.classes:
                if mask[c.nodes[0]]:
                    about = bonds[0].label if rule == "topology" and bonds else c.label
                    out.about.setdefault((rule, about), (c, None))
                    board.at_most([(1, _at(board, s, c))], 0, rule, about)
        for c in board.classes:
            for r, need in enumerate(s.row):
                if need:
                    most = c.size * (max(0, c.room[r]) // need)
                    about = f"{c.label} {resources[r]}"
                    board.at_most([(1, _at(board, s, c))], most, "capacity", about)


def _at(board: Board, shape: Shape, cls: NodeClass) -> Var:
    var = board.pods(shape, cls)
    assert var is not None
    return var
