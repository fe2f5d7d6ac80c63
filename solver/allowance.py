"""Allowance: what a plan without a clock may take, counted so that it comes to the same anywhere.

Steps are charged by what they are about, in seconds of a core of 2024: the same snapshot and
settings take the same steps on any machine, and a plan costs about what its budget says.
"""

from dataclasses import dataclass, field

from ..models import Config

S_PER_EFFORT = 2.0
"""Seconds that one second of the solver's own time takes, measured on parts of clusters of 60 and
200 nodes: 1.7 to 2.8."""
S_PER_TERM = 4e-6
"""Seconds that a term of a row takes until a solve has begun, which the solver does not count; and
as much until the row is told."""
S_PER_POD_AND_TRIAL = 15e-6
"""Seconds that a trial of the order list takes, by pod of the cluster."""
FOR_ORDER = 0.25
"""Part of the budget that is left to the order list, where a search comes before it."""
ORDER_ALONE = 0.8
"""Part of it where the greedy engine's plan is all there is to be put in order."""


@dataclass(slots=True)
class Allowance:
    """Seconds of one plan's search that are left, by what was charged."""

    left_s: float
    _whole: "Allowance | None" = field(default=None, repr=False)

    @classmethod
    def of_search(cls, config: Config) -> "Allowance":
        """Return what is left to building, solving and judging of the board."""
        return cls((1 - FOR_ORDER) * config.budget_ms / 1000.0)

    @property
    def is_out(self) -> bool:
        return self.left_s <= 0

    def effort(self, share: float) -> float:
        """Return how much of its own time the solver may take for a part of what is left."""
        return max(0.0, self.left_s) * share / S_PER_EFFORT

    def part(self, share: float) -> "Allowance":
        """Return a part of what is left; what is charged to it is charged here as well."""
        return Allowance(max(0.0, self.left_s) * share, self)

    def solve(self, terms: int, effort_s: float) -> None:
        """Charge one solve of a model of so many terms; or telling it, which takes no effort."""
        self.charge(terms * S_PER_TERM + effort_s * S_PER_EFFORT)

    def charge(self, seconds: float) -> None:
        """Take what some step is said to take."""
        self.left_s -= seconds
        if self._whole is not None:
            self._whole.charge(seconds)


def order_trials(config: Config, pods: int) -> int:
    """Return how many trials of the order list the budget allows on so many pods."""
    share = ORDER_ALONE if config.engine == "greedy" else FOR_ORDER
    return int(share * config.budget_ms / 1000.0 / (S_PER_POD_AND_TRIAL * max(1, pods)))
