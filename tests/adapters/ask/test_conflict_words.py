"""What a conflict says in numbers: how many of a gang's members fit, and what each node offers."""

from collections.abc import Iterator

import pytest

from apportion.adapters.ask.explain import explain
from apportion.models import Config, GroupKey, Snapshot
from apportion.models.snapshot import read, write
from apportion.solver.process import SolverProcess
from oracle.build import Members, node, queue, snapshot

G = GroupKey("x/g")


@pytest.fixture(scope="module")
def solver() -> Iterator[SolverProcess]:
    with SolverProcess() as process:
        yield process


def said(start: Snapshot, solver: SolverProcess) -> dict[str, str]:
    """Return what each rule of the conflict says, by rule and what it is about."""
    config = Config(deterministic=True, budget_ms=2000)
    # Read back, equal pods share their spec, as they do in a cluster.
    found = explain(read(write(start)), config, G, process=solver, changes=False)
    assert found.minimal
    return {f"{m.rule} {m.about}": m.message for m in found.conflict}


def test_a_gang_that_is_too_large_is_told_how_many_of_it_fit(solver: SolverProcess) -> None:
    start = snapshot(
        *(node(f"n{i}", 8) for i in range(3)), queue("q"),
        Members("g", "q", 2, waiting=14, minimum=14),
    )  # fmt: skip

    assert said(start, solver) == {
        "gang group x/g": "starts with 14 members or not at all; at most 12 fit",
        "capacity 3 nodes like n0 cpu": "8 of 8 cpu free each; a pod asks for 2: 12 fit in all",
    }


def test_nodes_of_different_size_are_told_each_with_its_number(solver: SolverProcess) -> None:
    start = snapshot(
        node("large", 8), node("small", 3), node("tiny", 1), queue("q"),
        Members("g", "q", 2, waiting=6, minimum=6),
    )  # fmt: skip

    assert said(start, solver) == {
        "gang group x/g": "starts with 6 members or not at all; at most 5 fit",
        "capacity node large cpu": "8 of 8 cpu free; a pod asks for 2: 4 fit",
        "capacity node small cpu": "3 of 3 cpu free; a pod asks for 2: 1 fits",
        "capacity node tiny cpu": "1 of 1 cpu free; a pod asks for 2: none fits",
    }


def test_of_one_pod_nothing_is_counted(solver: SolverProcess) -> None:
    start = snapshot(node("n", 1), queue("q"), Members("g", "q", 2, waiting=1))

    assert said(start, solver) == {
        "gang group x/g": "starts with 1 member or not at all",
        "capacity node n cpu": "1 of 1 cpu free; a pod asks for 2",
    }
