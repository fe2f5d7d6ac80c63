"""Whatever becomes of the solver process, there is a plan, verified, and it says what it is."""

from pathlib import Path

import pytest

from apportion.adapters.plan_check import scene_of, violations_of
from apportion.models import Config, Plan, Snapshot
from apportion.policies.levels import TIERS
from apportion.solver.entry import plan
from apportion.solver.process import Reply, SolverProcess
from oracle.build import Members, node, queue, snapshot

from .children import Failing, InProcess, pretend

PATIENT = Config(budget_ms=60_000)
"""The clock is far away: what fails fails by itself."""


def contested() -> Snapshot:
    """Return a cluster in which somebody has to go, so that there are several stages."""
    return snapshot(
        node("n1", 4),
        node("n2", 3),
        queue("q"),
        Members("low", "q", 2, on=["n1", "n1"]),
        Members("top", "q", 3, waiting=2, minimum=2, priority=2),
        Members("old", "q", 1, waiting=2, created_s=1),
    )


def assert_is_fallback(made: Plan, world: Snapshot, config: Config = PATIENT) -> None:
    assert made.solver.status == "fallback"
    assert_is_greedy(made, world, config)


def assert_is_greedy(made: Plan, world: Snapshot, config: Config) -> None:
    greedy = plan(world, Config(engine="greedy", deterministic=True))
    assert made.solver.engine == "greedy"
    assert made.solver.detail
    assert made.places == greedy.places != {}
    work = [t for t in made.objective if t.name in TIERS]
    assert all(t.bound is not None and t.bound >= t.value for t in work), "counted, not searched"
    assert made.objective[-1].bound is None
    assert violations_of(made, scene_of(world, config)) == []


READY = 'say({"status": "READY"})\n'
MODEL = READY + "hear(); hear()\n"


@pytest.mark.parametrize(
    "body",
    [
        pytest.param("os.kill(os.getpid(), signal.SIGKILL)", id="killed at its start"),
        pytest.param("sys.exit(1)", id="ends at its start"),
        pytest.param(READY + "sys.exit(1)", id="ends before it has read the model"),
        pytest.param(MODEL + "os.kill(os.getpid(), signal.SIGKILL)", id="killed as it solves"),
        pytest.param(MODEL + "out.write(b'12'); out.flush(); sys.exit()", id="half a length"),
    ],
)
def test_child_that_dies_leaves_the_greedy_plan(
    body: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = contested()
    pretend(body, tmp_path, monkeypatch)

    made = plan(world, PATIENT)

    assert_is_fallback(made, world)


ANSWERS = MODEL + "while True:\n    say(ANSWER)\n    hear()\n"
ANSWER = '{{"status": "OPTIMAL", "values": {values}, "bound": 0}}'


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param("b'no pickle at all'", id="no pickle"),
        pytest.param("None", id="nothing"),
        pytest.param("[1, 2]", id="a list"),
        pytest.param("{}", id="no status"),
        pytest.param("{'status': 7}", id="a status that is no name"),
        pytest.param(ANSWER.format(values="[1, 2]"), id="too few values"),
        pytest.param(ANSWER.format(values="['x'] * 999"), id="values that are no numbers"),
        pytest.param(ANSWER.format(values="[1000] * 999"), id="values far beyond their bounds"),
        pytest.param(ANSWER.format(values="[-1] * 999"), id="values below their bounds"),
    ],
)
def test_child_that_talks_nonsense_leaves_the_greedy_plan(
    answer: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = contested()
    pretend(ANSWERS.replace("ANSWER", answer), tmp_path, monkeypatch)

    made = plan(world, PATIENT)

    assert_is_fallback(made, world)


@pytest.mark.parametrize(
    "body",
    [
        pytest.param("hang()", id="before it is ready"),
        pytest.param(READY + "hang()", id="before it reads"),
        pytest.param(MODEL + "hang()", id="as it solves"),
        pytest.param(MODEL + "out.write(b'1' * 8); out.flush(); hang()", id="within an answer"),
    ],
)
def test_child_that_hangs_is_killed(
    body: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world, config = contested(), Config(budget_ms=500)
    pretend(body, tmp_path, monkeypatch)

    made = plan(world, config)

    assert_is_fallback(made, world, config)


def test_child_without_memory_leaves_the_greedy_plan() -> None:
    world = contested()
    config = Config(memory_limit_mib=64, budget_ms=60_000)

    made = plan(world, config)

    assert_is_fallback(made, world, config)


def test_ten_milliseconds_leave_the_greedy_plan() -> None:
    """On some machines there is no time to begin a search, on others none to end it."""
    world, config = contested(), Config(budget_ms=10)

    made = plan(world, config)

    assert_is_greedy(made, world, config)


@pytest.mark.parametrize("good", range(2))
def test_what_the_search_had_reached_before_the_child_was_killed_stays(good: int) -> None:
    world, config = contested(), Config(deterministic=True)

    made = plan(world, config, process=Failing(good, Reply("KILLED", detail="it is gone")))

    assert violations_of(made, scene_of(world, config)) == []
    assert made.places
    if good == 0:
        assert_is_fallback(made, world, config)
    else:
        assert (made.solver.engine, made.solver.status) == ("exact", "feasible")
        assert made.solver.detail == "it is gone"


def test_solution_that_is_none_is_dropped_for_the_greedy_plan() -> None:
    world, config = contested(), Config(deterministic=True)

    class Boasting(InProcess):
        """Claims that everything is at its most."""

        def solve(self, *args: object, **rest: object) -> Reply:
            model = args[0]
            return Reply("OPTIMAL", tuple(model.upper), 0)  # type: ignore[attr-defined]

    made = plan(world, config, process=Boasting())

    assert_is_fallback(made, world, config)
    assert "breaks" in made.solver.detail


def test_infeasible_where_a_solution_is_known_is_the_solvers_fault() -> None:
    world, config = contested(), Config(deterministic=True)

    made = plan(world, config, process=Failing(1, Reply("INFEASIBLE")))

    assert made.places
    assert made.solver.status != "optimal"
    assert "INFEASIBLE" in made.solver.detail
    assert violations_of(made, scene_of(world, config)) == []


def test_process_that_was_killed_starts_again_and_answers_as_ever() -> None:
    world, config = contested(), Config(deterministic=True)

    with SolverProcess() as process:
        process.kill()
        made = plan(world, config, process=process)

    assert made.digest == plan(world, config, process=InProcess()).digest
    assert made.solver.status == "optimal"
