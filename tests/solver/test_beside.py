"""Work beside: the answer is the same, wherever it comes from, and nothing of a copy is left."""

import os
from collections.abc import Callable

import pytest

from apportion.models import Config, Plan, Snapshot, Violation
from apportion.policies.legality import verify
from apportion.solver import beside, entry, late
from apportion.solver.beside import Beside
from oracle.build import Members, node, queue, snapshot

HERE = os.getpid()


def ends() -> str:
    """End the copy without an answer; in the process itself, answer."""
    if os.getpid() != HERE:
        os._exit(3)
    return "from here"


def raises() -> str:
    if os.getpid() != HERE:
        raise RuntimeError("the copy fails")
    return "from here"


def waits() -> str:
    """Wait, in the copy, for what never comes."""
    if os.getpid() != HERE:
        read, _write = os.pipe()
        os.read(read, 1)
    return "from here"


@pytest.fixture(autouse=True)
def two_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(beside, "_has_a_core", lambda: True)


def test_the_answer_is_the_copy_s(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(beside, "AT_LEAST_S", 60.0)
    work = Beside(lambda: (os.getpid(), list(range(100_000))))

    pid, numbers = work.answer()

    assert pid != os.getpid()
    assert numbers == list(range(100_000))


@pytest.mark.parametrize("work", [ends, raises, waits])
def test_where_the_copy_does_not_answer_the_work_is_done_here(
    monkeypatch: pytest.MonkeyPatch, work: Callable[[], str]
) -> None:
    monkeypatch.setattr(beside, "AT_LEAST_S", 0.05)
    monkeypatch.setattr(beside, "PATIENCE", 0.0)

    assert Beside(work).answer() == "from here"


def test_where_the_work_fails_the_error_is_seen_here() -> None:
    def fails() -> None:
        raise ValueError("no such thing")

    with pytest.raises(ValueError, match="no such thing"):
        Beside(fails).answer()


def test_without_a_second_core_no_copy_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(beside, "_has_a_core", lambda: False)

    assert Beside(os.getpid).answer() == os.getpid()


def test_a_copy_that_nobody_asks_any_more_is_ended() -> None:
    work = Beside(waits)
    pid = work.pid

    work.end()

    assert pid
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def world() -> Snapshot:
    return snapshot(
        node("n1", 4), node("n2", 4), queue("due", due=4), queue("other", due=2),
        Members("runs", "other", on=["n1"] * 4), Members("gang", "due", waiting=3, minimum=3),
        Members("large", "due", waiting=9, minimum=9),
    )  # fmt: skip


@pytest.mark.parametrize("objects", [False, True], ids=["borne", "objected to"])
def test_bounds_worked_out_beside_the_plan_are_those_worked_out_before_it(
    monkeypatch: pytest.MonkeyPatch, objects: bool
) -> None:
    made: list[Plan] = []

    for many in (0, 1 << 60):
        monkeypatch.setattr(entry, "MANY", many)
        monkeypatch.setattr(late, "MANY", many)
        wrong = [[Violation("gang", "group x/gang", "is held for a test")]] if objects else []
        monkeypatch.setattr(
            entry, "verify", lambda of, wrong=wrong: wrong.pop() if wrong else verify(of)
        )
        made.append(entry.plan(world(), Config(engine="greedy", deterministic=True)))

    assert any(t.bound is not None for t in made[0].objective)
    assert made[0] == made[1]
    assert bool(made[0].solver.exchanges) == objects, "what was withdrawn comes back"


def test_bounds_are_begun_once_for_the_plan_that_is_the_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    begun: list[Beside[object]] = []

    def noted(work: Callable[[], object], apart: bool = True) -> Beside[object]:
        begun.append(Beside(work, apart))
        return begun[-1]

    monkeypatch.setattr(late, "MANY", 0)
    monkeypatch.setattr(late, "Beside", noted)

    entry.plan(world(), Config(engine="greedy", deterministic=True))

    assert len(begun) == 1
    assert begun[0].pid == 0, "its copy has ended"
