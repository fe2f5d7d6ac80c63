"""Who may use what of a node's room, or of a queue's quota, while victims free some of it."""

import numpy as np

from apportion.models import GroupKey
from apportion.solver.pools import Pools

A, B = GroupKey("ns/a"), GroupKey("ns/b")


def _row(*values: int) -> "np.ndarray[tuple[int], np.dtype[np.int64]]":
    return np.array(values, dtype=np.int64)


def _pools(*base: int) -> Pools:
    return Pools(np.array([base], dtype=np.int64))


def test_what_a_taker_frees_is_its_own() -> None:
    pools = _pools(2, 10)
    pools.add(0, A, _row(4, 0))
    assert pools.own(0, A).tolist() == [6, 10]
    assert pools.own(0, B).tolist() == [2, 10]
    assert pools.own(0, None).tolist() == [2, 10]


def test_what_a_taker_uses_beyond_that_is_no_longer_common() -> None:
    pools = _pools(2, 10)
    pools.add(0, A, _row(4, 0))
    pools.add(0, A, _row(-5, -1))
    assert pools.own(0, B).tolist() == [1, 9]
    assert pools.own(0, A).tolist() == [1, 9]


def test_what_comes_back_is_common_again() -> None:
    pools = _pools(2, 10)
    pools.add(0, A, _row(4, 0))
    pools.add(0, A, _row(-5, -1))
    pools.add(0, A, _row(5, 1))
    assert pools.own(0, B).tolist() == [2, 10]
    pools.add(0, A, _row(-4, 0))
    pools.waive(0, A)
    assert not pools.frees(0, A)
    assert pools.own(0, A).tolist() == [2, 10]


def test_a_missing_amount_is_made_up_by_the_taker_alone() -> None:
    pools = _pools(-3)
    pools.add(0, A, _row(8))
    assert pools.own(0, A).tolist() == [5]
    assert pools.own(0, B).tolist() == [-3]
