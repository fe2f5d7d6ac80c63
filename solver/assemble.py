"""Assemble the plan: what binds now and what waits, who benefits, who is held and why."""

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ..models import (
    Amounts,
    Bind,
    Eviction,
    GroupKey,
    Held,
    NodeName,
    Nomination,
    Plan,
    Pod,
    PodKey,
    QueueRow,
    Reason,
    TierRow,
)
from ..models.devices import WHOLE_GPU
from ..policies.admission import admit
from ..policies.allocation_use import allocations_of
from ..policies.cost import age_s, lost_work
from ..policies.device_blocks import block_devices
from ..policies.device_places import found_devices
from ..policies.evictable import given_up, victim_priority
from ..policies.geometry import new_geometries
from ..policies.limits import limits_of
from ..policies.numa import turns
from ..policies.outcome import Outcome
from ..policies.scene import Scene
from ..policies.standing import standing_of
from .beneficiaries import Beneficiaries
from .heap import let_go
from .reasons import reasons_for
from .timing import bound_now

if TYPE_CHECKING:
    from .beside import Beside
    from .entry import Answer
    from .rows import TierResult
    from .search import Clock

WORK = ("repair", "entitled", "surplus")
MILLION = 1_000_000


def assemble(scene: Scene, answer: "Answer", clock: "Clock", name: "Beside[str]") -> Plan:
    """Turn an answer into the public plan; ``name``: the digest of the snapshot, or ""."""
    decision = answer.decision
    places = {k: NodeName(scene.nodes[i].name) for k, i in decision.places.items()}
    judged = decision.judged
    outcome = judged if judged is not None else Outcome(scene, places, decision.evicted)
    outcome = outcome.with_bound(places)
    with let_go(outcome):
        return _assembled(outcome, answer, clock, name)


def _assembled(outcome: Outcome, answer: "Answer", clock: "Clock", name: "Beside[str]") -> Plan:
    scene, places = outcome.scene, outcome.places
    found = found_devices(outcome)
    outcome.devices = found.shares
    now = bound_now(outcome)
    groups: Mapping[str, GroupKey] = {p.key: g for g, ps in outcome.started.items() for p in ps}
    blocks = block_devices(outcome, now)
    at = found.shares | found.whole | blocks
    starts = [(k, groups[k], n, at.get(k, ()), k in found.whole) for k, n in places.items()]
    binds = [Bind(*of) for of in starts if of[0] in now]
    nominations = [Nomination(*of) for of in starts if of[0] not in now]
    order = turns(outcome.with_bound(now))
    let_in, refused = admit(outcome)
    proven = answer.solver.order_proven and not scene.cut_short
    evictions, allocations = tuple(_evictions(outcome, now)), tuple(sorted(allocations_of(outcome)))
    held = tuple(_held(outcome, refused, answer.nothing_helps))
    geometries, queues = tuple(new_geometries(outcome)), tuple(_queues(outcome))
    # Bounds come last: they may be worked out meanwhile.
    tiers = tuple(_tier(i + 1, t) for i, t in enumerate(answer.bounded()))
    gaps = [t.gap for t in tiers if t.name in WORK]
    known = [g for g in gaps if g is not None]
    gap = max(known) if len(known) == len(gaps) and known else None
    digest = name.answer()
    wall = None if scene.config.deterministic else round(clock.spent(), 6)
    return Plan(
        snapshot=digest,
        config=scene.config.digest,
        binds=tuple(sorted(binds, key=lambda b: (order.get(b.pod, (0, 0)), b))),
        evictions=evictions,
        nominations=tuple(sorted(nominations)),
        admissions=tuple(let_in),
        allocations=allocations,
        held=held,
        geometries=geometries,
        rejected=scene.snapshot.rejected,
        warnings=(*scene.snapshot.warnings, *limits_of(scene).warnings),
        queues=queues,
        objective=tiers,
        solver=replace(answer.solver, gap=gap, order_proven=proven, wall_seconds=wall),
    )


def _tier(number: int, t: "TierResult") -> TierRow:
    return TierRow(
        number, t.goal.name, t.goal.unit, t.goal.sense, t.value, t.bound, gap_of(t.value, t.bound)
    )


def gap_of(value: int, bound: int | None) -> float | None:
    """Return the distance in parts of the bound, rounded up: 0 only where there is none."""
    if bound is None:
        return None
    return -(-abs(value - bound) * MILLION // max(1, abs(bound))) / MILLION


def _evictions(outcome: Outcome, now: Collection[PodKey]) -> list[Eviction]:
    scene = outcome.scene
    out: list[Eviction] = []
    benefit = Beneficiaries(outcome, now)
    for key, pods in sorted(outcome.losses.items()):
        m = scene.roster[key]
        broken = len(pods) == len(m.running)
        up = given_up(scene, m)
        mine = () if up else benefit.of(key)
        for p in sorted(pods, key=lambda p: p.key):
            node = p.node if p.node is not None else NodeName("")
            out.append(
                Eviction(
                    p.key, key, node, mine, _why(outcome, key, mine, up),
                    {
                        "priority": victim_priority(m), "gangBroken": int(broken),
                        "lostDeviceSeconds": lost_work(scene, p) // 1000,
                        "ageSeconds": age_s(scene, p),
                    },
                )
            )  # fmt: skip
    return out


def _why(outcome: Outcome, key: GroupKey, mine: tuple[GroupKey, ...], up: bool) -> str:
    m = outcome.scene.roster[key]
    if up:
        return f"runs {len(m.running)} of at least {m.need} members and cannot be completed"
    if not mine:
        return ""
    if outcome.scene.snapshot.group(mine[0]).queue == m.group.queue:
        return f"makes room for higher priority in queue {m.group.queue}"
    return f"is beyond what queue {m.group.queue} is entitled to"


def _held(
    outcome: Outcome, refused: Mapping[GroupKey, tuple[Reason, ...]], nothing_helps: bool
) -> list[Held]:
    scene = outcome.scene
    could_run = standing_of(scene).could_run
    of = scene.columns
    proven = nothing_helps and bool((of.running & of.ours).any())
    out: list[Held] = []
    for m in scene.roster.values():
        waiting = [p for p in (*m.pending, *m.gated) if p.key not in outcome.places]
        if waiting and not _only_gated_extra(waiting, outcome, m.key):
            keys = tuple(sorted(p.key for p in waiting))
            reasons = tuple(reasons_for(outcome, m.key))
            # At a full queue the limit says it all.
            full = bool(reasons) and all(r.rule == "quota" for r in reasons)
            if proven and could_run[m.key] and not full:
                reasons = (*reasons, _no_victims(m.key))
            out.append(Held(m.key, keys, reasons))
        elif m.key in refused:
            out.append(Held(m.key, (), refused[m.key]))
    return out


def _no_victims(key: GroupKey) -> Reason:
    return Reason(
        "preemption", f"group {key}",
        "cannot run: proven that no set of running pods that may be evicted makes room for it",
    )  # fmt: skip


def _only_gated_extra(waiting: Collection[Pod], outcome: Outcome, key: GroupKey) -> bool:
    """Gated elastic members of a group that starts whole are no news."""
    return all(p.state == "gated" for p in waiting) and outcome.scene.roster[key].is_whole(
        outcome.after(key)
    )


def _queues(outcome: Outcome) -> list[QueueRow]:
    scene = outcome.scene
    table = standing_of(scene)
    ledger = scene.ledger
    rows = []
    for q in sorted(scene.tree.queues):
        name = scene.tree.queues[q].name
        use = outcome.use_after[name]
        allocated = ledger.amounts([int(v) for v in use])
        e = [int(table.entitlement[name].get(r, 0)) for r in range(len(ledger.resources))]
        share = table.share([int(v) for v in use])
        rows.append(
            QueueRow(
                name,
                Amounts({r: v for r, v in allocated.items() if r not in ("pods", WHOLE_GPU)}),
                dict(scene.tree.queues[q].deserved),
                ledger.amounts(e),
                round(float(share), 6),
                scene.tree.queues[q].parent,
            )
        )
    return rows
