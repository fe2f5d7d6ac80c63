"""Groups that the cluster has refused wait a while, each on its own, twice as long every time."""

from collections.abc import Set
from dataclasses import dataclass, field

from ...models import GroupKey

FIRST_S = 1.0
LONGEST_S = 60.0


@dataclass(slots=True)
class _Wait:
    until_s: float
    next_s: float
    why: str


@dataclass(slots=True)
class Backoff:
    """By group, until when it is left out and why. Seconds of a clock that never goes back."""

    first_s: float = FIRST_S
    longest_s: float = LONGEST_S
    _waits: dict[GroupKey, _Wait] = field(default_factory=dict)

    def __len__(self) -> int:
        """Return how many groups are known to have been refused."""
        return len(self._waits)

    def refused(self, group: GroupKey, why: str, now_s: float, at_least_s: float = 0.0) -> None:
        """Note a refusal; ``at_least_s`` is what the server asks for."""
        known = self._waits.get(group)
        wait_s = max(self.first_s if known is None else known.next_s, at_least_s)
        self._waits[group] = _Wait(now_s + wait_s, min(2 * wait_s, self.longest_s), why)

    def accepted(self, group: GroupKey) -> None:
        """Forget the group: it has got what it asked for."""
        self._waits.pop(group, None)

    def held(self, now_s: float) -> dict[GroupKey, str]:
        """Return the groups that wait still, with the reason."""
        return {g: w.why for g, w in self._waits.items() if w.until_s > now_s}

    def next_s(self, now_s: float) -> float | None:
        """Return when the next group may be tried again."""
        return min((w.until_s for w in self._waits.values() if w.until_s > now_s), default=None)

    def keep(self, groups: Set[GroupKey]) -> None:
        """Forget groups that are no longer there."""
        for gone in self._waits.keys() - groups:
            del self._waits[gone]
