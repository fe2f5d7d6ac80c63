"""A choice: of some parts of a group it needs as many as are said, whichever they are."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import combinations

from .value import Value


class Choice(Value, frozen=True):
    """At least so many of these parts: roles with their minima, and choices among further roles.

    A role stands in one place only of all the choices of a group.
    """

    least: int
    roles: Mapping[str, int] = {}
    choices: "tuple[Choice, ...]" = ()

    def __post_init__(self) -> None:
        if not 1 <= self.least <= len(self.roles) + len(self.choices):
            raise ValueError(
                f"choice: least must be 1 to {len(self.roles) + len(self.choices)}, "
                f"the number of its parts, got {self.least}"
            )

    def is_met(self, count: Mapping[str, int]) -> bool:
        """Say whether so many members of each role are enough parts."""
        met = sum(count.get(role, 0) >= n for role, n in self.roles.items())
        return met + sum(c.is_met(count) for c in self.choices) >= self.least

    def fewest(self, given: Mapping[str, int]) -> int:
        """Return how many members would do at least, beside those given of each role."""
        costs = [max(0, n - given.get(role, 0)) for role, n in self.roles.items()]
        costs += [c.fewest(given) for c in self.choices]
        return sum(sorted(costs)[: self.least])

    def without(self, count: Mapping[str, int]) -> "Choice":
        """Return what is left of it once so many members of each role are done."""
        roles = {role: max(0, n - count.get(role, 0)) for role, n in self.roles.items()}
        return Choice(self.least, roles, tuple(c.without(count) for c in self.choices))

    def ways(self, there: Mapping[str, int]) -> Iterator[Mapping[str, int]]:
        """Yield the minima of roles that would do, of which so many members are there.

        One after the other: there may be very many.
        """
        able: list[str | Choice] = [r for r, n in self.roles.items() if there.get(r, 0) >= n]
        for some in combinations([*able, *self.choices], self.least):
            yield from self._joined(some, there)

    def _joined(
        self, some: "tuple[str | Choice, ...]", there: Mapping[str, int]
    ) -> Iterator[Mapping[str, int]]:
        if not some:
            yield {}
            return
        first, rest = some[0], some[1:]
        options = [{first: self.roles[first]}] if isinstance(first, str) else first.ways(there)
        for option in options:
            for more in self._joined(rest, there):
                yield {**option, **more}

    def all_roles(self) -> Iterator[tuple[str, int]]:
        """Yield every role, however deep, with its minimum."""
        yield from self.roles.items()
        for c in self.choices:
            yield from c.all_roles()

    def __str__(self) -> str:
        parts = [f"{n} of role {role}" for role, n in self.roles.items()]
        parts += [f"({c})" for c in self.choices]
        return f"{self.least} of these {len(parts)}: {', '.join(parts)}"


def are_met(choices: Iterable[Choice], count: Mapping[str, int]) -> bool:
    """Say whether so many members of each role meet every choice."""
    return all(c.is_met(count) for c in choices)
