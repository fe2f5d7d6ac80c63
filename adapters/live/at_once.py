"""Beginning a cycle at once: single pods that come while there is room wait for no others.

A cycle waits for a pause, since pods of a gang come one by one. Where the last plan put few single
pods where the greedy engine puts them, and nothing waits but such pods and what is still held,
there is no gang to wait for, and a cycle costs little.
"""

from collections.abc import Callable
from typing import Protocol

from ...models import Plan, PodState, Snapshot
from .planning import DIRECT
from .single import are_few_and_single

SHARE = 2.0
"""So many times as long as the last cycle took lie between the looks of two, at least: half of a
processor is for the binds and for others."""
STEP_S = 0.01
"""It is looked this often whether pods have come."""


class Arrivals(Protocol):
    """What counts the pods that come; the mirror does."""

    arrived: int


class AtOnce:
    """Says whether a cycle may begin at once; what it saw then is what the cycle goes by."""

    def __init__(
        self,
        world: Arrivals,
        look: Callable[[], Snapshot],
        rest: Callable[[Snapshot], Snapshot | None] = lambda seen: seen,
    ) -> None:
        self._world = world
        self._look = look
        self._rest = rest
        """Leaves out what is still held; None where that has to be planned again."""
        self._arrived = -1
        """How many pods had come when it was looked last."""
        self._seen: tuple[int, float, Snapshot] | None = None

    @staticmethod
    def may_be(plan: Plan | None) -> bool:
        """Say whether it is worth a look after this plan, the last one."""
        if plan is None or plan.evictions or plan.nominations:
            return False
        return plan.solver.detail == DIRECT

    def begins(self, now_s: float, looked_s: float, took_s: float, changes: int) -> bool:
        """Say whether to begin: pods have come, few and single, and the last cycle is long past.

        ``looked_s`` is when the last cycle looked, ``took_s`` how long it took; ``changes`` is the
        number of changes so far. It looks once for all that has come.
        """
        if self._world.arrived == self._arrived or now_s - looked_s < SHARE * took_s:
            return False
        self._arrived = self._world.arrived
        seen = self._look()
        rest = self._rest(seen)
        if rest is None or not any(p.ours and p.state is PodState.PENDING for p in rest.pods):
            return False
        if not are_few_and_single(rest):
            return False
        self._seen = (changes, now_s, seen)
        return True

    def taken(self, changes: int) -> tuple[float, Snapshot] | None:
        """Return when it was looked and what was seen, if nothing has changed since.

        A cycle begins in any case: for those who have come by now it is not looked again.
        """
        self._arrived = self._world.arrived
        known, self._seen = self._seen, None
        return known[1:] if known is not None and known[0] == changes else None

    def forget(self) -> None:
        """Drop what was seen: what was laid over it does not hold any more."""
        self._seen = None
