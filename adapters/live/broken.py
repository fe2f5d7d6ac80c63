"""Since when running gangs lack members: what the cluster itself does not say.

A gang is broken while some of its members run, fewer than it needs. How long it has been so is
known only to who watches; whoever starts anew begins to count again, so that nothing is given up
too early. It is counted by a clock that never goes back: where that of the machine jumps, nobody
is given up too early or too late. A gang with a member that no controller would bring back is
never given up: deleting it for its own sake would lose it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from msgspec.structs import replace

from ...models import Group, GroupKey, Pod, PodState, Snapshot


@dataclass(slots=True)
class BrokenGangs:
    """By group, the moment since which it has been broken; seconds of a clock that never goes back.

    Snapshots have the time of the machine: in them it is so long ago as it is by that clock.
    """

    _since: dict[GroupKey, float] = field(default_factory=dict)

    def in_snapshot(self, snapshot: Snapshot, now_s: float) -> dict[GroupKey, Group]:
        """Return the broken groups with the moment since which they are; forget whole ones."""
        taken_s = snapshot.taken_at_s
        changed: dict[GroupKey, Group] = {}
        broken: dict[GroupKey, float] = {}
        gangs = [g for g in snapshot.groups if g.minimum > 1 or g.role_minimum or g.choices]
        pods = snapshot.pods_by_group if gangs else {}
        for g in gangs:
            members = pods.get(g.key, ())
            if g.effective_minimum <= 1 or not _is_broken(g, members):
                continue
            told_s = 0 if g.broken_since_s is None else taken_s - g.broken_since_s
            since = broken[g.key] = self._since.get(g.key, now_s - told_s)
            kept = all(p.owner for p in members if p.state is PodState.RUNNING)
            shown = taken_s - int(now_s - since) if kept else taken_s
            if g.broken_since_s != shown:
                changed[g.key] = replace(g, broken_since_s=shown)
        self._since = broken
        return changed

    @property
    def since(self) -> Mapping[GroupKey, float]:
        return self._since


def _is_broken(group: Group, members: tuple[Pod, ...]) -> bool:
    runs = sum(p.state is PodState.RUNNING for p in members)
    ended = sum(p.state is PodState.SUCCEEDED for p in members)
    return 0 < runs < group.effective_minimum - ended
