"""Turns: which kind of neighbourhood is tried next, by what it gained of late.

A kind that was never tried comes first; then the one whose tries of late gained most for what they
cost. Of each kind its parts are gone through one by one, then again with more nodes; a kind rests
once there is nothing better in the largest of them, until the plan has changed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from .neighbourhood import Neighbourhood

GROWTH = 3
"""So many times as many nodes has the next one, where there surely is nothing better in it."""
RECENT = 0.5
"""What the last try counts of a kind's gain; the one before half of the rest, and so on."""


class Kind(Protocol):
    """One way to choose what is free."""

    @property
    def name(self) -> str: ...
    @property
    def turns(self) -> int:
        """How many parts of the plan there are to choose from, the most promising first."""
        ...

    @property
    def size(self) -> int:
        """How many nodes a neighbourhood can have; 0 where there is nothing to gain."""
        ...

    def around(self, size: int, turn: int = 0) -> Neighbourhood:
        """Return the neighbourhood of at most so many nodes."""
        ...


@dataclass(slots=True)
class _Record:
    """How a kind has done, and where it is."""

    size: int
    turn: int = 0
    tries: int = 0
    gain: float = 0.0
    """What a unit of cost gained, late tries first."""
    rests: bool = False
    too_many: int | None = None
    """With so many nodes there was no time, or none to end it, around this plan."""


@dataclass(frozen=True, slots=True)
class Try:
    """What to solve next."""

    kind: Kind
    size: int
    turn: int


class Turns:
    """The kinds of neighbourhoods around a plan, one after the other."""

    def __init__(self, names: Sequence[str], size: int) -> None:
        self._records = {name: _Record(size) for name in names}
        self._kinds: Mapping[str, Kind] = {}

    def around(self, kinds: Sequence[Kind]) -> None:
        """Begin anew around another plan: the kinds keep their sizes and what they gained."""
        self._kinds = {k.name: k for k in kinds if k.size and k.turns}
        for record in self._records.values():
            record.turn, record.rests, record.too_many = 0, False, None

    def next(self) -> Try | None:
        """Return what to try next; None where all kinds rest."""
        able = [n for n in self._kinds if not self._records[n].rests]
        if not able:
            return None
        best = min(able, key=lambda n: self._rank(self._records[n]))
        kind, of = self._kinds[best], self._records[best]
        return Try(kind, min(of.size, kind.size), min(of.turn, kind.turns - 1))

    @staticmethod
    def _rank(of: _Record) -> tuple[bool, float, int]:
        return of.tries > 0, -of.gain, of.tries

    def shrink(self, name: str, least: int) -> None:
        """Let the kind have fewer nodes; it rests where they would be too few."""
        of = self._records[name]
        of.too_many = min(of.size, self._kinds[name].size)
        of.size = of.too_many // GROWTH
        of.rests = of.size < least
        of.size = max(of.size, least)

    def note(self, name: str, gain: float, cost: float, is_closed: bool, least: int) -> None:
        """Take note of what a try gained, and cost; and whether there surely is nothing more."""
        of, kind = self._records[name], self._kinds[name]
        of.tries += 1
        of.gain += RECENT * (gain / max(cost, 1e-9) - of.gain)
        if gain > 0:
            return
        if not is_closed:
            self.shrink(name, least)
        elif of.turn + 1 < kind.turns:
            of.turn += 1
        elif of.size < kind.size and not self._is_too_many(of, kind):
            of.turn, of.size = 0, of.size * GROWTH
        else:
            of.rests = True

    @staticmethod
    def _is_too_many(of: _Record, kind: Kind) -> bool:
        """Say whether there was no time for as many nodes as would be next."""
        return of.too_many is not None and min(of.size * GROWTH, kind.size) >= of.too_many

    @property
    def gains(self) -> Mapping[str, tuple[int, float]]:
        """How often each kind was tried, and what a unit of cost gained of late."""
        return {n: (of.tries, of.gain) for n, of in self._records.items()}
