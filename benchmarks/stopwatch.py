"""Stopwatch: processor time of each phase of a cycle, without the phases inside it.

Functions are wrapped where the cycle looks them up, so what is measured is the cycle itself.
"""

import inspect
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from apportion.models import Config, snapshot
from apportion.policies import (
    columns,
    fitting,
    limits,
    members,
    order,
    ranks,
    registry,
    scene,
    standing,
    takers,
)
from apportion.policies.api import Constraint
from apportion.policies.goals import goals_for
from apportion.solver import assemble, draft, entry, greedy, orderly

PHASES: tuple[tuple[str, Any, str], ...] = (
    ("pods as arrays", columns.Columns, "__init__"),
    ("members", members.Roster, "__init__"),
    ("ledger", scene, "ledger_of"),
    ("limits", limits, "_limits"),
    ("could run", standing, "usable_pods"),
    ("standing", standing, "_table"),
    ("ranks", ranks._Maker, "make"),
    ("trackers", fitting.Field, "__init__"),
    ("draft", draft.Draft, "__init__"),
    ("greedy", entry, "rank_and_place"),
    ("victims", greedy, "hunt"),
    ("levels", entry, "levels_of"),
    ("settle", entry, "settle_greedy"),
    ("verify", entry, "verify"),
    ("who may take", takers.Takers, "__init__"),
    ("merge", entry, "compile_board"),
    ("rows", entry, "build"),
    ("tiers", entry, "stages_of"),
    ("hint", entry, "hint_of"),
    ("search", entry, "search"),
    ("decode", entry, "decode"),
    ("order list", entry, "put_in_order"),
    ("objections", orderly, "first_objection"),
    ("order rights", order, "objection_to"),
    ("assemble", entry, "assemble"),
    ("devices of starts", assemble, "found_devices"),
    ("bound now", assemble, "bound_now"),
    ("evictions", assemble, "_evictions"),
    ("reasons", assemble, "_held"),
    ("queue rows", assemble, "_queues"),
    ("digest", snapshot, "write"),
    *(
        (f"check {make().name}", make, "check")
        for make in registry.BUILT_IN
        if isinstance(make(), Constraint)
    ),
    *((f"goal {g.name}", type(g), "measure") for g in goals_for(Config())[2:]),
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
                made = function(*args, **kwargs)
                # What a rule yields is worked out as it is read.
                return list(made) if inspect.isgenerator(made) else made
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
