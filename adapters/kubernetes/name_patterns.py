"""Patterns of names, as Go's regexp reads them: matched in time linear in the name.

Python's own engine goes back over what it has tried, and a pattern from outside could keep it busy
for ever. So its parser is used, and the pattern is followed in all its ways at once instead.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from re import _constants as op  # type: ignore[attr-defined]
from re import _parser  # type: ignore[attr-defined]
from typing import Any

_MOST_STATES = 20_000
_UNLIMITED = 1 << 16


@dataclass(slots=True)
class _State:
    """A place in the pattern: where one may go for free, and on which character."""

    free: list[tuple[str, int]] = field(default_factory=list)
    """Conditions ("", "start", "end", "word", "inside") and where they lead."""
    takes: Callable[[str], bool] | None = None
    then: int = -1


class NamePattern:
    """A compiled pattern."""

    def __init__(self, pattern: str) -> None:
        """Compile the pattern.

        Raises
        ------
        ValueError
            If it is no pattern, or uses what Go does not know (look-around, back-references).
        """
        try:
            tree = _parser.parse(pattern)
        except (re.error, RecursionError, OverflowError) as e:
            raise ValueError(f"{pattern[:60]!r} is no pattern: {e}") from e
        self._states: list[_State] = [_State()]
        self._flags = tree.state.flags
        self._end = self._sequence(tree, 0)

    def finds(self, name: str) -> bool:
        """Say whether the pattern matches anywhere in the name."""
        here: set[int] = set()
        for at in range(len(name) + 1):
            here |= {0}
            here = self._reach(here, name, at)
            if self._end in here:
                return True
            if at < len(name):
                here = {
                    s.then
                    for s in (self._states[i] for i in here)
                    if s.takes is not None and s.takes(name[at])
                }
        return False

    def _reach(self, here: set[int], name: str, at: int) -> set[int]:
        out = set(here)
        waiting = list(here)
        while waiting:
            for condition, to in self._states[waiting.pop()].free:
                if to not in out and _holds(condition, name, at):
                    out.add(to)
                    waiting.append(to)
        return out

    # Building

    def _new(self) -> int:
        if len(self._states) >= _MOST_STATES:
            raise ValueError("the pattern is too large; write it shorter")
        self._states.append(_State())
        return len(self._states) - 1

    def _sequence(self, items: Iterable[tuple[Any, Any]], at: int) -> int:
        for kind, value in items:
            at = self._item(kind, value, at)
        return at

    def _item(self, kind: Any, value: Any, at: int) -> int:
        if kind in (op.MAX_REPEAT, op.MIN_REPEAT):
            least, most, items = value
            return self._repeat(least, most, items, at)
        if kind is op.SUBPATTERN:
            return self._sequence(value[3], at)
        if kind is op.BRANCH:
            end = self._new()
            for way in value[1]:
                start = self._new()
                self._states[at].free.append(("", start))
                self._states[self._sequence(way, start)].free.append(("", end))
            return end
        if kind is op.AT:
            condition = _CONDITIONS.get(value)
            if condition is None:
                raise ValueError("the pattern uses a condition that Go does not know")
            to = self._new()
            self._states[at].free.append((condition, to))
            return to
        takes = _takes(kind, value, bool(self._flags & re.IGNORECASE))
        if takes is None:
            raise ValueError("the pattern uses what Go does not know, such as look-around")
        to = self._new()
        start = self._new()
        self._states[at].free.append(("", start))
        self._states[start].takes, self._states[start].then = takes, to
        return to

    def _repeat(self, least: Any, most: Any, items: Any, at: int) -> int:
        if int(least) > 1000 or (most is not op.MAXREPEAT and int(most) > 1000):
            raise ValueError("the pattern repeats more than 1000 times; write it shorter")
        for _ in range(int(least)):
            at = self._sequence(items, at)
        end = self._new()
        if most is op.MAXREPEAT:
            loop = self._new()
            self._states[at].free.append(("", loop))
            self._states[loop].free.append(("", end))
            start = self._new()
            self._states[loop].free.append(("", start))
            self._states[self._sequence(items, start)].free.append(("", loop))
            return end
        self._states[at].free.append(("", end))
        for _ in range(int(most) - int(least)):
            at = self._sequence(items, at)
            self._states[at].free.append(("", end))
        return end


_CONDITIONS = {
    op.AT_BEGINNING: "start",
    op.AT_BEGINNING_STRING: "start",
    op.AT_END: "end",
    op.AT_END_STRING: "end",
    op.AT_BOUNDARY: "word",
    op.AT_NON_BOUNDARY: "inside",
}


def _holds(condition: str, name: str, at: int) -> bool:
    if condition == "start":
        return at == 0
    if condition == "end":
        return at == len(name)
    if condition in ("word", "inside"):
        before = at > 0 and _is_word(name[at - 1])
        after = at < len(name) and _is_word(name[at])
        return (before != after) == (condition == "word")
    return True


def _is_word(c: str) -> bool:
    return c.isascii() and (c.isalnum() or c == "_")


_CATEGORIES: dict[Any, Callable[[str], bool]] = {
    op.CATEGORY_DIGIT: lambda c: c.isascii() and c.isdigit(),
    op.CATEGORY_NOT_DIGIT: lambda c: not (c.isascii() and c.isdigit()),
    op.CATEGORY_SPACE: lambda c: c in " \t\n\r\f\v",
    op.CATEGORY_NOT_SPACE: lambda c: c not in " \t\n\r\f\v",
    op.CATEGORY_WORD: _is_word,
    op.CATEGORY_NOT_WORD: lambda c: not _is_word(c),
}


def _takes(kind: Any, value: Any, fold: bool) -> Callable[[str], bool] | None:
    """Return which characters an item takes; None for what is no character."""
    if kind is op.ANY:
        return lambda c: c != "\n"
    if kind in (op.LITERAL, op.NOT_LITERAL):
        same = chr(value).lower() if fold else chr(value)
        wanted = kind is op.LITERAL
        return lambda c: ((c.lower() if fold else c) == same) == wanted
    if kind is op.IN:
        negated = bool(value) and value[0][0] is op.NEGATE
        parts = [_part(k, v, fold) for k, v in (value[1:] if negated else value)]
        return lambda c: any(p(c) for p in parts) != negated
    return None


def _part(kind: Any, value: Any, fold: bool) -> Callable[[str], bool]:
    if kind is op.RANGE:
        low, high = value
        if fold:
            return lambda c: any(low <= ord(x) <= high for x in (c, c.lower(), c.upper()))
        return lambda c: low <= ord(c) <= high
    if kind is op.CATEGORY:
        return _CATEGORIES[value]
    taken = _takes(kind, value, fold)
    assert taken is not None
    return taken
