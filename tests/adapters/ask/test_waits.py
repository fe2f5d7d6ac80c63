"""Until whom to wait is told where that is known: the earliest moment, tried, and no promise."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from random import Random

import pytest
from msgspec.structs import replace

from apportion.adapters.ask import brief, changes
from apportion.adapters.ask.brief_words import brief_words
from apportion.adapters.ask.change import Change
from apportion.adapters.ask.difference import states_of
from apportion.adapters.ask.explain import explain, to_document
from apportion.adapters.cli.explain_page import show
from apportion.adapters.report.answers import why_page
from apportion.models import Config, End, EndBy, GroupKey, Snapshot
from apportion.models.edit import edited
from apportion.models.edits import Wait
from apportion.policies.registry import rules_for
from apportion.policies.scene import Scene
from apportion.solver.entry import plan
from apportion.solver.process import SolverProcess
from oracle.build import NOW, Members, node, queue, snapshot

GREEDY = Config(engine="greedy", deterministic=True)
G = GroupKey("x/g")
HOUR = 3600


@pytest.fixture(scope="module")
def solver() -> Iterator[SolverProcess]:
    """Give a process that nobody starts: the greedy engine needs none."""
    process = SolverProcess()
    yield process
    process.kill()


def world(
    needs: int, ends: dict[str, End | None], *, nodes: int = 1, preemptable: bool = False
) -> Snapshot:
    """Return full nodes of four; one group for each name holds two of them, and ``g`` waits."""
    made = snapshot(
        *(node(f"n{i}", 4) for i in range(nodes)), queue("q"),
        *(
            Members(name, "q", 2, on=[f"n{i // 2}"], priority=9, preemptable=preemptable)
            for i, name in enumerate(ends)
        ),
        Members("g", "q", needs, waiting=1),
    )  # fmt: skip
    return replace(
        made, pods=tuple(replace(p, end=ends.get(p.group.partition("/")[2])) if p.group else p
                         for p in made.pods),
    )  # fmt: skip


def wait(start: Snapshot, solver: SolverProcess) -> Change | None:
    found = [c for c in explain(start, GREEDY, G, process=solver).changes if c.kind == "wait"]
    assert len(found) <= 1
    return found[0] if found else None


def by(kind: EndBy, in_s: int) -> End:
    return End(NOW + in_s, kind)


WANT: list[tuple[str, int, dict[str, End | None], str, int]] = [
    ("a deadline is the latest end", 2,
     {"a": by(EndBy.DEADLINE, 7800), "b": None},
     "wait until group x/a ends, in 2 h 10 min at the latest, by its deadline", 7800),
    ("the first that ends", 2,
     {"a": by(EndBy.DEADLINE, 2 * HOUR), "b": by(EndBy.MAX_EXEC_TIME, HOUR)},
     "wait until group x/b ends, in 1 h at the latest, by its maximum execution time", HOUR),
    ("both have to end", 4,
     {"a": by(EndBy.DEADLINE, 2 * HOUR), "b": by(EndBy.MAX_EXEC_TIME, HOUR)},
     "wait until group x/a ends, in 2 h at the latest, by its deadline; 1 other group ends before "
     "it", 2 * HOUR),
    ("an annotation is no promise", 2, {"a": by(EndBy.RUNTIME, 90), "b": None},
     "wait until group x/a ends, in about 2 min, as its annotation says", 90),
    ("a promise that hangs on an annotation is none", 4,
     {"a": by(EndBy.RUNTIME, 90), "b": by(EndBy.DEADLINE, HOUR)},
     "wait until group x/b ends, in about 1 h, by its deadline; 1 other group ends before it",
     HOUR),
    ("a deadline has passed", 2, {"a": by(EndBy.DEADLINE, -5), "b": None},
     "wait until group x/a ends, at any moment, by its deadline", 0),
]  # fmt: skip


@pytest.mark.parametrize(
    ("needs", "ends", "says", "seconds"), [pytest.param(*w, id=i) for i, *w in WANT]
)
def test_the_wait_is_told(
    needs: int, ends: dict[str, End | None], says: str, seconds: int, solver: SolverProcess
) -> None:
    change = wait(world(needs, ends), solver)

    assert change is not None
    assert (change.says, change.edits) == (says, (Wait(seconds),))
    assert (change.starts, change.smallest, change.evicts) == (True, True, 0)


@pytest.mark.parametrize(
    ("needs", "ends"),
    [
        pytest.param(2, {"a": None, "b": None}, id="nothing is known"),
        pytest.param(4, {"a": by(EndBy.DEADLINE, 9), "b": None}, id="one of two is not known"),
        pytest.param(5, {"a": by(EndBy.DEADLINE, 9)}, id="no node is large enough"),
        pytest.param(2, {"a": by(EndBy.RUNTIME, 0), "b": None}, id="it should have ended already"),
    ],
)
def test_nothing_is_said(
    needs: int, ends: dict[str, End | None], solver: SolverProcess
) -> None:  # fmt: skip
    assert wait(world(needs, ends), solver) is None


def test_data_has_the_edit_and_the_words(solver: SolverProcess) -> None:
    start = world(2, {"a": by(EndBy.DEADLINE, 90), "b": None})

    document = to_document(explain(start, GREEDY, G, process=solver))

    (row,) = [c for c in document["changes"] if c["kind"] == "wait"]
    assert row["edits"] == [{"edit": "wait", "seconds": 90, "says": "wait 2 min"}]


def test_pages_say_it_and_that_the_group_starts_then(
    solver: SolverProcess, capsys: pytest.CaptureFixture[str]
) -> None:
    start = world(2, {"a": by(EndBy.DEADLINE, HOUR), "b": None})
    found = explain(start, GREEDY, G, process=solver)
    says = "wait until group x/a ends, in 1 h at the latest, by its deadline"

    show(found)
    page = why_page(found, plan(start, GREEDY), start, GREEDY, "test")

    (row,) = [line for line in capsys.readouterr().out.splitlines() if "others end" in line]
    assert row.split(maxsplit=2)[2].startswith(says)
    assert row.endswith("then")
    assert f"{says} then yes" in " ".join(re.sub(r"<[^>]+>", " ", page).split())


def test_a_condition_names_a_moment_that_stays_true(solver: SolverProcess) -> None:
    start = world(2, {"a": by(EndBy.DEADLINE, 90), "b": None})
    change = wait(start, solver)
    assert change is not None

    said = brief_words(Scene(start, GREEDY, rules_for(GREEDY)), G, change)

    moment = datetime.fromtimestamp(NOW + 90, UTC)
    assert said == f"when group x/a ends by its deadline, {moment:%Y-%m-%d %H:%M:%S} UTC"


def test_conditions_and_explanations_know_the_same_kinds() -> None:
    assert sorted(brief.KINDS) == sorted(changes.KINDS)


@pytest.mark.parametrize("seed", range(6))
def test_it_is_the_first_moment_at_which_a_plan_starts_the_group(
    seed: int, solver: SolverProcess
) -> None:
    rng = Random(f"waits {seed}")
    names = [f"r{i}" for i in range(6)]
    ends = {
        n: None if rng.random() < 0.2 else by(EndBy.DEADLINE, rng.choice([5, 10, 15, 20]))
        for n in names
    }
    start = world(rng.choice([2, 4]), ends, nodes=3, preemptable=rng.random() < 0.5)

    change = wait(start, solver)

    does = [s for s in (5, 10, 15, 20) if _starts(edited(start, [Wait(s)]))]
    assert (None if change is None else change.edits[0]) == (Wait(does[0]) if does else None)


def _starts(changed: Snapshot) -> bool:
    return states_of(changed, plan(changed, GREEDY))[G].starting > 0
