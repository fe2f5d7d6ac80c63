"""Late: bounds of a plan without a search, which are asked for last and worked out beside it."""

from collections.abc import Callable, Sequence
from typing import Any, Self

from ..policies.outcome import Outcome
from .beside import Beside
from .certificate import certified
from .rows import TierResult

MANY = 10_000
"""Of so many pods on, the snapshot's digest and the certificate are worked out beside the plan."""


class Late:
    """The certificate of the plan that will be the answer; a copy at work ends with this."""

    def __init__(self) -> None:
        self._of: Outcome | None = None
        self._bounds: Beside[list[int | None]] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bounds is not None:
            self._bounds.end()

    def begin(self, outcome: Outcome, goals: Sequence[Any]) -> None:
        """Begin in a large cluster, as this plan surely is the answer if the checker bears it."""
        if _is_large(outcome):
            self._work(outcome, lambda: [TierResult(g, g.measure(outcome), None) for g in goals])

    def ask(self, outcome: Outcome, tiers: Sequence[TierResult]) -> None:
        """Begin, unless bounds of this plan are on their way; what is known of tiers counts."""
        if not (self._is_of(outcome) and all(t.bound is None for t in tiers)):
            self._work(outcome, lambda: tiers)

    def answer(self) -> list[int | None]:
        """Return the bounds of the tiers that somebody has asked for."""
        assert self._bounds is not None
        return self._bounds.answer()

    def _work(self, outcome: Outcome, tiers: Callable[[], Sequence[TierResult]]) -> None:
        if self._bounds is not None:
            self._bounds.end()
        self._of = outcome
        self._bounds = Beside(
            lambda: [t.bound for t in certified(outcome, tiers())], _is_large(outcome)
        )

    def _is_of(self, outcome: Outcome) -> bool:
        mine = self._of
        return (
            mine is not None
            and mine.levels is outcome.levels
            and mine.evicted == outcome.evicted
            and mine.places == outcome.places
        )


def _is_large(outcome: Outcome) -> bool:
    return len(outcome.scene.snapshot.pods) >= MANY
