"""Raises: amounts of queues that would have to be larger for a group to stay within them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import gcd

from ...models import Pod, QueueName
from ...models.edits import Edit, SetQueue
from ...policies.limits import limits_of
from ...policies.members import Members
from ...policies.outcome import Outcome
from ...policies.quota import non_preemptible_use
from ...policies.scene import Scene
from .fewest import last_of
from .numbers import Judge


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


def lowered(edits: Sequence[SetQueue]) -> list[list[Edit]]:
    """Return the edits with one amount a unit less, for each of the amounts."""
    out: list[list[Edit]] = []
    for k, e in enumerate(edits):
        if isinstance(e, SetQueue) and e.amount is not None:
            less = SetQueue(e.queue, e.setting, e.resource, e.amount - 1)
            out.append([*edits[:k], less, *edits[k + 1 :]])
    return out


def lowest(scene: Scene, edits: Sequence[SetQueue], trial: Judge) -> list[SetQueue]:
    """Return amounts that do, each lowered as far as plans bear it out, one after the other.

    Sums of what pods ask for make the difference mostly, so they are tried before single units.
    """
    out = list(edits)
    for k, e in enumerate(edits):
        step = gcd(*(p.spec.requests.get(e.resource, 0) for p in scene.snapshot.pods)) or 1

        def does(amount: int, k: int = k, e: SetQueue = e) -> bool:
            changed = SetQueue(e.queue, e.setting, e.resource, amount)
            return trial.starts([*out[:k], changed, *out[k + 1 :]])

        least = _lowest(does, e.amount or 0, _now(scene, e), step)
        out[k] = SetQueue(e.queue, e.setting, e.resource, least)
    return out


def _lowest(does: Callable[[int], bool], amount: int, now: int, step: int) -> int:
    """Return the lowest amount that does, above the one that there is now."""
    if amount - 1 <= now or not does(amount - 1):
        return amount
    return _lowered_by(does, *_lowered_by(does, amount, now, step), 1)[0]


def _lowered_by(does: Callable[[int], bool], amount: int, now: int, unit: int) -> tuple[int, int]:
    """Return the lowest amount so many units less that does, and one that does not."""
    n = last_of(lambda n: does(amount - n * unit), 0, -(-(amount - now) // unit))
    return amount - n * unit, max(now, amount - (n + 1) * unit)


def _now(scene: Scene, e: SetQueue) -> int:
    queue = scene.tree.queues[QueueName(e.queue)]
    named = queue.deserved if e.setting == "due" else queue.capability
    return named.get(e.resource, 0)
