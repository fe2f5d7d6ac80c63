"""The tree of queues: parents that exist, no cycles, whole weights, units that make sense."""

import math
from collections.abc import Iterable

from ...models import UNLIMITED, Amounts, Queue, QueueName, Reason
from ...models.quantity import show
from .faults import Ledger
from .queue_drafts import VOLCANO_ROOT, QueueDraft
from .queue_names import DEFAULT

_DECLARING = ("Queue", "ClusterQueue", "Cohort", "ElasticQuota")
_FAR_APART = 1_000_000
_FINEST_WEIGHT = 1000


def queues_of(drafts: Iterable[QueueDraft], ledger: Ledger) -> list[Queue]:
    """Return the queues, ``default`` among them; of two with one name the first one counts."""
    by_name: dict[str, QueueDraft] = {}
    for d in drafts:
        first = by_name.setdefault(d.name, d)
        if first is not d:
            ledger.warn(
                d.title,
                "metadata.name",
                f"{first.title}{_of(first)}, read before, has the same name and counts, not "
                f"that{_of(d)}",
            )
    by_name.setdefault(DEFAULT, QueueDraft(DEFAULT, f"Queue {DEFAULT}"))
    for d in by_name.values():
        if d.parent == VOLCANO_ROOT and VOLCANO_ROOT not in by_name:
            d.parent = ""
    _check_units(by_name.values(), ledger)
    scale = _weight_scale(by_name.values())
    cycles = _cycles(by_name)
    return [
        _queue(d, by_name, cycles.get(d.name), scale, ledger) for _, d in sorted(by_name.items())
    ]


def _of(d: QueueDraft) -> str:
    return f" of {d.api}" if d.api else ""


def _queue(
    d: QueueDraft,
    by_name: dict[str, QueueDraft],
    cycle: list[str] | None,
    scale: int,
    ledger: Ledger,
) -> Queue:
    hold: tuple[Reason, ...] = ()
    parent = QueueName(d.parent) if d.parent else None
    about = f"queue {d.name}"
    if cycle is not None:
        way = " -> ".join(cycle)
        hold = (
            Reason(
                "queue",
                about,
                f"{about} is its own ancestor: {way}; give one of them another parent",
            ),
        )
        parent = None
    elif d.parent and d.parent not in by_name:
        refused = any(ledger.refused(f"{kind} {d.parent}") for kind in _DECLARING)
        said = "was rejected; correct it" if refused else "does not exist; create it"
        message = f"{about}: parent {d.parent} {said}, or name another"
        hold = (Reason("queue", about, message),)
        parent = None
    return Queue(
        name=QueueName(d.name),
        parent=parent,
        weight=_scaled(d, scale),
        priority=d.priority,
        capability=dict(sorted(d.capability.items())),
        deserved=dict(sorted(d.deserved.items())),
        guarantee=Amounts(d.guarantee),
        reclaimable=d.reclaimable,
        preempts=d.preempts,
        reclaims=d.reclaims,
        preempt_min_runtime_s=d.preempt_min_runtime_s,
        reclaim_min_runtime_s=d.reclaim_min_runtime_s,
        state=d.state,
        namespaces=d.namespaces,
        created_s=d.created_s,
        hold=hold,
    )


def _cycles(by_name: dict[str, QueueDraft]) -> dict[str, list[str]]:
    """Return the way round for each queue that is its own ancestor."""
    out: dict[str, list[str]] = {}
    done: set[str] = set()
    for start in sorted(by_name):
        way: list[str] = []
        name = start
        while name in by_name and name not in done and name not in way:
            way.append(name)
            name = by_name[name].parent
        if name in way:
            ring = way[way.index(name) :]
            for i, member in enumerate(ring):
                out[member] = [*ring[i:], *ring[:i], member]
        done.update(way)
    return out


def _weight_scale(drafts: Iterable[QueueDraft]) -> int:
    """Return what all weights are multiplied by to be whole; 1 where they are."""
    denominators = [d.weight.denominator for d in drafts]
    return min(math.lcm(*denominators), _FINEST_WEIGHT)


def _scaled(d: QueueDraft, scale: int) -> int:
    """Return the whole weight; a positive one never becomes 0."""
    scaled = round(d.weight * scale)
    return max(scaled, 1) if d.weight > 0 else scaled


def _check_units(drafts: Iterable[QueueDraft], ledger: Ledger) -> None:
    """Warn of the smallest amount of a resource where the largest is a million times more."""
    found: dict[str, list[tuple[int, str, str, QueueDraft]]] = {}
    for d in drafts:
        for part, given in (("deserved", d.deserved), ("capability", d.capability)):
            for resource, amount in given.items():
                if 0 < amount < UNLIMITED:
                    found.setdefault(resource, []).append((amount, d.name, part, d))
    for resource, values in found.items():
        least = min(values, key=lambda v: v[:3])
        most = max(values, key=lambda v: v[:3])
        if most[0] > _FAR_APART * least[0]:
            ledger.warn(
                least[3].title,
                least[3].path_of(least[2], resource),
                f"{resource} is {show(least[0], resource)} here, but {show(most[0], resource)} in "
                f"queue {most[1]}: over a million times more; check the unit",
            )
