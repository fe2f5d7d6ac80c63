"""Conflicts where rows would say less than could_run: a limit turned off, company of its own."""

from collections.abc import Iterator

import pytest

from apportion.models import Config, GroupKey, Snapshot
from apportion.policies.registry import rules_for
from apportion.policies.scene import Scene
from apportion.policies.standing import standing_of
from apportion.solver.conflict import conflict_of
from apportion.solver.process import SolverProcess
from apportion.solver.subjects import Subject
from policies.builders import Members, near, nodes, queue, snapshot, term

G = GroupKey("x/g")


@pytest.fixture(scope="module")
def solver() -> Iterator[SolverProcess]:
    with SolverProcess() as process:
        yield process


def told(world: Snapshot, solver: SolverProcess, **settings: object) -> tuple[Subject, ...]:
    config = Config(deterministic=True, **settings)  # type: ignore[arg-type]  # by name
    scene = Scene(world, config, rules_for(config))
    assert not standing_of(scene).could_run[G]

    found = conflict_of(scene, G, solver)

    assert found is not None
    assert found.minimal
    return found.subjects


def test_a_limit_holds_demand_even_where_the_rule_is_turned_off(solver: SolverProcess) -> None:
    world = snapshot(
        *nodes("n1"), queue("q", capability={"cpu": 1000}), Members("g", "q", 2, waiting=1)
    )

    rules = {rule for rule, _ in told(world, solver, off=("quota",))}

    assert rules == {"gang", "quota"}


def wishes_for_its_own(minimum: int) -> Snapshot:
    """Return a group of which one runs on a full node, and two that wait fit on another one."""
    return snapshot(
        *nodes("n1", 1), *nodes("n2", 4), queue("q"),
        Members("g", "q", 1, on=["n1"], waiting=2, minimum=minimum, spec=near(term("g"))),
    )  # fmt: skip


def test_who_comes_alone_follows_company_of_its_own(solver: SolverProcess) -> None:
    rules = [rule for rule, _ in told(wishes_for_its_own(2), solver)]

    assert sorted(rules) == ["capacity", "gang", "pod-affinity"]


def test_two_that_come_together_are_company_to_each_other(solver: SolverProcess) -> None:
    scene = Scene(wishes_for_its_own(3), Config(), rules_for(Config()))

    assert standing_of(scene).could_run[G]
    assert conflict_of(scene, G, solver) is None
