"""Waiting: the work that is known to end by then is gone, and nothing else is different."""

from collections.abc import Collection, Mapping

from msgspec.structs import replace

from .edits import Wait
from .end import End
from .errors import InputError
from .names import GroupKey
from .pod import PodState
from .snapshot import Snapshot

_WAITS = (PodState.PENDING, PodState.GATED)


def known_ends(snapshot: Snapshot) -> Mapping[GroupKey, End]:
    """Return when running groups end of which that is known: with the last of their pods.

    Of a group of which a pod waits it is not known: that pod ends some time after it starts. Nor is
    it of one that has run for longer than its annotation says.
    """
    out: dict[GroupKey, End] = {}
    for key, pods in snapshot.pods_by_group.items():
        ends = [p.end for p in pods if p.state is PodState.RUNNING]
        known = [e for e in ends if e is not None]
        if not known or len(known) < len(ends) or any(p.state in _WAITS for p in pods):
            continue
        last = max(known, key=lambda e: (e.at_s, e.by))
        if last.is_certain or last.at_s > snapshot.taken_at_s:
            out[key] = last
    return out


def waited(snapshot: Snapshot, edit: Wait) -> Snapshot:
    """Return the snapshot without the groups that are known to end in so many seconds."""
    if edit.seconds < 0:
        raise InputError(f"wait for at least 0 seconds, got {edit.seconds}")
    until_s = snapshot.taken_at_s + edit.seconds
    return without_groups(
        snapshot, {k for k, end in known_ends(snapshot).items() if end.at_s <= until_s}
    )


def without_groups(snapshot: Snapshot, keys: Collection[GroupKey]) -> Snapshot:
    """Return the snapshot without the groups and their pods."""
    if not keys:
        return snapshot
    gone = {p.key for k in keys for p in snapshot.pods_by_group.get(k, ())}
    return replace(
        snapshot,
        groups=tuple(g for g in snapshot.groups if g.key not in keys),
        pods=tuple(p for p in snapshot.pods if p.group not in keys),
        nominations=tuple(of for of in snapshot.nominations if of[0] not in gone),
    )
