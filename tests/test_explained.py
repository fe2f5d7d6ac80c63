"""What is said of held groups in slices: what has been judged is kept, and faults are told."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from benchmarks import explained
from benchmarks.explained import Kept, Of, Trial, measure, told, tried

from apportion.solver.process import SolverProcess
from properties.explanations import Judged, Told

FOREVER = float("inf")
SEED = 971_009
"""Of a small cluster that holds groups both ways."""
GOOD = Told("priority", "give group a/g priority 3", True, True, True)
NOT_SO = Told("nodes", "add 1 node like n0", False, True)
LARGER = Told("nodes", "add 2 nodes like n0", True, True, True, "add 1 node like n0")
FIRST, SECOND, THIRD = Of("3 nodes", 1), Of("3 nodes", 2), Of("5 nodes", 3)


def held(*changes: Told, by: str = "order", wrong: str = "") -> Judged:
    way, said = ("by name" if by == "order" else ""), ((wrong,) if wrong else ())
    return Judged(
        "a/g", by, way, by == "order", changes, ("wait",),
        said if by == "rules" else (), said if by == "order" else (),
    )  # fmt: skip


@pytest.fixture
def solver() -> Iterator[SolverProcess]:
    with SolverProcess() as process:
        yield process


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Of]:
    """Let trials be made up: every cluster holds two groups."""
    out: list[Of] = []

    def made_up(of: Of, process: SolverProcess) -> Trial:
        out.append(of)
        return Trial(of, (held(GOOD), held(by="rules")))

    monkeypatch.setattr(explained, "tried", made_up)
    return out


def test_a_round_goes_on_where_it_was_left(
    asked: list[Of], tmp_path: Path, solver: SolverProcess
) -> None:
    file = tmp_path / "kept" / "trials.jsonl"
    measure(iter([FIRST, SECOND, THIRD]), Kept(file), 4, FOREVER, solver)

    again = Kept(file)
    measure(iter([FIRST, SECOND, THIRD]), again, 6, FOREVER, solver)

    assert asked == [FIRST, SECOND, THIRD]
    assert again.groups == 6
    assert Kept(file).trials == again.trials


def test_nothing_is_begun_when_the_time_is_over(asked: list[Of], solver: SolverProcess) -> None:
    measure(iter([FIRST]), Kept(None), 2, 0.0, solver)

    assert asked == []


def test_a_line_that_is_no_trial_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "trials.jsonl"
    file.write_text('{"of": {"size": "3 nodes", "seed": 1}}\n')

    with pytest.raises(ValueError, match=r"trials\.jsonl: a line that is no trial"):
        Kept(file)


def test_what_is_wrong_is_counted_and_told() -> None:
    trials = [
        Trial(FIRST, (held(GOOD, NOT_SO), held(by="rules", wrong="not proven minimal"))),
        Trial(THIRD, (held(LARGER, wrong="age is not so"),)),
    ]

    said = "\n".join(told(trials))

    assert "3 held groups of 2 clusters (3 nodes 2, 5 nodes 1)" in said
    assert "held by rules 1: conflict minimal in 0" in said
    assert "held by the order 2 (by name 2): as said in 1" in said
    assert "changes told 3 (nodes 2, priority 1): start the group in 2" in said
    assert "said of 3; all smaller ones tried for 2, none of them does for 1" in said
    assert [line for line in said.splitlines() if line.startswith("wrong: ")] == [
        "wrong: 3 nodes, seed 1: a/g: add 1 node like n0 does not start a/g",
        "wrong: 3 nodes, seed 1: a/g: not proven minimal",
        "wrong: 5 nodes, seed 3: a/g: age is not so",
        "wrong: 5 nodes, seed 3: a/g: add 2 nodes like n0: add 1 node like n0 starts a/g as well",
    ]


@pytest.mark.slow
def test_what_is_told_of_a_small_cluster_is_so(solver: SolverProcess) -> None:
    trial = tried(Of("3 nodes", SEED), solver)

    assert {g.held_by for g in trial.groups} == {"rules", "order"}
    assert any(c.enumerated for g in trial.groups for c in g.changes)
    assert trial.faults == []


@pytest.mark.slow
def test_a_higher_priority_does_not_always_help(solver: SolverProcess) -> None:
    trial = tried(Of("5 nodes", 971_035), solver)

    (says,) = {c.says for g in trial.groups if g.group == "b/g3" for c in g.changes
               if c.kind == "priority"}  # fmt: skip
    assert says == "give group b/g3 priority 1"
    assert trial.faults == []
