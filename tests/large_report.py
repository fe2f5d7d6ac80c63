"""A report of a large cluster, made in no time: its plan is first fit, with some promises."""

from collections import Counter

from benchmarks.first_fit import first_fit
from benchmarks.large import Large, large

from apportion.adapters.report.page import Report
from apportion.adapters.report.timeline import Moment
from apportion.models import (
    Amounts,
    Bind,
    Config,
    Eviction,
    Held,
    NodeName,
    Nomination,
    Plan,
    PodState,
    QueueRow,
    Reason,
    Settled,
    Snapshot,
    TierRow,
)
from apportion.models.amounts import total

WINNERS, VICTIMS = 6, 12
WHY = "cannot run: 2 of 4 members would fit; 480 of 500 nodes: too little nvidia.com/gpu"


def large_report(nodes: int, waiting: int) -> Report:
    """Return a plan of everything that fits; some groups are promised the places of victims."""
    snapshot = large(Large(nodes=nodes, waiting=waiting))
    places = first_fit(snapshot)
    groups = {p.key: p.group for p in snapshot.pods if p.group is not None}
    binds = tuple(sorted(Bind(p, groups[p], NodeName(n)) for p, n in places.items()))
    left = [p for p in snapshot.pods if p.state is PodState.PENDING and p.key not in places]
    waits = sorted({p.group for p in left if p.group is not None})
    runs = sorted({p.group for p in snapshot.pods if p.holds and p.group is not None})
    winners, victims = waits[:WINNERS], runs[:VICTIMS]
    leaving = [p for g in victims for p in snapshot.pods_by_group[g]]
    evictions = tuple(
        Eviction(
            p.key, groups[p.key], p.node or NodeName(""), tuple(winners[:2]),
            "is beyond what queue team-1 is entitled to", {"lostDeviceSeconds": 3600},
        )
        for p in leaving
    )  # fmt: skip
    coming = [p for p in left if p.group in winners]
    nominations = tuple(
        sorted(
            Nomination(p.key, groups[p.key], of.node or NodeName(""))
            for p, of in zip(coming, leaving, strict=False)
            if p.spec.requests.fits(of.spec.requests)
        )
    )
    held = tuple(
        Held(
            g, tuple(p.key for p in snapshot.pods_by_group[g]),
            (Reason("capacity", g, WHY), Reason("quota", g, "queue team-1 is at its limit")),
        )
        for g in waits[WINNERS:]
    )  # fmt: skip
    tiers = tuple(
        TierRow(i, f"tier {i}", "weighted share", "max", 10**i, 10**i + i, 0.001)
        for i in range(1, 9)
    )
    plan = Plan(
        snapshot="sha256:0", config="sha256:0", binds=binds, evictions=evictions,
        nominations=nominations, held=held, queues=_queues(snapshot), objective=tiers,
        settled=Settled(30, False, {}, ()),
    )  # fmt: skip
    moments = [Moment(k, 3000 + 20 * k, 40, 5, 900 - 20 * k, 20 - k % 20) for k in range(1, 31)]
    return Report(plan, snapshot, Config(), f"{nodes} nodes", moments)


def _queues(snapshot: Snapshot) -> tuple[QueueRow, ...]:
    """Return what runs of each queue, its parents' included."""
    used: dict[str, Amounts] = {}
    queues = snapshot.queues_by_name
    for p in snapshot.pods:
        if p.holds and p.group is not None:
            at = queues.get(snapshot.group(p.group).queue)
            while at is not None:
                used[at.name] = used.get(at.name, Amounts()).plus(p.spec.requests)
                at = queues.get(at.parent) if at.parent is not None else None
    there = total(n.allocatable for n in snapshot.nodes)
    share = Counter({q: max(v / there[r] for r, v in of.items()) for q, of in used.items()})
    return tuple(
        QueueRow(
            q.name, used.get(q.name, Amounts()), dict(q.deserved), used.get(q.name, Amounts()),
            share[q.name], q.parent,
        )
        for q in snapshot.queues
    )  # fmt: skip
