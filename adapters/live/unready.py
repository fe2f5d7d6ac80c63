"""Gangs that were started and do not get ready: after a set time they are told of, or let go.

A gang whose pods all have nodes and never become ready (an image that cannot be pulled, a device
that is broken) holds what others wait for. What counts is the newest start of its members; a
member that has once been ready in this time starts nothing anew. A gang with a pod that no
controller would bring back is only told of.
"""

from dataclasses import dataclass, field

from ...models import Config, Eviction, GroupKey, NodeName, Pod, PodState, Snapshot

WAIT_S = 60.0
"""A gang that was let go is planned again after this long at the earliest."""


@dataclass(frozen=True, slots=True)
class Unready:
    """A gang that is late."""

    group: GroupKey
    ready: int
    """Members that are ready."""
    members: int
    """Members that run."""
    release: tuple[Eviction, ...]
    """Its pods, if it is to be let go; () if it is only told of."""

    @property
    def message(self) -> str:
        return f"{self.ready} of {self.members} members are ready"


@dataclass(slots=True)
class UnreadyGangs:
    """Which gangs have been told of, so that none is told of twice for one start."""

    _told: dict[GroupKey, int] = field(default_factory=dict)

    def due(self, snapshot: Snapshot, config: Config) -> list[Unready]:
        """Return the gangs that are late now, and were not told of before."""
        if not config.ready_within_s:
            return []
        out: list[Unready] = []
        told: dict[GroupKey, int] = {}
        pods = snapshot.pods_by_group
        for g in snapshot.groups:
            if g.effective_minimum <= 1:
                continue
            members = pods.get(g.key, ())
            running = [p for p in members if p.state is PodState.RUNNING]
            ended = sum(p.state is PodState.SUCCEEDED for p in members)
            ready = sum(p.ready for p in running)
            need = g.effective_minimum - ended
            started = max((p.started_s or 0 for p in running), default=0)
            late = snapshot.taken_at_s - started > config.ready_within_s
            if len(running) < need or ready >= need or not late:
                continue
            told[g.key] = started
            if self._told.get(g.key) != started:
                go = config.unready == "release" and all(p.owner for p in running)
                release = tuple(_eviction(p, g.key, ready, need) for p in running) if go else ()
                out.append(Unready(g.key, ready, len(running), release))
        self._told = told
        return out


def _eviction(pod: Pod, group: GroupKey, ready: int, need: int) -> Eviction:
    node = pod.node if pod.node is not None else NodeName("")
    why = f"only {ready} of at least {need} members became ready in time"
    return Eviction(pod.key, group, node, (), why)
