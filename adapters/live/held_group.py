"""A held group, as far as it matters to what could let it start."""

from collections.abc import Mapping
from dataclasses import dataclass

from ...models import Config, Group, GroupKey, Pod, PodKey, PodState, QueueState, Snapshot
from ...policies.tree import Tree
from .single import asks_only_for_room

_COUNT = (PodState.PENDING, PodState.RUNNING)


@dataclass(frozen=True, slots=True)
class HeldGroup:
    """What waits of it, and what that needs."""

    group: Group
    pods: tuple[Pod, ...]
    asks: frozenset[str]
    """What any of its members asks for that waits or runs."""
    least: Mapping[str, int]
    """What each of its pods asks for at least, slot included."""
    need: int
    """How many of them have to start together, at least."""
    is_plain: bool
    """Whether nothing but amounts and rules about nodes keeps its pods from places."""


def held_group(seen: Snapshot, key: GroupKey, placed: frozenset[PodKey]) -> HeldGroup:
    """Return what a plan has held of the group, which has placed these pods."""
    group, members = seen.group(key), seen.pods_by_group.get(key, ())
    pods = tuple(p for p in members if p.state is PodState.PENDING and p.key not in placed)
    begun = any(p.state is PodState.RUNNING or p.key in placed for p in members)
    ended = sum(p.state is PodState.SUCCEEDED for p in members)
    asked = [p.footprint for p in pods]
    named = {r for a in asked for r in a}
    return HeldGroup(
        group,
        pods,
        asks=frozenset(r for p in members if p.state in _COUNT for r in p.spec.requests),
        least={r: min(a[r] for a in asked) for r in named},
        need=1 if begun else max(1, group.effective_minimum - ended),
        is_plain=all(asks_only_for_room(p.spec) and not p.spec.host_ports for p in pods),
    )


def is_shut(group: Group, tree: Tree) -> bool:
    """Say whether the group cannot start before an object that is compared has changed."""
    queue = tree.queues.get(group.queue)
    shut = queue is None or queue.hold or queue.state is not QueueState.OPEN
    return bool(group.hold or shut)


def preempts(group: Group, config: Config, tree: Tree) -> bool:
    """Say whether the group may evict work of its own queue, if that is of lower priority."""
    queue = tree.queues.get(group.queue)
    able = config.evictions != "none" and group.may_preempt
    return able and (queue is None or queue.preempts)
