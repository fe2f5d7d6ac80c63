"""Section 6: what the evictions of a plan cost.

Readings of the contract that are fixed here:

* Groups that are given up cost nothing: they go for nobody.
* A gang is a group whose minimum, as written, is more than one; it breaks where it goes whole.
* Devices are all resources but cpu, memory, storage and hugepages. Work is in thousandths of a
  device × seconds; a pod without device counts its cpu, rounded up to whole cores. A pod without
  start time started when it was created.
* Priorities are the larger of the group's and the pod's; the vector has one count for every
  priority that a running pod of the snapshot has, from the top.
"""

from apportion.models.amounts import BYTES
from oracle.choice import Choice
from oracle.cluster import Cluster


def cost_of(choice: Choice) -> tuple[int, ...]:
    """Return (pods that are in, pods by priority from the top ..., gangs, work, ages)."""
    s, c = choice.standing, choice.cluster
    lost = [i for u in choice.units for i in u.pods]
    protected = sum(len(u.pods) for u in choice.units if s.is_in(u.name, choice.started))
    levels = sorted({c.weight_of_victim[i] for i in c.ours}, reverse=True)
    by_priority = [sum(c.weight_of_victim[i] == level for i in lost) for level in levels]
    gangs = sum(u.whole and c.groups[u.group].effective_minimum > 1 for u in choice.units)
    now = c.snapshot.taken_at_s
    ages = sum(max(0, now - c.pods[i].created_s) for i in lost)
    return (protected, *by_priority, gangs, sum(lost_work(c, i) for i in lost), ages)


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
