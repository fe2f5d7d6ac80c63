"""Stopwatch: processor time of each phase of a cycle, without the phases inside it.

Functions are wrapped where the cycle looks them up, so what is measured is the cycle itself.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from apportion.policies import order, standing
from apportion.solver import assemble, draft, entry, greedy, orderly

PHASES: tuple[tuple[str, Any, str], ...] = (
    ("could run", standing, "usable_pods"),
    ("standing", standing, "_table"),
    ("draft", draft.Draft, "__init__"),
    ("greedy", entry, "rank_and_place"),
    ("victims", greedy, "hunt"),
    ("levels", entry, "levels_of"),
    ("settle", entry, "settle_greedy"),
    ("verify", entry, "verify"),
    ("merge", entry, "compile_board"),
    ("rows", entry, "build"),
    ("tiers", entry, "stages_of"),
    ("hint", entry, "hint_of"),
    ("search", entry, "search"),
    ("decode", entry, "decode"),
    ("order list", orderly, "first_objection"),
    ("order rights", order, "objection_to"),
    ("assemble", entry, "assemble"),
    ("bound now", assemble, "bound_now"),
    ("reasons", assemble, "_held"),
)
"""Name of a phase, and the module or class with the function that it is."""


class Stopwatch:
    """Seconds by phase; what runs inside another phase counts for itself alone."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._open: list[str] = []
        self._since = 0.0

    def turn(self) -> None:
        now = time.process_time()
        if self._open:
            name = self._open[-1]
            self.seconds[name] = self.seconds.get(name, 0.0) + now - self._since
        self._since = now

    def wrapped(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def measured(*args: Any, **kwargs: Any) -> Any:
            self.turn()
            self._open.append(name)
            try:
                return function(*args, **kwargs)
            finally:
                self.turn()
                self._open.pop()

        return measured


@contextmanager
def stopwatch() -> Iterator[Stopwatch]:
    """Measure every phase that runs meanwhile; phases that a version does not have are left out."""
    watch, saved = Stopwatch(), []
    for name, where, attribute in PHASES:
        if attribute in vars(where):
            saved.append((where, attribute, vars(where)[attribute]))
            setattr(where, attribute, watch.wrapped(name, vars(where)[attribute]))
    try:
        yield watch
    finally:
        for where, attribute, function in reversed(saved):
            setattr(where, attribute, function)
