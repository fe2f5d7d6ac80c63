"""An objection: who objects to a plan, by which item of the list, and what should give way."""

from collections.abc import Callable
from dataclasses import dataclass

from ..models import GroupKey, PodKey
from .givers import Giver
from .outcome import Outcome

ITEMS = {
    1: "broken gang",
    2: "dues and entitlements",
    3: "priority",
    4: "fair surplus",
    5: "age",
    6: "minimum before surplus",
    7: "idle capacity",
    8: "needless harm",
}


@dataclass(frozen=True)
class Objection:
    """Group ``group`` objects by an item of the list: these should give way to it."""

    item: int
    group: GroupKey
    gives_way: tuple[Giver, ...]
    leads_to: Outcome
    starts: frozenset[PodKey] = frozenset()
    """What the group starts more in the plan that it leads to."""

    def __str__(self) -> str:
        who = ", ".join(map(str, self.gives_way)) or "nobody"
        return f"item {self.item} ({ITEMS[self.item]}): {who} should give way to {self.group}"


class Patience:
    """How long to look: a number of trials, and a question that ends it."""

    def __init__(self, trials: int = 10**9, stop: Callable[[], bool] = lambda: False) -> None:
        self.trials = trials
        self._stop = stop

    @property
    def is_over(self) -> bool:
        """Say whether the look was cut short."""
        return self.trials <= 0 or self._stop()

    def spend(self) -> bool:
        """Use one trial; say whether there was one."""
        self.trials -= 1
        return not self.is_over
