"""Better places are not waited for where everything starts anyway."""

from collections.abc import Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from apportion.models import Config, Plan, Snapshot
from apportion.solver.entry import LeftOverError, plan
from apportion.solver.search import Clock
from apportion.solver.search import search as searched
from oracle.build import Members, node, queue, snapshot

NODES = [node(f"n{i}", 4) for i in range(3)]
CONFIG = Config(budget_ms=60_000, polish_ms=2000)


def times_of(
    monkeypatch: pytest.MonkeyPatch, world: Snapshot, config: Config
) -> list[float | None]:
    """Return how much time the search was given."""
    given: list[float | None] = []

    def search(
        board: Any, stages: Sequence[Any], process: Any, of: Config, clock: Clock, *a: Any
    ) -> Any:
        given.append(clock.left())
        return searched(board, stages, process, of, clock, *a)

    monkeypatch.setattr("apportion.solver.entry.search", search)
    made: Plan = plan(world, config)
    assert made.places
    return given


def test_where_everything_starts_the_search_is_short(monkeypatch: pytest.MonkeyPatch) -> None:
    world = snapshot(*NODES, queue("q"), Members("g", "q", waiting=5))

    [given] = times_of(monkeypatch, world, CONFIG)

    assert given is not None
    assert given <= 2.0


@pytest.mark.parametrize(
    "group",
    [
        Members("late", "q", cpu=3, waiting=4),
        Members("high", "q", cpu=4, waiting=3, minimum=3, priority=9),
    ],
    ids=["something waits", "somebody leaves"],
)
def test_else_it_has_the_budget(monkeypatch: pytest.MonkeyPatch, group: Members) -> None:
    running = Members("low", "q", on=["n0", "n1"])
    world = snapshot(*NODES, queue("q"), running, group)

    [given] = times_of(monkeypatch, world, CONFIG)

    assert given is not None
    assert given > 20


def test_what_could_never_run_keeps_nobody_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    giant = Members("giant", "q", cpu=9, waiting=1)
    world = snapshot(*NODES, queue("q"), Members("g", "q", waiting=5), giant)

    [given] = times_of(monkeypatch, world, CONFIG)

    assert given is not None
    assert given <= 2.0


def test_in_deterministic_mode_no_clock_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    world = snapshot(*NODES, queue("q"), Members("g", "q", waiting=5))

    assert times_of(monkeypatch, world, replace(CONFIG, deterministic=True)) == [None]


@pytest.mark.parametrize(("polish_ms", "others"), [(100, 0), (None, 1)])
def test_where_everything_starts_no_other_greedy_plan_is_made(
    polish_ms: int | None, others: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = snapshot(*NODES, queue("q"), Members("g", "q", waiting=5))
    asked: list[object] = []

    def best_of(*of: Any) -> Any:
        asked.append(of)
        return of[3]

    monkeypatch.setattr("apportion.solver.entry.best_of", best_of)

    made = plan(world, replace(CONFIG, polish_ms=polish_ms, budget_ms=2000))

    assert len(made.places) == 5
    assert len(asked) == others


def test_where_only_all_is_of_use_nothing_is_searched_for_less(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    searches: list[object] = []
    monkeypatch.setattr("apportion.solver.entry.search", lambda *of: searches.append(of))
    late = Members("late", "q", cpu=3, waiting=4)
    high = Members("high", "q", cpu=4, waiting=3, minimum=3, priority=9)
    low = Members("low", "q", on=["n0", "n1"])

    for parts in ((late,), (low, high), (Members("giant", "q", cpu=9, waiting=1),)):
        with pytest.raises(LeftOverError):
            plan(snapshot(*NODES, queue("q"), *parts), CONFIG, all_or_nothing=True)
    assert not searches


def test_where_only_all_is_of_use_a_plan_in_which_all_starts_is_as_ever() -> None:
    world = snapshot(*NODES, queue("q"), Members("g", "q", waiting=5))
    settings = replace(CONFIG, deterministic=True)

    assert plan(world, settings, all_or_nothing=True) == plan(world, settings)
