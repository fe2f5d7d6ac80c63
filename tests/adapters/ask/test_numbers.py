"""The smallest number that does: what is likely is only a guess, what is told is borne out."""

from collections.abc import Sequence

import pytest

from apportion.adapters.ask.numbers import number_that_does, numbers_that_do
from apportion.models import GroupKey
from apportion.models.edits import Edit, SetPriority


class Judge:
    """Answers as a trial would, by thresholds; remembers how many whole plans that took."""

    def __init__(self, could: int, room: int, likely: int, so: int) -> None:
        self._from = {"could": could, "room": room, "likely": likely, "so": so}
        self.whole: list[int] = []
        self.is_over = False

    def could(self, edits: Sequence[Edit]) -> bool:
        return _number(edits) >= self._from["could"]

    def has_room(self, edits: Sequence[Edit]) -> bool:
        return _number(edits) >= self._from["room"]

    def likely(self, edits: Sequence[Edit]) -> bool:
        return _number(edits) >= self._from["likely"]

    def starts(self, edits: Sequence[Edit]) -> bool:
        self.whole.append(_number(edits))
        return _number(edits) >= self._from["so"]


def _edits(n: int) -> list[Edit]:
    return [SetPriority(GroupKey("x/g"), n)]


def _number(edits: Sequence[Edit]) -> int:
    (edit,) = edits
    assert isinstance(edit, SetPriority)
    return edit.priority


@pytest.mark.parametrize(
    ("judge", "want", "whole"),
    [
        pytest.param(Judge(1, 3, 3, 3), 3, [3], id="the guess is right"),
        pytest.param(Judge(5, 1, 5, 5), 5, [5], id="it could not run with less"),
        pytest.param(Judge(1, 3, 7, 7), 7, [7], id="others come before it"),
        pytest.param(Judge(1, 3, 3, 6), 6, [3, 4, 6, 5], id="likely, but not so"),
        pytest.param(Judge(1, 3, 3, 99), 0, [3, 4, 6, 10, 12], id="no number does"),
        pytest.param(Judge(99, 3, 3, 3), 0, [], id="not even alone"),
    ],
)
def test_the_number_is_borne_out_by_whole_plans(judge: Judge, want: int, whole: list[int]) -> None:
    assert number_that_does(judge, _edits, 12) == want
    assert judge.whole == whole


@pytest.mark.parametrize(
    ("judge", "able", "first", "last"),
    [
        pytest.param(Judge(1, 1, 7, 7), True, 100, 7, id="others come before it"),
        pytest.param(Judge(1, 1, 7, 9), True, 100, 9, id="likely, but not so"),
        pytest.param(Judge(1, 1, 1, 1), True, 100, 1, id="one is enough"),
        pytest.param(Judge(1, 1, 100, 100), True, 100, 100, id="only the most"),
        pytest.param(Judge(5, 5, 5, 5), False, 5, 5, id="what it needs to run at all"),
        pytest.param(Judge(5, 5, 9, 9), False, 100, 9, id="more than that"),
    ],
)
def test_what_does_is_known_soon_and_then_ever_smaller(
    judge: Judge, able: bool, first: int, last: int
) -> None:
    found = list(numbers_that_do(judge, _edits, 100, able))

    assert (found[0], found[-1]) == (first, last)
    assert found == sorted(set(found), reverse=True)
    assert last == 1 or not judge.starts(_edits(last - 1))


@pytest.mark.parametrize(
    ("judge", "able"),
    [
        pytest.param(Judge(1, 1, 1, 101), True, id="no number does"),
        pytest.param(Judge(101, 1, 1, 1), False, id="not even alone"),
    ],
)
def test_nothing_is_told_where_no_number_does(judge: Judge, able: bool) -> None:
    assert list(numbers_that_do(judge, _edits, 100, able)) == []


def test_no_smaller_number_is_told_where_time_is_over() -> None:
    judge = Judge(1, 1, 7, 7)
    found = numbers_that_do(judge, _edits, 100, able=True)

    assert next(found) == 100
    judge.is_over = True
    assert list(found) == []
