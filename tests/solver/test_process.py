"""The process seen from here: what it streamed outlives it, and messages may come in pieces."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from apportion.solver import process as processes
from apportion.solver.linear import Linear, goal_of
from apportion.solver.process import LATE, Reply, SolverProcess

from .children import InProcess, pretend

MODEL = Linear([0, 0], [5, 5])
GOAL = goal_of([(1, 0), (2, 1)])
READY = 'say({"status": "READY"})\nhear(); hear()\n'
STEP = 'say({"status": "STEP", "values": [1, 2], "bound": 0})\n'


def asked(limit_s: float | None) -> Reply:
    with SolverProcess() as process:
        process.wait()  # its start takes its time on a machine that is busy
        return process.solve(MODEL, GOAL, (), None, {}, limit_s)


class Stepping(SolverProcess):
    """Whose clock stands until a solution has been streamed, and then is past every limit."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__()
        self._now_s = 0.0
        clock = SimpleNamespace(monotonic=lambda: self._now_s)
        monkeypatch.setattr(processes, "time", clock)

    def _take(self) -> tuple[Any] | None:
        message = super()._take()
        if message is not None and message[0]["status"] == "STEP":
            self._now_s = 1e6
        return message


@pytest.mark.parametrize(
    ("end", "want"),
    [
        pytest.param("sys.exit(1)", "KILLED", id="ends by itself"),
        pytest.param("hang()", "LATE", id="does not answer"),
    ],
)
def test_best_solution_streamed_so_far_is_kept_where_no_answer_comes(
    end: str, want: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pretend(READY + STEP + end, tmp_path, monkeypatch)
    made = Stepping(monkeypatch) if want == "LATE" else SolverProcess()

    with made as process:
        process.wait()
        reply = process.solve(MODEL, GOAL, (), None, {}, 60.0)

    assert (reply.status, reply.values, reply.bound) == (want, (1, 2), None)
    assert reply.detail


def test_late_answer_is_nobodys_and_the_process_takes_the_next_question(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mark = tmp_path / "mark"
    late = f"import time\nwhile not os.path.exists({str(mark)!r}): time.sleep(0.01)\n"
    first = STEP + late + STEP + 'say({"status": "OPTIMAL", "values": [1, 2], "bound": -5})\n'
    then = 'hear(); say({"status": "OPTIMAL", "values": [5, 5], "bound": -15}); hang()'
    pretend(READY + first + then, tmp_path, monkeypatch)

    with SolverProcess() as process:
        process.wait()
        pid = process.pid
        assert process.solve(MODEL, GOAL, (), None, {}, 0.001).status == "LATE"
        assert process.is_late
        assert process.solve(MODEL, GOAL, (), None, {}, 0.001) == Reply("LATE", detail=LATE)
        assert not process.wait(0.0)
        mark.touch()

        assert process.solve(MODEL, GOAL, (), None, {}, 60.0) == Reply("OPTIMAL", (5, 5), 15)
        assert process.pid == pid
        assert not process.is_late


@pytest.mark.parametrize("ask", ["wait", "solve"])
def test_process_that_is_late_for_too_long_is_killed_and_followed_by_another(
    ask: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "LATE_S", 0.0)
    pretend(READY + "hang()", tmp_path, monkeypatch)

    with SolverProcess() as process:
        process.wait()
        pid = process.pid
        assert process.solve(MODEL, GOAL, (), None, {}, 0.001).status == "LATE"
        if ask == "wait":
            assert not process.wait(0.0)
        else:
            reply = process.solve(MODEL, GOAL, (), None, {}, 60.0)
            assert (reply.status, reply.values) == ("KILLED", None)
            assert reply.detail == process.failure

        assert process.failure == "the solver process was killed past its limit"
        assert process.pid is None
        assert process.wait()
        assert process.pid != pid


def test_relaxation_that_takes_too_long_leaves_the_process_to_the_next_question(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mark = tmp_path / "mark"
    late = f"import time\nhear()\nwhile not os.path.exists({str(mark)!r}): time.sleep(0.01)\n"
    told = 'say({"status": "OPTIMAL", "value": 1.0, "values": [], "reduced": []})\n'
    then = 'hear(); hear(); say({"status": "OPTIMAL", "values": [5, 5], "bound": -15}); hang()'
    pretend('say({"status": "READY"})\n' + late + told + then, tmp_path, monkeypatch)

    with SolverProcess() as process:
        process.wait()
        assert process.relax(MODEL, GOAL, 0.001) is None
        mark.touch()

        assert process.solve(MODEL, GOAL, (), None, {}, 60.0) == Reply("OPTIMAL", (5, 5), 15)


def test_first_failure_is_told_with_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that is given up is started anew; what that one suffers from hides nothing."""
    mark = tmp_path / "mark"
    once = f"mark = {str(mark)!r}\nif os.path.exists(mark): hang()\nopen(mark, 'w').close()\n"
    pretend(once + READY + "sys.exit(1)", tmp_path, monkeypatch)

    with SolverProcess() as process:
        first = process.solve(MODEL, GOAL, (), None, {}, 60.0)
        second = process.solve(MODEL, GOAL, (), None, {}, 0.05)
        third = process.solve(MODEL, GOAL, (), None, {}, 0.05)

    assert first.detail == "the solver process died: no answer"
    assert second.detail == f"{first.detail}; the next one did not start in time"
    assert third.detail == second.detail


def test_one_that_dies_while_it_starts_is_followed_by_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mark = tmp_path / "mark"
    once = f"mark = {str(mark)!r}\nif not os.path.exists(mark):\n    open(mark, 'w').close()\n"
    pretend(once + "    sys.exit(1)\n" + READY, tmp_path, monkeypatch)

    with SolverProcess() as process:
        assert not process.wait()
        assert process.failure == "the solver process died: no answer"
        assert process.wait()


def test_answer_in_pieces_is_one_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answer = '{"status": "OPTIMAL", "values": [5, 5], "bound": -15}'
    body = f"""data = pickle.dumps({answer})
for part in (len(data).to_bytes(8, "big"), *[data[i:i + 1] for i in range(len(data))]):
    out.write(part); out.flush()
hang()"""
    pretend(READY + body, tmp_path, monkeypatch)

    assert asked(None) == Reply("OPTIMAL", (5, 5), 15)


def test_two_answers_at_once_are_two(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    last = 'say({"status": "FEASIBLE", "bound": -15}); hang()'
    pretend(READY + STEP + last, tmp_path, monkeypatch)

    assert asked(60.0) == Reply("FEASIBLE", (1, 2), 15)


def test_bound_of_the_child_is_on_the_side_of_a_maximum() -> None:
    reply = InProcess().solve(MODEL, GOAL, (), None, {"num_workers": 1}, None)

    assert reply == Reply("OPTIMAL", (5, 5), 15)


def test_floors_and_fixed_values_hold() -> None:
    process = InProcess()
    floor = ((0,), (1,), 4)

    floored = process.solve(MODEL, goal_of([(-1, 0)]), [floor], None, {"num_workers": 1}, None)
    fixed = process.solve(MODEL, GOAL, (), None, {"num_workers": 1}, None, [(1, 3)])

    assert floored.values is not None
    assert floored.values[0] == 4
    assert fixed.values == (5, 3)


def test_rows_hold_only_where_what_they_are_given_is_one() -> None:
    model = Linear(
        [0, 0], [5, 1], starts=[0, 1], vars=[0], coefs=[1], bounds=[2], equal=[False],
        given={0: (1,)},
    )  # fmt: skip
    one = {"num_workers": 1}

    off = InProcess().solve(model, goal_of([(1, 0)]), (), None, one, None, [(1, 0)])
    on = InProcess().solve(model, goal_of([(1, 0)]), (), None, one, None, [(1, 1)])

    assert (off.values, on.values) == ((5, 0), (2, 1))
    assert InProcess().solve(model, GOAL, [((0,), (1,), 9)], None, one, None).status == "INFEASIBLE"


def test_model_that_is_none_is_invalid_and_says_why() -> None:
    model = Linear([0], [-1])

    reply = InProcess().solve(model, goal_of([(1, 0)]), (), None, {"num_workers": 1}, None)

    assert reply.status in ("INVALID", "MODEL_INVALID")
    assert reply.values is None


def test_killing_twice_or_before_the_start_does_no_harm() -> None:
    process = SolverProcess()

    process.kill()
    assert process.pid is None
    process.start()
    assert process.pid is not None
    process.kill()
    process.kill()
    assert process.pid is None
