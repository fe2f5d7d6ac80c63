"""Obstacles: what has the room of a held group where no exchange would be legal, and why.

Rights aside, a smallest set of groups that start or run without which the group would have its
room, on nodes and in its queues.
"""

from collections.abc import Sequence

from ...models import GroupKey, Pod, QueueName, Reclaims
from ...policies.budget_overlap import unevictable
from ...policies.evictable import evictable, victim_priority
from ...policies.fitting import Field
from ...policies.limits import limits_of
from ...policies.members import Members, Standing
from ...policies.min_runtime import goes_too_soon, min_runtime_s
from ...policies.outcome import Outcome
from ...policies.quota import non_preemptible_use
from ...policies.rights import asks_of, cross_branches, limit_of, rights_of
from ...policies.scene import Scene
from ...policies.standing import MEASURES, standing_of
from .fewest import fewest

Story = tuple[str, str]
"""The claim in a word, and in a sentence."""


def obstacles_of(outcome: Outcome, key: GroupKey) -> list[Members]:
    """Return a smallest set of groups that stand in the way; () where room is not what is missing.

    Those with the weakest claim are named rather than those with a strong one.
    """
    scene = outcome.scene
    g = scene.roster[key]
    others = [
        m for m in scene.roster.values()
        if m.key != key and (outcome.kept(m.key) or m.key in outcome.started)
    ]  # fmt: skip
    others.sort(key=lambda m: _strength(outcome, g, m))
    if not _has_room(outcome, g, others):
        return []
    return fewest(others, lambda some: _has_room(outcome, g, some))


def _strength(outcome: Outcome, g: Members, m: Members) -> tuple[object, ...]:
    scene = outcome.scene
    fixed = any(not evictable(scene, p) for p in outcome.kept(m.key))
    repairs = m.standing is Standing.BROKEN and m.key in outcome.started
    own = m.group.queue == g.group.queue
    return (repairs, fixed, not own, victim_priority(m), len(m.running), -m.group.created_s, m.key)


def _has_room(outcome: Outcome, g: Members, without: Sequence[Members]) -> bool:
    """Say whether the group has its room on nodes and in queues, were these gone."""
    scene = outcome.scene
    gone = {p.key for m in without for p in m.running}
    away = {m.key for m in without}
    places = {k: n for k, n in outcome.places.items() if scene.pods[k].group not in away}
    # What runs of the group itself stays, even where the plan gives it up.
    evicted = (outcome.evicted | gone) - {p.key for p in g.running}
    left = Outcome(scene, places, evicted, bound=())
    wanted = wanted_of(outcome, g)
    ask = scene.rows(wanted)
    limits = limits_of(scene)
    for q in scene.tree.path(g.group.queue):
        for r, most in enumerate(limits.limit[q]):
            if most is not None and ask[r] and int(left.use_after[q][r]) + int(ask[r]) > most:
                return False
        for r, due in limits.due_named(q).items() if not g.group.preemptable else ():
            fixed = _fixed_use(scene, q, r, away)
            if ask[r] and fixed + int(ask[r]) > due:
                return False
    world = scene.world(left.evicted)
    world.present.extend(left.new_pods)
    return Field(scene, left.room, world).place(wanted).places is not None


def wanted_of(outcome: Outcome, g: Members) -> list[Pod]:
    """Return what the group wants next: the rest of its minimum, or one member more."""
    waits = [p for p in g.pending if p.key not in outcome.places]
    first = {p.key for p in g.first}
    return [p for p in waits if p.key in first] or waits[:1]


def _fixed_use(scene: Scene, queue: QueueName, column: int, away: set[GroupKey]) -> int:
    less = sum(
        int(scene.row(p)[column])
        for k in away
        if not scene.roster[k].group.preemptable
        and queue in scene.tree.path(scene.roster[k].group.queue)
        for p in scene.roster[k].running
    )
    return int(non_preemptible_use(scene)[queue][column]) - less


def why_it_runs_on(outcome: Outcome, g: Members, m: Members) -> Story:
    """Say why a running group does not make room (docs/design/order.md, section 4)."""
    scene = outcome.scene
    fixed = [p for p in outcome.kept(m.key) if not evictable(scene, p)]
    if fixed:
        p = fixed[0]
        return "fixed", (
            "may not be preempted" if not m.group.preemptable
            else f"pod {p.key} is critical" if p.critical
            else f"pod {p.key} may not be preempted" if not p.preemptable
            else f"pod {p.key} is under several budgets, so no eviction of it is granted"
            if p.key in unevictable(scene)
            else f"pod {p.key} is cooling down"
        )  # fmt: skip
    if not g.group.may_preempt:
        return "polite", "runs, and this group may not preempt"
    theirs, ours = victim_priority(m), g.group.priority
    mine = scene.tree.queues.get(g.group.queue)
    if m.group.queue == g.group.queue:
        if mine is not None and not mine.preempts:
            return (
                "settings",
                f"runs in the same queue, and {mine.name} lets nobody evict inside it",
            )
        if theirs >= ours:
            return "priority", f"runs with priority {theirs} in the same queue, against {ours}"
        return _too_soon(outcome, g, m) or ("budget", (
            "runs with lower priority, but the rules bear no eviction that would suffice"
        ))  # fmt: skip
    queues = scene.tree.queues
    if scene.config.evictions != "all":
        return "settings", "runs, and the settings let nobody evict across queues"
    if mine is not None and mine.reclaims is Reclaims.NEVER:
        return "settings", f"runs, and queue {mine.name} lets nobody evict across queues"
    limit = limit_of(scene, g.group.queue, m.group.queue, ours)
    if limit is not None and theirs >= limit:
        return "priority", f"runs with priority {theirs} in another queue, against {ours}"
    _, other = scene.tree.apart(g.group.queue, m.group.queue)
    closed = [q for q in other if not queues[q].reclaimable]
    if closed:
        return "kept", f"runs in queue {closed[0]}, which is not reclaimable"
    start = {p.key: scene.nodes[0].name for p in (g.first or g.pending[:1])}
    best = Outcome(scene, {**outcome.places, **start}, outcome.evicted, bound=())
    if rights_of(best).may(g.key, m.key, outcome.kept(m.key)):
        return "budget", "may be evicted, but the rules bear no eviction that would suffice"
    if (soon := _too_soon(outcome, g, m)) is not None:
        return soon
    return _within(best, g, m, other[-1] if other else m.group.queue)


def _too_soon(outcome: Outcome, g: Members, m: Members) -> Story | None:
    """Say so where the group has yet to run for as long as its queues let it."""
    scene, queue = outcome.scene, g.group.queue
    if not goes_too_soon(scene, queue, m, len(outcome.kept(m.key))):
        return None
    runtime_s = min_runtime_s(scene, queue, m.group.queue)
    return "runtime", f"runs for less than the {runtime_s} s that its queues give it"


def _within(best: Outcome, g: Members, m: Members, branch: QueueName) -> Story:
    """Say which of the two queues is within what it may claim, and which is not."""
    scene, asks = best.scene, asks_of(best.scene, g)
    beyond: list[QueueName] = []
    ways = 0
    for measure in MEASURES:
        parted = cross_branches(scene, g.group.queue, m.group.queue, asks, measure)
        if parted is None:
            continue
        ways += 1
        use, holds = best.use_after, standing_of(scene).holds_within
        over = [q for q in parted.claimant if not holds(measure, use, [q], asks)]
        if not over:
            what = "is due" if measure == "due" else "is entitled to"
            return "within", f"runs in queue {branch}, within what that queue {what}"
        beyond += over
    if not ways:
        return "own", f"runs in queue {branch}, and queue {g.group.queue} is due nothing of it"
    return "due", (
        f"runs in queue {branch}; queue {beyond[-1]} would be beyond its own entitlement with this "
        "group, so it may take nothing of others by it"
    )
