"""Priority matters in slices: what has been tried is kept, and what is proven is not run again."""

import argparse
from pathlib import Path

import pytest
from benchmarks import priority_matters
from benchmarks.priority_instances import Small, cannot_be_more, counts_of, instances, small
from benchmarks.priority_matters import Kept, Side, Trial, measure, part_of, rows_of

EASY, HARD = Small(4, 4, 1, 90, 0), Small(8, 8, 1, 105, 0)
FOREVER = float("inf")


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Small, float]]:
    """Let trials be made up: the easy one is proven in a second, the other never."""
    out: list[tuple[Small, float]] = []

    def tried(of: Small, budget_s: float, stretch: float) -> Trial:
        out.append((of, budget_s))
        ours, theirs = Side(0.5 * stretch, 0.25, of == EASY), Side(1.0, 1.0, False)
        return Trial(of, budget_s, ours, theirs, 0.01, 15, 14, 1, 0, False, False, True, 2.0)

    monkeypatch.setattr(priority_matters, "tried", tried)
    return out


def test_what_is_proven_in_a_second_is_not_run_for_ten(asked: list[tuple[Small, float]]) -> None:
    kept = Kept(None)

    measure([EASY, HARD], (1.0, 10.0), kept, 1.0, FOREVER)

    assert asked == [(EASY, 1.0), (HARD, 1.0), (HARD, 10.0)]
    said = [row.note for row in rows_of([EASY, HARD], (1.0, 10.0), kept)]
    assert "1 of 1 instances, 1 of them proven in less time and not run again" in said[2]
    assert "admission proven in 50 % (100 % at 90, 0 % at 105 % requested)" in said[1]


def test_a_round_goes_on_where_it_was_left(
    asked: list[tuple[Small, float]], tmp_path: Path
) -> None:
    file = tmp_path / "kept" / "trials.jsonl"
    measure([EASY], (1.0,), Kept(file), 1.0, FOREVER)
    asked.clear()

    again = Kept(file)
    measure([EASY, HARD], (1.0,), again, 1.0, FOREVER)

    assert asked == [(HARD, 1.0)]
    assert Kept(file).trials == again.trials


def test_nothing_is_begun_when_the_time_is_over(asked: list[tuple[Small, float]]) -> None:
    measure([EASY, HARD], (1.0,), Kept(None), 1.0, 0.0)

    assert asked == []


def test_a_line_that_is_no_trial_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "trials.jsonl"
    file.write_text('{"of": {"nodes": 4}}\n')

    with pytest.raises(ValueError, match=r"trials\.jsonl: a line that is no trial"):
        Kept(file)


@pytest.mark.parametrize(("text", "want"), [("1/1", (1, 1)), ("2/6", (2, 6))])
def test_a_part_is_one_of_so_many(text: str, want: tuple[int, int]) -> None:
    assert part_of(text) == want


@pytest.mark.parametrize("text", ["0/6", "7/6", "2", "a/b", "-1/2"])
def test_a_part_that_there_is_not_is_refused(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="no part like"):
        part_of(text)


def test_the_round_has_every_kind_of_instance_once_for_each_seed() -> None:
    all_ = list(instances(6))

    assert len(all_) == len(set(all_)) == 576
    assert {s.seed for s in all_[:96]} == {0}
    assert {s.nodes for s in all_[:24]} == {4, 8, 16, 32}


def test_pods_cannot_be_more_where_the_smallest_would_not_fit_beside_the_others() -> None:
    snapshot = small(Small(4, 4, 1, 105, 0))
    everybody = counts_of(snapshot, [p.key for p in snapshot.pods])
    by_size = sorted(snapshot.pods, key=lambda p: p.spec.requests["cpu"])
    few = counts_of(snapshot, [p.key for p in by_size[:2]])

    assert everybody == (16,)
    assert cannot_be_more(snapshot, everybody)
    assert not cannot_be_more(snapshot, few)
    assert cannot_be_more(snapshot, (15,)), "16 ask for 105 % of the room"
