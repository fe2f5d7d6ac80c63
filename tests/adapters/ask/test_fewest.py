"""The fewest of a pool that suffice: nothing of the answer can be left out, and few questions."""

from collections.abc import Sequence
from functools import partial
from random import Random

from apportion.adapters.ask.fewest import fewest


def includes(needed: set[int], some: Sequence[int]) -> bool:
    return needed <= set(some)


def test_what_is_needed_is_left_and_nothing_else() -> None:
    for seed in range(200):
        rng = Random(seed)
        pool = list(range(rng.randint(0, 40)))
        needed = set(rng.sample(pool, rng.randint(0, min(6, len(pool)))))

        assert set(fewest(pool, partial(includes, needed))) == needed


def test_what_stands_last_goes_first() -> None:
    assert fewest([1, 2, 3, 4], lambda some: len(some) >= 2) == [1, 2]


def test_few_questions_are_asked() -> None:
    asked = []

    def suffices(some: Sequence[int]) -> bool:
        asked.append(len(some))
        return {17, 900} <= set(some)

    assert fewest(range(1000), suffices) == [17, 900]
    assert len(asked) < 60
