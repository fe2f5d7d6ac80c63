"""Neighbourhoods: what moves makes room for what is held; better and legal, or as it was."""

import time
from collections.abc import Sequence
from itertools import count
from typing import Any

import pytest

from apportion.models import Config, GroupKey, Plan, Snapshot
from apportion.policies.goals import goals_for
from apportion.policies.legality import is_legal
from apportion.policies.outcome import Outcome
from apportion.policies.registry import rules_for
from apportion.policies.scene import Scene
from apportion.solver import entry, improve, late
from apportion.solver.allowance import Allowance
from apportion.solver.contended import Contended
from apportion.solver.decode import Decision, outcome_of
from apportion.solver.entry import plan, settle_greedy
from apportion.solver.greedy import rank_and_place
from apportion.solver.held import held_of
from apportion.solver.leveling import levels_of
from apportion.solver.neighbourhood import Neighbourhood, Part
from apportion.solver.process import Reply
from apportion.solver.rows import TierResult, vector_of
from apportion.solver.search import Clock
from oracle.build import Members, node, queue, snapshot

from .children import Failing, InProcess

CONFIG = Config(deterministic=True)


def freed_and_idle() -> Snapshot:
    """Return a cluster in which a claimant takes free room, and leaves room idle that it freed.

    What it evicts leaves two nodes: one more than it needs, and nobody else may use that.
    """
    return snapshot(
        *(node(f"n{i}", 4) for i in range(3)),
        queue("lender", 0), queue("owner", 8),
        Members("borrowed", "lender", 4, on=["n0", "n1"], minimum=2),
        Members("due", "owner", 4, waiting=2, minimum=2, priority=9),
        Members("hopeful", "lender", 4, waiting=1),
    )  # fmt: skip


class Tried:
    """A cluster with its greedy plan, before and after."""

    def __init__(
        self,
        of: Snapshot,
        config: Config = CONFIG,
        process: InProcess | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.scene = Scene(of, config, rules_for(config))
        ranking = rank_and_place(self.scene)
        self.levels = levels_of(self.scene, ranking)
        self.goals = goals_for(config, self.scene.rules)
        self.process = process or InProcess()
        self.before = settle_greedy(self.scene, ranking, self.levels)
        self.after = improve.improved(
            self.scene, self.levels, self.goals, self.before, self.process, clock or Clock(None)
        )

    def outcome(self, decision: Decision) -> Outcome:
        return outcome_of(self.scene, decision, self.levels)

    def value(self, decision: Decision) -> tuple[int, ...]:
        return vector_of(self.outcome(decision), self.goals)


@pytest.fixture
def out_of_reach(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entry, "is_within_reach", lambda scene, clock: False)


def test_what_may_use_freed_room_moves_there_and_leaves_free_room_to_others() -> None:
    tried = Tried(freed_and_idle())

    assert [m.key for m in held_of(tried.outcome(tried.before))] == ["x/hopeful"]
    assert held_of(tried.outcome(tried.after)) == []
    assert tried.after.evicted == tried.before.evicted
    assert is_legal(tried.outcome(tried.after))
    assert tried.value(tried.after) > tried.value(tried.before)


@pytest.mark.usefixtures("out_of_reach")
def test_an_improved_plan_says_so_and_is_the_same_again() -> None:
    made, again = (plan(freed_and_idle(), CONFIG, None, InProcess()) for _ in range(2))

    assert (made.solver.engine, made.solver.status) == ("improve", "feasible")
    assert "x/hopeful0" in made.places
    assert made.digest == again.digest


def test_nothing_is_begun_where_all_starts_or_no_time_is_left() -> None:
    served = Tried(snapshot(node("n", 4), queue("q"), Members("a", "q", 1, waiting=2)))
    late = Tried(freed_and_idle(), clock=Clock(0.0))

    for tried in (served, late):
        assert tried.after is tried.before
        assert tried.process.asked == []


def test_it_ends_where_the_certificate_leaves_nothing_to_gain() -> None:
    of = snapshot(
        node("n", 4), *map(queue, "qrs"),
        *(Members(f"in-{q}", q, 3, waiting=1) for q in "qrs"),
    )  # fmt: skip
    stops = Tried(of)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(improve, "certified", lambda outcome, tiers, limit_s: [_open(tiers[0])])
        goes_on = Tried(of)

    assert stops.after.places == goes_on.after.places
    assert 0 < len(stops.process.asked) < len(goes_on.process.asked)


def _open(of: TierResult) -> TierResult:
    return TierResult(of.goal, of.value, of.value + 1)


class Ticking(Clock):
    """A clock on which every look takes a millisecond."""

    def spent(self) -> float:
        self.started += 0.001
        return self.started


@pytest.mark.parametrize(("used_ms", "begins"), [(1, True), (0, False)])
def test_none_is_begun_on_a_machine_too_busy_to_end_it(
    used_ms: int, begins: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = count(step=used_ms)
    monkeypatch.setattr(time, "process_time", lambda: next(now) / 1000)

    tried = Tried(freed_and_idle(), clock=Ticking(0.5, started=0.0))

    assert bool(tried.process.asked) == begins


@pytest.mark.parametrize("status", ["KILLED", "LATE", "UNKNOWN", "INFEASIBLE"])
def test_a_solver_without_an_answer_changes_nothing(status: str) -> None:
    tried = Tried(freed_and_idle(), process=Failing(0, Reply(status)))

    assert tried.process.asked
    assert tried.after is tried.before


def test_a_plan_that_is_not_better_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(improve, "vector_of", lambda outcome, goals: (0,))
    tried = Tried(freed_and_idle())

    assert tried.after is tried.before


def test_a_plan_that_the_checker_refuses_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(improve, "verify", lambda outcome: ["a rule is broken"])
    tried = Tried(freed_and_idle())

    assert tried.after is tried.before


@pytest.mark.parametrize(
    ("nodes", "groups", "want"),
    [
        ({0, 1, 2}, {GroupKey("x/hopeful")}, True),
        ({2}, {GroupKey("x/hopeful")}, False),
        ({0, 1, 2}, set(), False),
    ],
    ids=["all nodes", "only the node it wants", "nobody may start"],
)
def test_only_what_is_free_changes(nodes: set[int], groups: set[GroupKey], want: bool) -> None:
    tried = Tried(freed_and_idle())
    part = Part(tried.outcome(tried.before), Neighbourhood(frozenset(groups), frozenset(nodes)))

    answer = part.more_work(tried.goals, InProcess(), None, Allowance(4.0))

    assert (answer.decision is not None) == want
    assert answer.is_closed


def one_node(self: Contended, size: int, turn: int = 0) -> Neighbourhood:
    """Leave all nodes but one out of the neighbourhood."""
    return Neighbourhood(frozenset(m.key for m in self._held.members), frozenset({2}))


def closed_is_proven(outcome: Outcome, tiers: Sequence[TierResult]) -> list[TierResult]:
    """A mutant: there is nothing better in the neighbourhood, so the plan is called the best."""
    return [TierResult(t.goal, t.value, t.value) for t in tiers]


@pytest.mark.usefixtures("out_of_reach")
@pytest.mark.parametrize("kind", improve.KINDS, ids=[k.name for k in improve.KINDS])
@pytest.mark.parametrize("is_mutant", [False, True], ids=["bounds", "mutant"])
def test_bound_of_a_neighbourhood_is_no_bound_of_the_plan(
    is_mutant: bool, kind: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    best = work_of(plan(freed_and_idle(), CONFIG, None, InProcess()))
    monkeypatch.setattr(improve, "KINDS", (kind,))
    monkeypatch.setattr(kind, "around", one_node)
    for name, value in (("size", 1), ("turns", 1)):
        monkeypatch.setattr(kind, name, value)
    if is_mutant:
        monkeypatch.setattr(late, "certified", closed_is_proven)
    process = InProcess()

    made = plan(freed_and_idle(), CONFIG, None, process)

    assert process.replies[-1].status == "INFEASIBLE"
    assert work_of(made) < best
    assert (bounds_of(made) < best) == is_mutant


def work_of(made: Plan) -> list[int]:
    return [row.value for row in made.objective[:3]]


def bounds_of(made: Plan) -> list[int]:
    return [row.bound for row in made.objective[:3] if row.bound is not None]
