"""Verify any plan: its structure, every rule, what it says of itself, and the order list."""

from collections import Counter
from collections.abc import Iterable

from ..models import (
    Config,
    Group,
    Plan,
    PodState,
    QueueName,
    QueueRow,
    Snapshot,
    TierRow,
    Violation,
)
from ..models.amounts import total
from ..models.devices import WHOLE_GPU
from ..policies.admission import check_admissions, could_enter
from ..policies.goals import goals_for
from ..policies.legality import verify
from ..policies.objection import ITEMS
from ..policies.order import objections
from ..policies.outcome import Outcome
from ..policies.registry import rules_for
from ..policies.scene import Scene
from .move_check import in_motion, moves_wrong
from .plan_file import GivenPlan, given

STRUCTURE, OBJECTIVE, QUEUES, ORDER = "plan", "objective", "queues", "order"
WORK = ("repair", "entitled", "surplus")
"""Tiers that only the engine can measure: their levels are not in the plan."""

_NO_SHARE = frozenset(("pods", WHOLE_GPU))
"""What queues have no share of."""


def scene_of(snapshot: Snapshot, config: Config) -> Scene:
    """Return the scene that plans of the snapshot are judged in."""
    return Scene(snapshot, config, rules_for(config))


def violations_of(plan: GivenPlan | Plan, scene: Scene) -> list[Violation]:
    """Return everything that is wrong with the plan, its structure first."""
    whole = plan if isinstance(plan, GivenPlan) else given(plan)
    digests, moves = _digests(whole, scene), moves_wrong(whole.plan, scene)
    one, scene = in_motion(whole, scene)
    outcome = _outcome(one, scene)
    found = [
        *digests,
        *moves,
        *_pods(one.plan, scene),
        *_held(one, scene),
        *_admissions(one, scene, outcome),
        *verify(outcome),
        *_objective(one.plan, outcome),
        *_queues(one.plan, outcome),
    ]
    return list(dict.fromkeys(found))


def order_violations(plan: GivenPlan, scene: Scene) -> Iterable[Violation]:
    """Yield what the order list (docs/design/order.md) objects to."""
    plan, scene = in_motion(plan, scene)
    outcome = _outcome(plan, scene)
    for g in could_enter(outcome, _let_in(plan.plan, scene)):
        yield Violation(ORDER, f"group {g.key}", "could be let in beside the plan and is not")
    for o in objections(outcome):
        who = ", ".join(map(str, o.gives_way)) or "nobody"
        if o.item == 8:
            said = "is evicted though everything that starts could start without that"
        elif o.item == 7:
            said = "fits beside the plan and is not started"
        else:
            said = f"has the better claim; should give way: {who}"
        yield Violation(ORDER, f"group {o.group}", f"item {o.item} ({ITEMS[o.item]}): {said}")


def _outcome(one: GivenPlan, scene: Scene) -> Outcome:
    """Return the outcome of what is known of the plan; what is not is said by the structure."""
    plan = one.plan
    pods, nodes = scene.pods, scene.index
    may = {k for k, p in pods.items() if p.ours and p.state is PodState.PENDING}
    places = {k: n for k, n in plan.places.items() if k in may and n in nodes}
    return Outcome(
        scene,
        places,
        {e.pod for e in plan.evictions if e.pod in pods},
        {b.pod for b in plan.binds if b.pod in places},
        {e.pod: e.beneficiaries for e in plan.evictions} if one.names_beneficiaries else None,
        {k: at for k, at in plan.devices.items() if k in places},
    )


def _wrong(about: str, message: str, rule: str = STRUCTURE) -> Violation:
    return Violation(rule, about, message)


# What the plan is made of


def _digests(one: GivenPlan, scene: Scene) -> Iterable[Violation]:
    plan = one.plan
    if one.digest is not None and one.digest != plan.digest:
        yield _wrong("digest", f"does not match the content, which has {plan.digest}")
    if plan.snapshot and plan.snapshot != scene.snapshot.digest:
        yield _wrong(
            "snapshot",
            f"the plan was made for {_short(plan.snapshot)}, the input is "
            f"{_short(scene.snapshot.digest)}",
        )


def _short(digest: str) -> str:
    return digest[:19]


def _pods(plan: Plan, scene: Scene) -> Iterable[Violation]:
    starts = [("bound", x) for x in plan.binds] + [("nominated", x) for x in plan.nominations]
    ways: dict[str, list[str]] = {}
    for way, x in starts:
        about = f"pod {x.pod}"
        ways.setdefault(x.pod, []).append(way)
        pod = scene.pods.get(x.pod)
        if pod is None:
            yield _wrong(about, f"is {way}, but is not in the input")
        elif pod.group is None:
            yield _wrong(about, f"is {way}, but belongs to scheduler {pod.scheduler or 'unknown'}")
        elif pod.state is not PodState.PENDING:
            yield _wrong(about, f"is {way}, but is {pod.state}, not pending")
        elif pod.group != x.group:
            yield _wrong(about, f"is a member of group {pod.group}, not of {x.group or 'none'}")
        if x.node not in scene.index:
            yield _wrong(about, f"is {way} to node {x.node}, which is not in the input")
    gone = Counter(e.pod for e in plan.evictions)
    for key, how in ways.items():
        if len(set(how)) > 1:
            yield _wrong(f"pod {key}", "is bound and nominated at once")
        elif len(how) > 1:
            yield _wrong(f"pod {key}", f"is {how[0]} {len(how)} times")
        if gone[key]:  # type: ignore[index]  # a pod's key is text
            yield _wrong(f"pod {key}", f"is {how[0]} and evicted at once")
    for key, n in gone.items():
        if n > 1:
            yield _wrong(f"pod {key}", f"is evicted {n} times")
    for e in plan.evictions:
        pod = scene.pods.get(e.pod)
        if pod is None:
            yield _wrong(f"pod {e.pod}", "is evicted, but is not in the input")
        elif pod.group is None:
            yield _wrong(f"pod {e.pod}", f"is evicted, but belongs to scheduler {pod.scheduler}")
        elif pod.group != e.group:
            yield _wrong(f"pod {e.pod}", f"is a member of group {pod.group}, not of {e.group}")
        elif pod.node is not None and pod.node != e.node:
            yield _wrong(f"pod {e.pod}", f"runs on node {pod.node}, not on {e.node or 'none'}")


def _held(one: GivenPlan, scene: Scene) -> Iterable[Violation]:
    plan, places = one.plan, one.plan.places
    starts = {scene.pods[k].group for k in places if k in scene.pods}
    listed: Counter[str] = Counter()
    for h in plan.held:
        about = f"group {h.group}"
        listed[h.group] += 1
        if h.group not in scene.snapshot.groups_by_key:
            yield _wrong(about, "is held, but is not in the input")
            continue
        both = sorted(k for k in h.pods if k in places)
        if both or (not h.pods and h.group in starts):
            yield _wrong(about, f"is held, but {', '.join(both[:3]) or 'it'} starts")
        strange = [k for k in h.pods if k not in scene.pods or scene.pods[k].group != h.group]
        if strange:
            yield _wrong(about, f"is held with {strange[0]}, which is no member of it")
    for group, n in listed.items():
        if n > 1:
            yield _wrong(f"group {group}", f"is listed {n} times under held")
    if "held" not in one.has:
        return
    for key, pods in scene.snapshot.pods_by_group.items():
        waits = [p for p in pods if p.state is PodState.PENDING and p.key not in places]
        if waits and not listed[key]:
            yield _wrong(f"group {key}", f"waits with {len(waits)} pods and is not under held")


def _admissions(one: GivenPlan, scene: Scene, outcome: Outcome) -> Iterable[Violation]:
    groups = scene.snapshot.groups_by_key
    listed = Counter(a.group for a in one.plan.admissions)
    held = {h.group for h in one.plan.held}
    for a in one.plan.admissions:
        about, group = f"group {a.group}", groups.get(a.group)
        if group is None:
            yield _wrong(about, "is let in, but is not in the input")
        elif not group.asks_admission:
            yield _wrong(about, "is let in, but does not ask to be")
        elif a.reserved != group.min_resources:
            yield _wrong(about, "is let in with another amount than it asks for")
        if listed[a.group] > 1:
            yield _wrong(about, f"is let in {listed[a.group]} times")
        if a.group in held:
            yield _wrong(about, "is let in and held at once")
    for group in scene.snapshot.groups:
        neither = not listed[group.key] and group.key not in held
        if group.asks_admission and neither and "held" in one.has:
            yield _wrong(f"group {group.key}", "asks to be let in, and is not under held")
    yield from check_admissions(outcome, _let_in(one.plan, scene))


def _let_in(plan: Plan, scene: Scene) -> list[Group]:
    groups = scene.snapshot.groups_by_key
    named = (groups[k] for k in sorted({a.group for a in plan.admissions}) if k in groups)
    return [g for g in named if g.asks_admission]


# What the plan says of itself


def _objective(plan: Plan, outcome: Outcome) -> Iterable[Violation]:
    scene = outcome.scene
    goals = {g.name: g for g in goals_for(scene.config, scene.rules)}
    seen: Counter[str] = Counter(row.name for row in plan.objective)
    for row in plan.objective:
        about = f"tier {row.name}"
        goal = goals.get(row.name)
        if goal is None:
            yield _wrong(about, "is no tier of this configuration", OBJECTIVE)
            continue
        if seen[row.name] > 1:
            yield _wrong(about, f"stands {seen[row.name]} times", OBJECTIVE)
        if goal.sense != row.sense:
            yield _wrong(about, f"is a {goal.sense}, not a {row.sense}", OBJECTIVE)
        if row.name not in WORK:
            value = goal.measure(outcome)
            if value != row.value:
                yield _wrong(about, f"says {row.value}, measured {value}", OBJECTIVE)
        yield from _bound(row, about)
    yield from _worst_gap(plan)


def _bound(row: TierRow, about: str) -> Iterable[Violation]:
    if row.bound is None:
        if row.gap is not None:
            yield _wrong(about, f"has a gap of {row.gap} and no bound", OBJECTIVE)
        return
    beyond = row.value > row.bound if row.sense == "max" else row.value < row.bound
    if beyond:
        yield _wrong(about, f"value {row.value} is better than the bound {row.bound}", OBJECTIVE)
    gap = round(abs(row.value - row.bound) / max(1, abs(row.bound)), 6)
    if row.gap is None or abs(gap - row.gap) > 2e-6:
        yield _wrong(about, f"says a gap of {row.gap}, computed {gap}", OBJECTIVE)


def _worst_gap(plan: Plan) -> Iterable[Violation]:
    rows = [t for t in plan.objective if t.name in WORK]
    if len(rows) < len(WORK) or plan.solver.gap is None:
        return
    gaps = [t.gap for t in rows]
    if None in gaps or abs(max(g for g in gaps if g is not None) - plan.solver.gap) > 2e-6:
        yield _wrong("solver.gap", f"says {plan.solver.gap}, the tiers say {gaps}", OBJECTIVE)


def _queues(plan: Plan, outcome: Outcome) -> Iterable[Violation]:
    scene = outcome.scene
    queues = scene.tree.queues
    seen = Counter(row.name for row in plan.queues)
    for name in sorted(set(queues) - set(seen)) if plan.queues else ():
        yield _wrong(f"queue {name}", "is not listed", QUEUES)
    for row in plan.queues:
        about = f"queue {row.name}"
        if row.name not in queues:
            yield _wrong(about, "is not in the input", QUEUES)
            continue
        if seen[row.name] > 1:
            yield _wrong(about, f"stands {seen[row.name]} times", QUEUES)
        yield from _queue(row, outcome, about)


def _queue(row: QueueRow, outcome: Outcome, about: str) -> Iterable[Violation]:
    scene = outcome.scene
    queue = scene.tree.queues[QueueName(row.name)]
    use = scene.ledger.amounts([int(v) for v in outcome.use_after[queue.name]])
    for r in sorted({*use, *row.allocated} - _NO_SHARE):
        if use[r] != row.allocated[r]:
            yield _wrong(about, f"says {row.allocated[r]} of {r}, adds up to {use[r]}", QUEUES)
    if dict(queue.deserved) != dict(row.deserved):
        yield _wrong(about, "says another deserved than the queue has", QUEUES)
    if queue.parent != row.parent:
        yield _wrong(about, f"says parent {row.parent}, it is {queue.parent}", QUEUES)
    share = _share(use, scene)
    if share is not None and abs(share - row.dominant_share) > 2e-6:
        yield _wrong(
            about, f"says a dominant share of {row.dominant_share}, computed {share:.6f}", QUEUES
        )


def _share(use: "dict[str, int] | object", scene: Scene) -> float | None:
    """Return the largest part of a resource that the use is; None where pod slots count too."""
    from ..models import Amounts

    assert isinstance(use, Amounts)
    snapshot, ledger = scene.snapshot, scene.ledger
    if any("pods" in q.deserved or "pods" in q.capability for q in snapshot.queues):
        return None
    there = total(n.allocatable for n in snapshot.nodes if n.takes_pods)
    left_out = {ledger.resources[r] for r in ledger.uncounted}
    parts = [v / there[r] if there[r] else 1.0 for r, v in use.items() if r not in left_out]
    return max(parts, default=0.0)
