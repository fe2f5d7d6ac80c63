"""Edits of groups: submitted, gone, of another priority, size or wish."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count
from typing import Any

from msgspec.structs import replace

from .edit_nodes import come_back
from .edit_wait import without_groups
from .edits import (
    CopyGroup,
    DropSelector,
    Relax,
    RemoveGroup,
    Resize,
    SetMinimum,
    SetPriority,
    SetRequests,
    Submit,
    Tolerate,
)
from .errors import InputError
from .group import Group
from .names import GroupKey
from .pod import Pod, PodState
from .podspec import PodSpec
from .snapshot import Snapshot
from .topology import TopologyRequest
from .unknown import unknown

_WAITING = (PodState.PENDING, PodState.GATED)
_ALIVE = (*_WAITING, PodState.RUNNING)
_COPY = re.compile(r"-copy-([0-9]{1,9})$")


def group_named(snapshot: Snapshot, key: str) -> Group:
    """Return the group; InputError where there is none of that key."""
    found = snapshot.groups_by_key.get(GroupKey(key))
    if found is None:
        raise unknown("group", key, snapshot.groups_by_key)
    return found


def copied(snapshot: Snapshot, edit: CopyGroup) -> Snapshot:
    """Return the snapshot with copies of a group, the youngest of all, all their pods waiting."""
    if edit.count < 1:
        raise InputError(f"group {edit.like}: submit at least 1 copy, got {edit.count}")
    like = group_named(snapshot, edit.like)
    members = snapshot.pods_by_group.get(like.key, ())
    groups, pods = list(snapshot.groups), list(snapshot.pods)
    names = _fresh(snapshot, like.namespace)
    for _ in range(edit.count):
        suffix = next(names)
        new = replace(
            like, name=f"{like.name}-copy-{suffix}", created_s=snapshot.taken_at_s,
            broken_since_s=None, admitted=False,
            asks_admission=not members and like.min_resources is not None,
        )  # fmt: skip
        groups.append(new)
        pods += [_like(p, new, f"{p.name}-copy-{suffix}", snapshot.taken_at_s) for p in members]
    return replace(snapshot, groups=tuple(groups), pods=tuple(pods))


def _fresh(snapshot: Snapshot, namespace: str) -> Iterator[int]:
    """Yield numbers that no copy in the namespace has yet."""
    named = [g.name for g in snapshot.groups if g.namespace == namespace]
    named += [p.name for p in snapshot.pods if p.namespace == namespace]
    taken = {int(found[1]) for n in named if (found := _COPY.search(n))}
    return (n for n in count(1) if n not in taken)


def _like(pod: Pod, group: Group, name: str, now_s: int) -> Pod:
    """Return a pod like this one that was just submitted."""
    state = PodState.GATED if pod.state is PodState.GATED else PodState.PENDING
    return replace(
        come_back(pod, now_s), name=name, group=group.key, state=state, claim_names={},
        gates=pod.gates if state is PodState.GATED else (),
    )  # fmt: skip


def submitted(snapshot: Snapshot, edit: Submit) -> Snapshot:
    """Return the snapshot with groups from elsewhere."""
    for g in edit.groups:
        if g.key in snapshot.groups_by_key:
            raise InputError(f"group {g.key} is there already; give the new one another name")
    for p in edit.pods:
        if p.key in snapshot.pods_by_key:
            raise InputError(f"pod {p.key} is there already; give the new one another name")
    claims = tuple(c for c in edit.claims if c.key not in snapshot.claims_by_key)
    return replace(
        snapshot,
        groups=(*snapshot.groups, *edit.groups),
        pods=(*snapshot.pods, *edit.pods),
        claims=(*snapshot.claims, *claims),
    )


def without_group(snapshot: Snapshot, edit: RemoveGroup) -> Snapshot:
    """Return the snapshot without the group and its pods."""
    return without_groups(snapshot, {group_named(snapshot, edit.group).key})


def given_priority(snapshot: Snapshot, edit: SetPriority) -> Snapshot:
    group = group_named(snapshot, edit.group)
    new = _with_group(snapshot, group, priority=edit.priority)
    return _with_pods(new, group.key, _ALIVE, lambda _: {"priority": edit.priority})


def given_minimum(snapshot: Snapshot, edit: SetMinimum) -> Snapshot:
    group = group_named(snapshot, edit.group)
    if edit.minimum < 0:
        raise InputError(f"group {group.key}: a minimum is at least 0, got {edit.minimum}")
    least = replace(group, minimum=0).effective_minimum
    if least > edit.minimum:
        raise InputError(
            f"group {group.key}: the minima of its roles add up to {least}, which is more than "
            f"{edit.minimum}"
        )
    return _with_group(snapshot, group, minimum=edit.minimum)


def resized(snapshot: Snapshot, edit: Resize) -> Snapshot:
    """Return the snapshot with more or fewer members of the group, or of one role of it."""
    group = group_named(snapshot, edit.group)
    if edit.members < 0:
        raise InputError(f"group {group.key}: members must be at least 0, got {edit.members}")
    alive = [p for p in snapshot.pods_by_group.get(group.key, ()) if p.state in _ALIVE]
    roles = sorted({p.role for p in alive})
    role = edit.role
    if not role and len(roles) > 1:
        raise InputError(
            f"group {group.key} has several roles ({', '.join(roles)}); name one: "
            f"{group.key}:{roles[0]}={edit.members}"
        )
    mine = [p for p in alive if not role or p.role == role]
    if not mine:
        what = f"role {role}" if role else "pod"
        raise InputError(f"group {group.key} has no {what} to take more of; submit it instead")
    size = len(alive) + edit.members - len(mine)
    role_minimum = dict(group.role_minimum)
    if mine[0].role in role_minimum:
        least = role_minimum[mine[0].role]
        role_minimum[mine[0].role] = (
            edit.members if least >= len(mine) else min(least, edit.members)
        )
    minimum = size if group.minimum >= len(alive) else min(group.minimum, size)
    new = _with_group(snapshot, group, minimum=minimum, role_minimum=role_minimum)
    return _of_size(new, group.key, mine, edit.members)


def _of_size(snapshot: Snapshot, key: GroupKey, mine: Sequence[Pod], members: int) -> Snapshot:
    group = snapshot.groups_by_key[key]
    # Who waits goes first, and of those and of those that run the last ones.
    ordered = sorted(mine, key=lambda p: (p.state is not PodState.RUNNING, p.created_s, p.key))
    gone = {p.key for p in ordered[members:]}
    more: list[Pod] = []
    number = 0
    while len(mine) + len(more) < members:
        number += 1
        name = f"{ordered[-1].name}-more-{number}"
        new = _like(ordered[-1], group, name, snapshot.taken_at_s)
        if new.key not in snapshot.pods_by_key:
            more.append(new)
    return replace(
        snapshot,
        pods=(*(p for p in snapshot.pods if p.key not in gone), *more),
        nominations=tuple(of for of in snapshot.nominations if of[0] not in gone),
    )


def given_requests(snapshot: Snapshot, edit: SetRequests) -> Snapshot:
    """Return the snapshot with other requests of the group's waiting pods."""
    group = group_named(snapshot, edit.group)
    for resource, amount in edit.requests.items():
        if amount < 0:
            raise InputError(f"group {group.key}: {resource} must be at least 0, got {amount}")

    def changed(spec: PodSpec) -> PodSpec:
        delta = {r: v - spec.requests[r] for r, v in edit.requests.items()}
        return replace(spec, requests=spec.requests.plus(delta))

    return _with_specs(snapshot, group.key, changed)


def relaxed(snapshot: Snapshot, edit: Relax) -> Snapshot:
    """Return the snapshot with another required level of the group or of a subgroup."""
    group = group_named(snapshot, edit.group)

    def request(old: TopologyRequest) -> TopologyRequest:
        known = [x.name for t in snapshot.topologies if t.name == old.topology for x in t.levels]
        if edit.level and edit.level not in known:
            raise unknown(f"level of topology {old.topology}:", edit.level, known)
        return replace(old, required=edit.level)

    if not edit.subgroup:
        if group.topology is None:
            raise InputError(f"group {group.key} requires no level of a topology")
        return _with_group(snapshot, group, topology=request(group.topology))
    if edit.subgroup not in {s.name for s in group.subgroups}:
        raise unknown(f"subgroup of group {group.key}:", edit.subgroup,
                      (s.name for s in group.subgroups))  # fmt: skip
    return _with_group(
        snapshot, group,
        subgroups=tuple(
            replace(s, topology=request(s.topology)) if s.name == edit.subgroup else s
            for s in group.subgroups
        ),
    )  # fmt: skip


def tolerating(snapshot: Snapshot, edit: Tolerate) -> Snapshot:
    key = group_named(snapshot, edit.group).key
    more = edit.toleration
    return _with_specs(
        snapshot, key, lambda s: replace(s, tolerations=tuple(sorted({*s.tolerations, more})))
    )


def without_selector(snapshot: Snapshot, edit: DropSelector) -> Snapshot:
    key = group_named(snapshot, edit.group).key
    if not edit.label:
        return _with_specs(snapshot, key, lambda s: replace(s, node_affinity=None))
    return _with_specs(
        snapshot, key,
        lambda s: replace(
            s, node_selector=tuple(of for of in s.node_selector if of[0] != edit.label)
        ),
    )  # fmt: skip


def _with_group(snapshot: Snapshot, group: Group, **changes: Any) -> Snapshot:
    new = replace(group, **changes)
    return replace(snapshot, groups=tuple(new if g is group else g for g in snapshot.groups))


def _with_pods(
    snapshot: Snapshot,
    key: GroupKey,
    states: Sequence[PodState],
    changes: Callable[[Pod], Mapping[str, Any]],
) -> Snapshot:
    return replace(
        snapshot,
        pods=tuple(
            replace(p, **changes(p)) if p.group == key and p.state in states else p
            for p in snapshot.pods
        ),
    )


def _with_specs(
    snapshot: Snapshot, key: GroupKey, change: Callable[[PodSpec], PodSpec]
) -> Snapshot:
    """Change what the group's waiting pods ask for; equal specs stay one object."""
    made: dict[int, PodSpec] = {}

    def changed(pod: Pod) -> Mapping[str, Any]:
        if id(pod.spec) not in made:
            made[id(pod.spec)] = change(pod.spec)
        return {"spec": made[id(pod.spec)]}

    return _with_pods(snapshot, key, _WAITING, changed)
