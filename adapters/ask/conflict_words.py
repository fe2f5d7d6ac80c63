"""A conflict in words and numbers: what each rule asks, what there is, and who holds the rest."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ...models import Pod, PodSpec, TopologyRequest
from ...models.quantity import show
from ...models.value import Value
from ...policies.bonds import Bond, Layer, domain_of
from ...policies.ledger import Matrix, copies_by_room
from ...policies.limits import limits_of
from ...policies.members import Standing
from ...policies.parts import NodeClass
from ...policies.podset import PodSet
from ...policies.quota import non_preemptible_use
from ...policies.topology import pinned
from ...solver.alone import Alone
from ...solver.conflict import Conflict
from ...solver.subjects import Subject

MOST_HOLDERS = 3


class Holder(Value, frozen=True, omit_defaults=False):
    """Who has what is missing, and may not be evicted."""

    name: str
    """A group, or ``pods of other schedulers``."""
    amount: int
    """Of the resource, in canonical units."""


class Member(Value, frozen=True, omit_defaults=False):
    """One member of a conflict: a rule, what it is about, and what it says there."""

    rule: str
    about: str
    message: str
    resource: str = ""
    holders: tuple[Holder, ...] = ()


def members_of(conflict: Conflict) -> tuple[Member, ...]:
    """Return the conflict's members in words, in the order in which they are told."""
    told = conflict.told
    ordered = sorted(conflict.subjects, key=told.subjects.index)
    return tuple(_WORDS.get(rule, _other)(told, (rule, about)) for rule, about in ordered)


def _gang(told: Alone, subject: Subject) -> Member:
    m = told.members
    if m.standing is Standing.WHOLE:
        said = "runs with its minimum, and one member more is asked for"
    else:
        missing = max(0, m.need - len(m.running))
        said = f"starts with {m.need} member{'' if m.need == 1 else 's'} or not at all"
        if m.running:
            said += f"; {len(m.running)} run, {missing} more have to start"
        if m.role_need:
            roles = ", ".join(f"{n} of role {r}" for r, n in sorted(m.role_need.items()))
            said += f" ({roles})"
        said += "".join(f"; needs {c}" for c in m.choices)
        said += "".join(f"; {short}" for short in _short(told))
    return Member(*subject, said)


def _short(told: Alone) -> Iterable[str]:
    """Say of which of the pods wanted too few have room on the nodes that take them."""
    m = told.members
    kinds: dict[PodSpec, list[Pod]] = {}
    for p in m.first:
        kinds.setdefault(p.spec, []).append(p)
    for same in kinds.values():
        fit = int(_counts(told, same[0]).sum())
        if fit < len(same) and len(m.first) > 1:
            which = "" if len(kinds) == 1 else f" of the {len(same)} like pod {same[0].key}"
            yield f"{_fit(fit)}{which}"


def _counts(told: Alone, pod: Pod) -> Matrix:
    """Return how many pods of a kind each node that takes one has room for."""
    return copies_by_room(told.scene.room_later, told.scene.row(pod), told.scene.mask(pod))


def _fit(n: int) -> str:
    return "none fits" if n == 0 else f"at most {n:,} fit{'s' if n == 1 else ''}"


def _capacity(told: Alone, subject: Subject) -> Member:
    cls, column = told.about[subject]
    scene = told.scene
    assert column is not None
    name = scene.ledger.resources[column]
    need = max(s.row[column] for s in told.shapes)
    frees = [max(0, int(scene.room_later[i][column])) for i in cls.nodes]
    free, i = max(zip(frees, cls.nodes, strict=True), key=lambda of: (of[0], -of[1]))
    offered = int(scene.allocatable[i][column])
    most = "at most " if min(frees) < free else ""
    each = " each" if cls.size > 1 else ""
    beside = " beside what may not be evicted" if free < offered else ""
    up_to = "up to " if any(0 < s.row[column] < need for s in told.shapes) else ""
    said = (
        f"{most}{show(free, name)} of {show(offered, name)} {name} free{each}{beside}; "
        f"a pod asks for {up_to}{show(need, name)}"
    )
    if not up_to and len(told.members.first) > 1:
        fit = sum(f // need for f in frees)
        said += f": {fit:,} fit{'s' if fit == 1 else ''}" if fit else ": none fits"
        said += " in all" if fit and cls.size > 1 else ""
    here = set(cls.nodes)
    held = _holders(told, (p for p, i in scene.holders if i in here), column)
    return Member(*subject, said, name, held)


def _quota(told: Alone, subject: Subject) -> Member:
    scene, m = told.scene, told.members
    limits = limits_of(scene)
    for q in scene.tree.path(m.group.queue):
        for r, name in enumerate(scene.ledger.resources):
            ask = int(scene.rows(m.first or m.pending[:1])[r])
            mine = [p for p in scene.snapshot.pods if p.group is not None and p.state == "running"
                    and q in _path(told, p)]  # fmt: skip
            if subject[1] == f"{q} {name}":
                most = limits.limit[q][r]
                use = int(limits.use[q][r])
                said = (
                    f"queue {q} may have {show(most or 0, name)} {name}; "
                    f"{show(use, name)} is used by what may not be evicted, "
                    f"{show(ask, name)} is asked for"
                )
                return Member(*subject, said, name, _holders(told, mine, r))
            if subject[1] == f"{q} due of {name}":
                due, use = limits.due_named(q)[r], int(non_preemptible_use(scene)[q][r])
                said = (
                    f"cannot be preempted, so it has to stay within the due of queue {q}, "
                    f"{show(due, name)} {name}; {show(use, name)} is used by such work, "
                    f"{show(ask, name)} is asked for"
                )
                fixed = [p for p in mine if not scene.roster[p.group or m.key].group.preemptable]
                return Member(*subject, said, name, _holders(told, fixed, r))
    return _other(told, subject)


def _path(told: Alone, pod: Pod) -> Iterable[str]:
    scene = told.scene
    queue = scene.snapshot.groups_by_key[pod.group].queue if pod.group is not None else None
    return scene.tree.path(queue) if queue is not None and queue in scene.tree else ()


def _topology(told: Alone, subject: Subject) -> Member:
    for bond in told.scene.bonds.of_group(told.members.key):
        if bond.label == subject[1] and bond.required is not None:
            held = [p for p in told.members.first or told.members.pending if bond.holds(p)]
            pods = "pod has" if len(held) == 1 else f"{len(held)} pods have"
            return Member(*subject, f"its {pods} to lie {_where(told, bond, held)}")
    return _other(told, subject)


def _where(told: Alone, bond: Bond, pods: Sequence[Pod]) -> str:
    """Say in which domain pods have to lie, and how many of them fit there."""
    layer, wish = bond.required, _request(told, bond)
    assert layer is not None
    if not layer.domains and wish is not None:
        return f"in one {domain_of(wish.required)}; {_nowhere(told, wish)}"
    there = pinned(told.scene, bond, layer)
    running = sum(there.values())
    run = f"its {running} running pods lie" if running > 1 else "its running pod lies"
    names = ", ".join(layer.domains[d] for d in sorted(there) if d >= 0)
    if -1 in there:
        partly = " partly" if names else ""
        return f"in one {layer.told}; {run}{partly} in none"
    if len(there) > 1:
        return f"in one {layer.told}; {run} in several: {names}"
    if there:
        return f"in {layer.told} {names}, where {run}{_fit_in(told, pods, layer, min(there))}"
    return f"in one {layer.told}{_fit_in(told, pods, layer, None)}"


def _nowhere(told: Alone, wish: TopologyRequest) -> str:
    """Say why no node lies in a domain of the level."""
    topology = next((t for t in told.scene.snapshot.topologies if t.name == wish.topology), None)
    if topology is None:
        return f"there is no topology {wish.topology}"
    levels = [x.name for x in topology.levels]
    if wish.required in levels:
        return "no node lies in any"
    only = f", only {', '.join(levels)}" if levels else ""
    return f"topology {wish.topology} has no level {wish.required}{only}"


def _request(told: Alone, bond: Bond) -> TopologyRequest | None:
    group = told.members.group
    if not bond.subgroup:
        return group.topology
    return next((s.topology for s in group.subgroups if s.name == bond.subgroup), None)


def _fit_in(told: Alone, pods: Sequence[Pod], layer: Layer, at: int | None) -> str:
    """Say how many of equal pods fit into a domain, or into the best of all, if too few do."""
    if len({p.spec for p in pods}) != 1:
        return ""
    fits, numbers = _counts(told, pods[0]), layer.numbers
    by_domain = [int(fits[numbers == k].sum()) for k in range(len(layer.domains))]
    best = max(by_domain) if at is None else by_domain[at]
    if best >= len(pods):
        return ""
    if at is not None:
        return f"; {_fit(best)} there"
    outside = int(np.count_nonzero(fits[numbers < 0]))
    nodes = "1 node with room lies" if outside == 1 else f"{outside:,} nodes with room lie"
    beside = f"; {nodes} in none" if outside else ""
    if not best:
        return f"; none fits in any{beside}"
    like = "such as" if by_domain.count(best) > 1 else "in"
    return f"; {_fit(best)} in one, {like} {layer.domains[by_domain.index(best)]}{beside}"


def _other(told: Alone, subject: Subject) -> Member:
    """Say it as the filter does; else what the rule asks, in its own words."""
    rules: dict[str, Any] = {r.name: r for r in told.scene.rules}  # type: ignore[attr-defined]
    rule = rules.get(subject[0])
    known = told.about.get(subject)
    if known is not None and rule in told.scene.filters:
        said = _refusal(told, rule, known[0])
        if said:
            return Member(*subject, said)
    doc = (rule.__doc__ or "").strip().split("\n")[0] if rule is not None else ""
    return Member(*subject, doc.rstrip(".") or "is broken")


def _refusal(told: Alone, rule: Any, cls: NodeClass) -> str:
    node = told.scene.nodes[cls.nodes[0]]
    for s in told.shapes:
        reason = rule.refuse(PodSet((s.sample,)), node)
        if reason is not None:
            return str(reason.message)
    return ""


def _holders(told: Alone, pods: Iterable[Pod], column: int) -> tuple[Holder, ...]:
    held: Counter[str] = Counter()
    for p in pods:
        if p.group != told.members.key:
            name = f"group {p.group}" if p.group is not None else "pods of other schedulers"
            held[name] += int(told.scene.row(p)[column])
    most = sorted(((n, k) for k, n in held.items() if n), key=lambda t: (-t[0], t[1]))
    return tuple(Holder(k, n) for n, k in most[:MOST_HOLDERS])


_WORDS: Mapping[str, Callable[[Alone, Subject], Member]] = {
    "gang": _gang,
    "capacity": _capacity,
    "quota": _quota,
    "topology": _topology,
}
