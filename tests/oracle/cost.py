"""Section 6: what the evictions of a plan cost.

Readings of the contract that are fixed here:

* Groups that are given up cost nothing: they go for nobody.
* A gang breaks where it goes whole.
* What would be in counts beside what the plan starts; of groups that lose single pods, these are
  gone, and the rest makes up the minimum again.
* Devices are all resources but cpu, memory, storage and hugepages. Work is in thousandths of a
  device × seconds; a pod without device counts its cpu, rounded up to whole cores. A pod without
  start time started when it was created.
* The vector has one count for every priority that a running group has, from the top; then the sum
  of the ranks of the victims' queues. Queues are ranked by their priorities, from the top of the
  tree; the least of those where groups run is 0.
* Ages are counted from creation, as in the order of a leaf.
"""

from collections.abc import Sequence

from apportion.models.amounts import BYTES
from oracle.choice import Choice, Unit
from oracle.cluster import Cluster
from oracle.items import MINIMUM


def cost_of(choice: Choice, units: Sequence[Unit] | None = None) -> tuple[int, ...]:
    """Return (pods that come back, by priority from the top ..., queue ranks, gangs, work, ages).

    With ``units``: of these victims of the plan only.
    """
    c = choice.cluster
    units = choice.units if units is None else units
    lost = [i for u in units for i in u.pods]
    back = sum(_would_be_in(choice, u) for u in units)
    levels = sorted({c.victim_priority[c.group_of[i]] for i in c.ours}, reverse=True)
    by_priority = [sum(c.victim_priority[c.group_of[i]] == p for i in lost) for p in levels]
    paths = {
        c.queue_of[g]: tuple(c.queues[q].priority for q in reversed(c.path[c.queue_of[g]]))
        for g in range(len(c.groups))
        if c.running[g]
    }
    ranks = sorted(set(paths.values()))
    queues = sum(ranks.index(paths[c.queue_of[c.group_of[i]]]) for i in lost)
    gangs = sum(u.whole and _of_several(c, u.group) for u in units)
    now = c.snapshot.taken_at_s
    ages = sum(max(0, now - c.pods[i].created_s) for i in lost)
    return (back, *by_priority, queues, gangs, sum(lost_work(c, i) for i in lost), ages)


def _of_several(c: Cluster, g: int) -> bool:
    least = c.groups[g].effective_minimum
    return least > 1 or (least == 1 and len(c.running[g]) > 1)


def _would_be_in(choice: Choice, unit: Unit) -> int:
    """Return how many pods of the victim are in once everything else that goes is gone."""
    s, c, h = choice.standing, choice.cluster, unit.group
    gone = choice.evicted - unit.pods
    if unit.whole:
        return len(unit.pods) if s.is_in((h, MINIMUM), choice.started, gone) else 0
    out = sum(not s.is_in((h, i), choice.started, gone) for i in c.elastic_running[h])
    return max(0, len(unit.pods) - out)


def lost_work(c: Cluster, i: int) -> int:
    """Return the pod's lost work in thousandths of a device × seconds."""
    pod = c.pods[i]
    held = sum(v for r, v in pod.spec.requests.items() if _is_device(r))
    if not held:
        held = -(-pod.spec.requests["cpu"] // 1000) * 1000
    started = pod.created_s if pod.started_s is None else pod.started_s
    return held * max(0, c.snapshot.taken_at_s - started)


def _is_device(resource: str) -> bool:
    return (
        resource not in BYTES
        and resource not in ("cpu", "pods")
        and not resource.startswith("hugepages-")
    )
