"""Draining: nodes in the order in which they can be emptied, and what keeps the others."""

from collections.abc import Iterator
from typing import Any

import pytest

from apportion.adapters.ask.drain import Emptied, blockers_of, draining
from apportion.models import Config, InputError, NodeName, PodKey, PodState
from apportion.solver.process import SolverProcess
from oracle.build import NOW, Members, budget, foreign, node, queue, snapshot

CONFIG = Config(deterministic=True, budget_ms=2000)
N = NodeName("n0")


@pytest.fixture(scope="module")
def solver() -> Iterator[SolverProcess]:
    with SolverProcess() as process:
        yield process


def test_what_finds_another_place_may_go_first(solver: SolverProcess) -> None:
    start = snapshot(
        node("n0", 4), node("n1", 2), node("n2", 3), queue("q"),
        Members("big", "q", 4, on=["n0"]), Members("small", "q", 2, on=["n1"]),
    )  # fmt: skip

    found = draining(start, CONFIG, ["n0", "n1"], process=solver)

    assert found.kept == ()
    assert found.emptied == (
        Emptied(NodeName("n1"), 1, 1, 0, ()),
        Emptied(NodeName("n0"), 1, 0, 0, (PodKey("x/big0"),)),
    )


def test_pods_never_move_onto_a_node_that_is_emptied_next(solver: SolverProcess) -> None:
    start = snapshot(node("n0", 2), node("n1", 4), queue("q"), Members("g", "q", 2, on=["n0"]))

    found = draining(start, CONFIG, ["n0", "n1"], process=solver)

    assert {e.node: e.moves for e in found.emptied} == {"n0": 0, "n1": 0}


def test_a_gang_that_loses_a_member_is_completed_elsewhere(solver: SolverProcess) -> None:
    start = snapshot(
        *(node(f"n{i}", 2) for i in range(3)), queue("q"),
        Members("g", "q", 2, on=["n0", "n1"], minimum=2),
    )  # fmt: skip

    found = draining(start, CONFIG, ["n0"], process=solver)

    assert found.emptied == (Emptied(N, 1, 1, 0, ()),)


def test_who_would_be_stopped_for_them_is_told(solver: SolverProcess) -> None:
    start = snapshot(
        node("n0", 2), node("n1", 2), queue("q"),
        Members("high", "q", 2, on=["n0"], priority=5), Members("low", "q", 2, on=["n1"]),
    )  # fmt: skip

    found = draining(start, CONFIG, ["n0"], process=solver)

    assert found.emptied == (Emptied(N, 1, 0, 1, (PodKey("x/low0"),)),)


def test_an_empty_node_comes_first(solver: SolverProcess) -> None:
    start = snapshot(node("n0", 2), node("n1", 2), queue("q"), Members("g", "q", 2, on=["n0"]))

    found = draining(start, CONFIG, ["n0", "n1"], process=solver)

    assert [e.node for e in found.emptied] == ["n1", "n0"]


@pytest.mark.parametrize(
    ("there", "want"),
    [
        ([Members("g", "q", on=["n0"], preemptable=False)], "may not be preempted"),
        ([Members("g", "q", on=["n0"], pod={"preemptable": False})], "may not be preempted"),
        ([Members("g", "q", on=["n0"], pod={"critical": True})], "is critical"),
        ([Members("g", "q", on=["n0"], pod={"protected_until_s": NOW + 9})], "is cooling down"),
        ([Members("g", "gone", on=["n0"])], "is of a queue that does not exist"),
        ([foreign("f", 1, "n0")], "is of scheduler unknown: whether it may stop is not known"),
        (
            [Members("g", "q", on=["n0", "n0"]), budget("g", 1)],
            "budget x/g bears 1 disruptions; emptying the node takes 2",
        ),
    ],
)
def test_what_must_not_stop_keeps_its_node(
    there: list[Any], want: str, solver: SolverProcess
) -> None:
    start = snapshot(node("n0", 4), node("n1", 4), queue("q"), *there)

    found = draining(start, CONFIG, ["n0"], process=solver)

    assert found.emptied == ()
    (kept,) = found.kept
    assert {b.why for b in kept.blockers} == {want}


def test_pods_of_daemonsets_and_terminating_ones_keep_nothing() -> None:
    from msgspec.structs import replace

    agent = replace(foreign("f", 1, "n0"), owner="DaemonSet/agent")
    ending = foreign("e", 1, "n0", PodState.TERMINATING)
    start = snapshot(node("n0", 4), agent, ending)

    assert blockers_of(start, CONFIG, N) == []


def test_a_budget_that_bears_one_node_after_the_other_is_borne(solver: SolverProcess) -> None:
    start = snapshot(
        *(node(f"n{i}", 2) for i in range(4)), queue("q"),
        Members("g", "q", 2, on=["n0", "n1"], minimum=1), budget("g", 1),
    )  # fmt: skip

    found = draining(start, CONFIG, ["n0", "n1"], process=solver)

    assert [(e.node, e.moves) for e in found.emptied] == [("n0", 1), ("n1", 1)]


def test_a_node_has_to_be_there() -> None:
    with pytest.raises(InputError, match="there is no node n9"):
        draining(snapshot(node("n0", 4)), CONFIG, ["n9"])
