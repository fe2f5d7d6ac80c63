"""Trials of changes on clusters that are too large to be planned afresh for each of them."""

from collections.abc import Iterator

import pytest

from apportion.adapters.ask.explain import Explanation, explain
from apportion.adapters.ask.trial import Trial, is_small
from apportion.models import Config, GroupKey, Snapshot
from apportion.models.edit import edited
from apportion.models.edits import AddNodes, Edit, RemoveGroup, SetPriority, SetQueue
from apportion.policies.outcome import Outcome
from apportion.policies.registry import rules_for
from apportion.policies.scene import Scene
from apportion.solver.again import drafted, finished
from apportion.solver.entry import plan
from apportion.solver.process import SolverProcess
from oracle.build import Members, node, queue, snapshot

CONFIG = Config(deterministic=True, budget_ms=2000)
GREEDY = Config(engine="greedy", deterministic=True)
G, H = GroupKey("x/g"), GroupKey("x/h")
MANY = 201
"""Pods on nodes of their own; with them a cluster is not small."""


def large(*groups: Members, nodes: int = 2, limit: int | None = None) -> Snapshot:
    """Return a cluster with a few nodes that count and very many that are full."""
    busy = Members("busy", "other", 4, on=[f"b{i}" for i in range(MANY)], preemptable=False)
    return snapshot(
        *(node(f"b{i}", 4) for i in range(MANY)), *(node(f"n{i}", 4) for i in range(nodes)),
        queue("other"), queue("q", capability={} if limit is None else {"cpu": limit * 1000}),
        busy, *groups,
    )  # fmt: skip


@pytest.fixture(scope="module")
def solver() -> Iterator[SolverProcess]:
    with SolverProcess() as process:
        yield process


def trial_of(start: Snapshot, key: GroupKey = G) -> Trial:
    made = plan(start, GREEDY)
    outcome = Outcome.of_plan(Scene(start, GREEDY, rules_for(GREEDY)), made)
    return Trial(outcome, key, None)


def explained(start: Snapshot, solver: SolverProcess, config: Config = GREEDY) -> Explanation:
    assert not is_small(start)
    return explain(start, config, G, process=solver)


def test_nodes_that_make_the_room_start_the_group_and_fewer_do_not() -> None:
    trial = trial_of(large(Members("g", "q", 4, waiting=4, minimum=4)))

    assert [trial.starts([AddNodes("n0", k)]) for k in (1, 2)] == [False, True]


def test_whoever_has_the_better_claim_takes_the_place_instead() -> None:
    one_too_many = large(
        Members("r", "q", 4, on=["n0"], priority=9, preemptable=False),
        Members("h", "q", 4, waiting=1, priority=5), Members("g", "q", 4, waiting=1),
        nodes=1,
    )  # fmt: skip
    trial = trial_of(one_too_many)

    assert [trial.starts([AddNodes("n0", k)]) for k in (1, 2)] == [False, True]
    assert not trial.starts([RemoveGroup(GroupKey("x/r"))])


def test_what_could_not_run_even_alone_is_not_planned() -> None:
    trial = trial_of(large(Members("g", "q", 9, waiting=1)))

    assert not trial.starts([SetPriority(G, 100)])
    assert trial.plans == 0


def test_equal_changes_are_planned_once() -> None:
    trial = trial_of(large(Members("g", "q", 4, waiting=4, minimum=4)))

    assert trial.starts([AddNodes("n0", 2)])
    assert trial.starts([AddNodes("n0", 2)])
    assert trial.plans == 1


def test_a_trial_says_what_a_plan_of_the_copy_says() -> None:
    start = large(
        Members("r", "q", 4, on=["n0"], priority=3), Members("s", "q", 2, on=["n1"], priority=1),
        Members("h", "q", 2, waiting=2, minimum=2, priority=2),
        Members("g", "q", 3, waiting=2, minimum=2, priority=2), limit=14,
    )  # fmt: skip
    trial = trial_of(start)
    single: list[Edit] = [
        *(AddNodes("n0", k) for k in (1, 2, 3)), *(SetPriority(G, k) for k in (0, 3, 4, 9)),
        RemoveGroup(GroupKey("x/r")), RemoveGroup(H), SetQueue("q", "limit", "cpu", 20_000),
    ]  # fmt: skip
    cases = [*([e] for e in single), [single[-1], AddNodes("n0", 2)]]

    for edits in cases:
        made = plan(edited(start, edits), GREEDY)
        mine = [p for p in made.places if p.startswith("x/g")]

        found = trial.of(edits)

        assert (found.starts, found.evicts) == (bool(mine), len(made.evictions) if mine else 0)
    assert {trial.starts(edits) for edits in cases} == {True, False}


def test_more_of_a_queue_starts_the_group_and_less_does_not() -> None:
    start = large(Members("r", "q", 2, on=["n0"]), Members("g", "q", 4, waiting=1), limit=5)
    trial = trial_of(start)

    assert trial.starts([SetQueue("q", "limit", "cpu", 6000)])
    assert not trial.starts([SetQueue("q", "limit", "cpu", 5999)])


def test_victims_are_found_by_counting(solver: SolverProcess) -> None:
    start = large(
        Members("r", "q", 3, on=["n0"], priority=9, preemptable=False),
        Members("s", "q", 1, on=["n1"], priority=9, preemptable=False),
        Members("g", "q", 4, waiting=1),
    )  # fmt: skip

    found = explained(start, solver)

    says = [c.says for c in found.changes if c.kind == "victims"]
    assert sorted(says) == [f"remove group x/{g}" for g in ("busy", "r", "s")]


def test_as_many_nodes_are_added_as_others_need_that_come_before(solver: SolverProcess) -> None:
    start = large(
        *(Members(f"h{k}", "q", 4, waiting=1, priority=5) for k in range(4)),
        Members("r", "q", 4, on=["n0"], priority=9, preemptable=False),
        Members("g", "q", 4, waiting=1), nodes=1,
    )  # fmt: skip

    found = explained(start, solver)

    told = [(c.says, c.smallest) for c in found.changes if c.kind == "nodes"]
    assert told == [("add 5 nodes like b0", True)]


def test_kinds_for_which_there_is_no_time_are_named(solver: SolverProcess) -> None:
    start = large(Members("g", "q", 4, waiting=4, minimum=4))

    found = explain(start, GREEDY, G, process=solver, stop=lambda: True)

    assert found.changes == ()
    assert {"nodes", "members", "victims"} <= set(found.left_out)
    assert explained(start, solver).left_out == ()


def test_a_plan_that_is_cut_short_tells_nothing() -> None:
    trial = trial_of(large(Members("g", "q", 4, waiting=4, minimum=4)))
    two: list[Edit] = [AddNodes("n0", 2)]
    assert trial.likely(two)

    trial.stop = lambda: True
    cut = trial.starts(two), trial.refuted(two)
    trial.stop = lambda: False

    assert cut == (False, False)
    assert trial.starts(two)


def test_the_order_list_is_gone_through_no_more_when_time_is_over() -> None:
    start = large(Members("g", "q", 4, waiting=4, minimum=4), nodes=4)
    scene = Scene(start, GREEDY, rules_for(GREEDY))

    assert finished(drafted(scene), lambda: True) is None
    assert finished(drafted(scene)) is not None


def test_a_known_plan_is_explained_as_it_is(solver: SolverProcess) -> None:
    start = large(Members("g", "q", 4, waiting=1), nodes=1)
    held = plan(large(Members("g", "q", 9, waiting=1), nodes=1), GREEDY)

    found = explain(start, GREEDY, G, process=solver, known=held)

    assert found.order is not None
    assert found.order.room
    assert found.changes == ()
