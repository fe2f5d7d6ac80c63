"""Rivals: what would have to give way to a held group, and why by the order list it does not."""

from collections.abc import Sequence
from fractions import Fraction

from ...models import Group, GroupKey, QueueName
from ...models.end import span
from ...models.value import Value
from ...policies.exchange import exchange
from ...policies.givers import Giver, starters, takeable
from ...policies.levels import Tier
from ...policies.members import Members, Standing
from ...policies.objection import Patience
from ...policies.outcome import Outcome
from ...policies.places import places_of
from ...policies.smallest import smallest
from ...policies.standing import standing_of
from .fewest import fewest
from .giving import Giving
from .obstacles import obstacles_of, why_it_runs_on

TRIALS = 400
ROOM = (
    "nobody: there is room for it, and no rule keeps it from starting; the time for this plan was "
    "over before that was found, and a coming one can start it"
)
FEW = 12
"""Pools of up to so many are gone through one by one."""
Claim = str
"""Why something does not give way, in a word.

Of what starts: repair, priority, later, age, shape, entitled, share, due, cost; of what runs:
fixed, polite, priority, settings, kept, own, within, budget.
"""


class Rival(Value, frozen=True, omit_defaults=False):
    """One thing that would have to give way, and its better claim."""

    group: GroupKey
    queue: str
    way: str
    """starting, starting elastic, running or running elastic"""
    pods: int
    claim: Claim
    why: str


class Order(Value, frozen=True, omit_defaults=False):
    """Why a group that could run alone waits."""

    tier: Tier
    """Where its work belongs: repair, entitled or surplus."""
    rivals: tuple[Rival, ...] = ()
    """A smallest set that would have to give way."""
    says: str = ""
    complete: bool = True
    """False where the search for rivals was cut short."""
    room: bool = False
    """Nobody stands before it: the plan was cut short, and could start it as well."""


def order_of(outcome: Outcome, key: GroupKey) -> Order:
    """Say who stands before a group that could run, in this plan."""
    scene = outcome.scene
    g = scene.snapshot.group(key)
    patience = Patience(TRIALS)
    idle = exchange(outcome, key, ())
    if idle is not None:
        return Order(_tier(idle, key), says=ROOM, room=True)
    new = _ranked(outcome, [s for s in starters(outcome) if s.group != key])
    for running in (False, True):
        pool = [*new, *_ranked(outcome, takeable(outcome, key))] if running else new
        found = smallest(outcome, key, _near(outcome, key, pool), patience) if pool else None
        if found is not None and found[0]:
            givers, after = found
            rivals = tuple(_rival(outcome, after, g, s) for s in givers)
            names = ", ".join(map(str, givers[:4])) + (", ..." if len(givers) > 4 else "")
            return Order(
                _tier(after, key), rivals,
                f"it would start in place of {names}; that does not give way",
            )  # fmt: skip
    stuck = obstacles_of(outcome, key)
    says = (
        "nothing that starts, and nothing that it may evict, could give it the room it needs"
        if stuck else "room alone is not what it lacks: no exchange leads to a plan that holds"
    )  # fmt: skip
    rivals = tuple(_obstacle(outcome, key, m) for m in stuck)
    return Order(_tier_alone(outcome, key), rivals, says, not patience.is_over)


def _near(outcome: Outcome, key: GroupKey, pool: Sequence[Giver]) -> Sequence[Giver]:
    """Return a small part of a large pool in whose stead the group would start, if there is one."""
    whole = [s for s in pool if "elastic" not in s.way]
    if len(pool) <= FEW:
        return pool
    giving = Giving(outcome, key)
    if not giving.suffices(whole):
        return pool

    def does(some: Sequence[Giver]) -> bool:
        return giving.suffices(some) and exchange(outcome, key, some) is not None

    least = fewest(whole, giving.suffices)
    if not least or exchange(outcome, key, least) is None:
        if not does(whole):
            return pool
        least = fewest(whole, lambda some: bool(some) and does(some))
    groups = {s.group for s in least}
    return [s for s in pool if s.group in groups]


def _obstacle(outcome: Outcome, key: GroupKey, m: Members) -> Rival:
    """Say of a group that stands in the way why it stays."""
    scene, kept = outcome.scene, outcome.kept(m.key)
    if m.key in outcome.started and (not kept or m.standing is Standing.BROKEN):
        pods = outcome.started[m.key]
        giver = Giver("starting", m.key, pods)
        start = {p.key: scene.nodes[0].name for p in scene.roster[key].pending[:1]}
        after = Outcome(scene, {**outcome.places, **start}, outcome.evicted, bound=())
        claim, why = _claim(outcome, after, scene.snapshot.group(key), giver)
        return Rival(m.key, m.group.queue, "starting", len(pods), claim, why)
    claim, why = why_it_runs_on(outcome, scene.roster[key], m)
    return Rival(m.key, m.group.queue, "running", len(kept), claim, why)


def _tier_alone(outcome: Outcome, key: GroupKey) -> Tier:
    """Say where the group's work would belong if it started beside the plan."""
    scene, m = outcome.scene, outcome.scene.roster[key]
    start = {p.key: scene.nodes[0].name for p in (m.first or m.pending[:1])}
    return _tier(Outcome(scene, {**outcome.places, **start}, outcome.evicted, bound=()), key)


def _tier(after: Outcome, key: GroupKey) -> Tier:
    if after.scene.roster[key].standing is Standing.BROKEN:
        return "repair"
    return "entitled" if _is_in(after, key) else "surplus"


def _is_in(after: Outcome, key: GroupKey) -> bool:
    places = places_of(standing_of(after.scene), after)
    return all(places.of_pod(p.key).is_in for p in after.started[key])


def _ranked(outcome: Outcome, pool: Sequence[Giver]) -> list[Giver]:
    """Order a pool: low priority first, then elastic members, then the youngest."""
    group = outcome.scene.snapshot.group
    return sorted(
        pool,
        key=lambda s: (
            group(s.group).priority, "elastic" not in s.way, not s.starts,
            -group(s.group).created_s, s.group, s.pods[0].key,
        ),
    )  # fmt: skip


def _rival(before: Outcome, after: Outcome, g: Group, s: Giver) -> Rival:
    claim, why = _claim(before, after, g, s)
    h = before.scene.snapshot.group(s.group)
    return Rival(s.group, h.queue, s.way, len(s.pods), claim, why)


def _claim(before: Outcome, after: Outcome, g: Group, s: Giver) -> tuple[Claim, str]:
    """Say which part of the contract (docs/design/order.md, section 5) keeps it in its place."""
    scene = before.scene
    h = scene.snapshot.group(s.group)
    if s.starts and scene.roster[s.group].standing is Standing.BROKEN:
        return "repair", "completes a broken gang, which comes before everything else"
    theirs = max([h.priority, *(p.priority for p in s.pods)]) if not s.starts else h.priority
    if h.queue == g.queue:
        if theirs > g.priority:
            return "priority", f"has priority {theirs} in the same queue, against {g.priority}"
        if theirs < g.priority:
            return "later", (
                f"has priority {theirs} only, against {g.priority}, but it would not suffice alone"
            )
        if h.created_s <= g.created_s:
            older = span(g.created_s - h.created_s)
            return "age", f"has the same priority and is older by {older}"
        return "shape", (
            "has the same priority; age decides only between groups of equal members, and more "
            "work starts this way"
        )
    mine, other = scene.tree.apart(g.queue, h.queue)
    branch = other[-1] if other else h.queue
    placing = places_of(standing_of(scene), before).of_pod(s.judged.key)
    if s.starts and not placing.is_out_at(branch):
        return "entitled", f"is inside what queue {branch} is entitled to"
    if not _is_in(after, g.key):
        ours = mine[-1] if mine else g.queue
        a, b = _share(before, ours), _share(after, branch)
        if s.starts:
            return "share", (
                f"is beyond what queue {branch} is entitled to, and so is this group; with it, "
                f"queue {branch} would have {_percent(b)} of the cluster by weight, queue {ours} "
                f"has {_percent(a)} without it"
            )
        return "due", (
            f"runs; queue {ours} would be beyond its own entitlement with this group, so it may "
            "take nothing of others by it"
        )
    return (
        "cost",
        f"may be evicted, but not for this group in the plan that is left (queue {branch})",
    )


def _share(outcome: Outcome, queue: QueueName) -> Fraction:
    scene = outcome.scene
    share = standing_of(scene).share([int(v) for v in outcome.use_after[queue]])
    return share / max(1, scene.tree.queues[queue].weight)


def _percent(part: Fraction) -> str:
    return f"{float(100 * part):.1f} %"
