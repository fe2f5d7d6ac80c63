"""Claims, the plain half: room that victims free is for those with a right to them.

Any set of starting groups uses at most the room before plus what is freed by victims to which one
of the set has a right (docs/design/order.md, section 4), on each node and in each limited queue.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain

from ..models import GroupKey, Pod, QueueName, Violation
from .api import Rule
from .claims import CLOSED_SETS, limited, subsets
from .host_ports import clash
from .limits import limits_of
from .outcome import Outcome
from .pod_affinity import repels
from .scene import Scene
from .shared_claims import collide

Holders = Mapping[GroupKey, Collection[GroupKey]]
"""The groups with a right to each victim; victims that are not in it are for all."""


def check_claims(outcome: Outcome, rule: str, holders: Holders) -> Iterable[Violation]:
    """On each node (and limited queue) any set of claimants stays within what is its own."""
    scene = outcome.scene
    victims_on: dict[int, list[Pod]] = {}
    for p, i in outcome.leaving:
        victims_on.setdefault(i, []).append(p)
    yield from _check_clashes(outcome, rule, holders, victims_on)
    new_on: dict[int, list[Pod]] = {}
    for p, i in outcome.new_pods:
        if i in victims_on:
            new_on.setdefault(i, []).append(p)
    for i, victims in sorted(victims_on.items()):
        room = [int(v) for v in scene.room_later[i]]
        if _overdrawn(scene, new_on.get(i, []), victims, room, holders):
            yield Violation(
                rule, f"node {scene.nodes[i].name}",
                "room of victims goes to groups that have no claim on it",
            )  # fmt: skip
    limits = limits_of(scene)
    lost, come = _by_queue(scene, outcome.losses), _by_queue(scene, outcome.started)
    for q in scene.tree.downwards if limited(scene) else ():
        tops = limits.limit[q]
        if q not in lost or all(v is None for v in tops):
            continue
        room = [
            (1 << 80) if top is None else max(0, top - limits.use[q][r])
            for r, top in enumerate(tops)
        ]
        if _overdrawn(scene, come.get(q, []), lost[q], room, holders):
            yield Violation(
                rule, f"queue {q}",
                "quota of victims goes to groups that have no claim on it",
            )  # fmt: skip


def _by_queue(scene: Scene, groups: Mapping[GroupKey, Sequence[Pod]]) -> dict[QueueName, list[Pod]]:
    """Return the pods of the groups by queue, those of the queues below included."""
    out: dict[QueueName, list[Pod]] = {}
    for g, pods in groups.items():
        for q in scene.tree.path(scene.snapshot.group(g).queue):
            out.setdefault(q, []).extend(pods)
    return out


def _check_clashes(
    outcome: Outcome,
    rule: str,
    holders: Holders,
    victims_on: Mapping[int, Sequence[Pod]],
) -> Iterable[Violation]:
    """A pod that port, anti-affinity or shared claim kept away from a victim needs a right."""
    nodes = outcome.scene.nodes
    if not any(map(outcome.scene.asks, ("host_ports", "anti_affinity", "volumes"))):
        return
    on = {rule.name for rule in outcome.scene.rules if isinstance(rule, Rule)}
    shy = any(v.spec.anti_affinity for vs in victims_on.values() for v in vs)
    for p, i in outcome.new_pods:
        spec = p.spec
        if not (spec.host_ports or spec.anti_affinity or spec.shared_volumes or shy):
            continue
        for j, victims in victims_on.items():
            for v in victims:
                takers = holders.get(v.group) if v.group is not None else None
                if takers is None or p.group in takers:
                    continue
                keys = {*repels(p, v), *repels(v, p)} if "pod-affinity" in on else ()
                near = any(
                    nodes[i].labels.get(k) is not None
                    and nodes[i].labels.get(k) == nodes[j].labels.get(k)
                    for k in keys
                )
                ports = "host-ports" in on and i == j and clash(p, v)
                claim = "shared-claims" in on and collide(p, i, v, j, nodes)
                if near or ports or claim:
                    yield Violation(
                        rule, f"pod {p.key}", f"takes the place of {v.key} without a right"
                    )


def _overdrawn(
    scene: Scene,
    new: Sequence[Pod],
    victims: Sequence[Pod],
    room: Sequence[int],
    holders: Holders,
) -> bool:
    """Hall's condition: some set of claimants uses more than the room and what it may free."""
    if all(int(u) <= max(0, a) for u, a in zip(scene.rows(new), room, strict=True)):
        return False  # all of it fits beside the victims
    freed_by: dict[GroupKey, list[Pod]] = {}
    for v in victims:
        if v.group is not None:
            freed_by.setdefault(v.group, []).append(v)
    claimants: dict[GroupKey | None, list[Pod]] = {}
    for p in new:
        claimants.setdefault(p.group, []).append(p)
    kinds: dict[frozenset[GroupKey], list[Pod]] = {}
    for g, pods in claimants.items():
        mine = frozenset(v for v in freed_by if v not in holders or g in holders[v])
        kinds.setdefault(mine, []).extend(pods)
    used = {k: scene.rows(pods) for k, pods in kinds.items()}
    freed = {g: scene.rows(pods) for g, pods in freed_by.items()}
    most = [max(0, a) for a in room]
    for reach in _reaches(list(kinds)):
        use = [used[k] for k in kinds if k <= reach]
        back = [freed[g] for g in reach]
        for r, free in enumerate(most):
            asked = sum(int(u[r]) for u in use)
            if asked and asked > free + sum(int(f[r]) for f in back):
                return True
    return False


def _reaches(kinds: Sequence[frozenset[GroupKey]]) -> Iterable[frozenset[GroupKey]]:
    """Return what sets of kinds may free together; where that is too much, of the main sets."""
    seen = dict.fromkeys(kinds)
    fresh = list(seen)
    while fresh and len(seen) <= CLOSED_SETS:
        found = fresh.pop()
        for k in kinds:
            if (more := found | k) not in seen:
                seen[more] = None
                fresh.append(more)
    if not fresh:
        return seen
    return [frozenset(chain.from_iterable(chosen)) for chosen in subsets(kinds)]
