"""Raises: amounts of queues that would have to be larger for a group to stay within them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import gcd

from ...models import Pod, QueueName
from ...models.edits import SetQueue
from ...policies.limits import limits_of
from ...policies.members import Members
from ...policies.outcome import Outcome
from ...policies.quota import non_preemptible_use
from ...policies.scene import Scene

MOST_AMOUNTS = 10
"""So many sums of requests are tried for one amount."""


@dataclass(frozen=True, slots=True)
class Raises:
    """Limits and dues of a group's queue path that it exceeds beside a plan."""

    needed: tuple[SetQueue, ...]
    """What each would have to be for the group to have room beside the plan."""
    asked: Mapping[str, int]
    """What the group asks for, by resource."""

    def times(self, n: int) -> list[SetQueue]:
        """Return the amounts with room for n times what the group asks for."""
        return [
            SetQueue(e.queue, e.setting, e.resource, e.amount + (n - 1) * self.asked[e.resource])
            for e in self.needed
            if e.amount is not None
        ]


def raises_of(outcome: Outcome, m: Members, wanted: Sequence[Pod]) -> Raises:
    """Return what would have to be raised for the pods that the group wants next."""
    scene, g = outcome.scene, m.group
    limits, ask = limits_of(scene), scene.rows(wanted)
    out: list[SetQueue] = []
    for q in scene.tree.path(g.queue):
        for r, name in enumerate(scene.ledger.resources):
            most, need = limits.limit[q][r], int(ask[r])
            use = int(outcome.use_after[q][r])
            named = scene.tree.queues[q].capability.get(name)
            if need and most is not None and named is not None and use + need > most:
                out.append(SetQueue(q, "limit", name, use + need))
            due = limits.due_named(q).get(r) if not g.preemptable else None
            fixed = non_preemptible_use(scene)[q][r]
            if need and due is not None and fixed + need > due:
                out.append(SetQueue(q, "due", name, fixed + need))
    asked = {name: int(v) for name, v in zip(scene.ledger.resources, ask, strict=True)}
    return Raises(tuple(out), asked)


def less_than(scene: Scene, edits: Sequence[SetQueue], any_: bool) -> list[list[SetQueue]]:
    """Return what is less: one of the edits left out, or one amount lower.

    ``any_``: by all that could make a difference, the least first; else by a unit.
    """
    out = [[*edits[:k], *edits[k + 1 :]] for k in range(len(edits)) if len(edits) > 1]
    for k, e in enumerate(edits):
        amount = e.amount or 0
        lower = _amounts(scene, e, amount) if any_ else []
        for n in (*lower, amount - 1):
            changed = SetQueue(e.queue, e.setting, e.resource, n)
            out.append([*edits[:k], changed, *edits[k + 1 :]])
    return out


def _amounts(scene: Scene, e: SetQueue, below: int) -> list[int]:
    """Return sums of what pods ask for, and what is just above, from the amount now upwards."""
    step = gcd(*(p.spec.requests.get(e.resource, 0) for p in scene.snapshot.pods)) or 1
    queue = scene.tree.queues[QueueName(e.queue)]
    now = (queue.deserved if e.setting == "due" else queue.capability).get(e.resource, 0)
    sums = range(now - now % step, below, max(step, (below - now) // MOST_AMOUNTS))
    return sorted({n for s in (now, *sums) for n in (s, s + 1) if now < n < below - 1})
