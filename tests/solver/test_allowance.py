"""Allowance: steps are charged by what they are about, and never more is given than is left."""

import pytest

from apportion.models import Config
from apportion.solver.allowance import (
    FOR_ORDER,
    S_PER_EFFORT,
    S_PER_TERM,
    Allowance,
    order_trials,
)

FIVE_S = Config(deterministic=True, budget_ms=5000)


def test_the_search_gets_what_the_order_list_does_not() -> None:
    assert Allowance.of_search(FIVE_S).left_s == pytest.approx((1 - FOR_ORDER) * 5)


def test_a_solve_is_charged_its_terms_and_its_effort() -> None:
    allowance = Allowance(4.0)

    allowance.solve(10_000, 0.5)

    assert allowance.left_s == pytest.approx(4.0 - 10_000 * S_PER_TERM - 0.5 * S_PER_EFFORT)


def test_what_is_charged_to_a_part_is_charged_to_the_whole() -> None:
    whole = Allowance(4.0)

    part = whole.part(0.25)
    part.charge(0.75)

    assert (part.left_s, whole.left_s) == pytest.approx((0.25, 3.25))


def test_nothing_is_given_where_nothing_is_left() -> None:
    allowance = Allowance(1.0)

    allowance.charge(1.0)

    assert allowance.is_out
    assert allowance.effort(1.0) == 0.0
    assert Allowance(0.001).effort(1.0) > 0


def test_the_order_list_has_fewer_trials_on_more_pods_and_with_less_time() -> None:
    many, few = order_trials(FIVE_S, 500), order_trials(FIVE_S, 5000)

    assert many == pytest.approx(10 * few, abs=10)
    assert order_trials(Config(deterministic=True, budget_ms=1000), 500) < many / 4
    assert order_trials(Config(engine="greedy", deterministic=True), 500) > 2 * many
