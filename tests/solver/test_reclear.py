"""Whom a group evicts is chosen anew: better as a whole and legal, or not at all; no bound."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from benchmarks.edges import reclaim

from apportion.models import Config, Plan, Snapshot
from apportion.policies.goals import EVICTION_COSTS, goals_for
from apportion.policies.legality import is_legal
from apportion.policies.outcome import Outcome
from apportion.policies.registry import rules_for
from apportion.policies.scene import Scene
from apportion.solver import entry, late, reclear
from apportion.solver.clearing import Clearing, Option, options_of
from apportion.solver.decode import Decision, outcome_of
from apportion.solver.draft import Draft
from apportion.solver.entry import plan, settle_greedy
from apportion.solver.greedy import rank_and_place
from apportion.solver.leveling import levels_of
from apportion.solver.process import SolverProcess
from apportion.solver.rows import TierResult
from apportion.solver.search import Clock
from oracle.build import Members, budget, node, queue, snapshot

from .children import InProcess
from .test_costs import GANG, NODES, SEEDS, cheapest, costs, ways

CONFIG = Config(deterministic=True)


@pytest.fixture(autouse=True)
def any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reclear, "FEW_CELLS", 0)


class Tried:
    """A cluster with its greedy plan, before and after."""

    def __init__(self, of: Snapshot) -> None:
        self.scene = Scene(of, CONFIG, rules_for(CONFIG))
        ranking = rank_and_place(self.scene)
        self.draft: Draft = ranking.draft
        self.levels = levels_of(self.scene, ranking)
        self.greedy = settle_greedy(self.scene, ranking, self.levels)
        self.process = InProcess()
        goals = goals_for(CONFIG, self.scene.rules)
        self.after = reclear.recleared(
            self.scene, self.levels, goals, self.draft, self.greedy, self.process, Clock(None)
        )

    def outcome(self, decision: Decision) -> Outcome:
        return outcome_of(self.scene, decision, self.levels)

    def costs(self, decision: Decision) -> tuple[int, ...]:
        return tuple(e.measure(self.outcome(decision)) for e in EVICTION_COSTS)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_gang_takes_the_cheapest_nodes_together(seed: int) -> None:
    tried = Tried(reclaim(NODES, GANG, seed))

    assert is_legal(tried.outcome(tried.after))
    assert tried.costs(tried.after)[:4] == cheapest(seed)[:4]
    assert tried.costs(tried.after) <= tried.costs(tried.greedy)


def test_budgets_are_borne_by_all_victims_together() -> None:
    """Two nodes are cheap, but the budget bears one of their pods."""
    tried = Tried(
        snapshot(
            *(node(f"n{i}", 4) for i in range(4)), queue("q"), budget("low", 1),
            Members("low", "q", 4, on=["n0", "n1"], minimum=0),
            *(Members(f"mid{i}", "q", 4, on=[f"n{i}"], priority=1) for i in (2, 3)),
            Members("gang", "q", 4, waiting=2, minimum=2, priority=9),
        )
    )  # fmt: skip

    assert is_legal(tried.outcome(tried.after))
    assert sorted(k[:5] for k in tried.after.evicted) == ["x/low", "x/mid"]


def dearest(self: Clearing, process: SolverProcess, limit_s: float | None, last: bool) -> object:
    """Answer with the last nodes that there are, whoever is on them."""
    nodes = list({o.node: o for o in self._options if o.count == 1}.values())
    return nodes[-GANG:]


def beyond_budgets(
    self: Clearing, process: SolverProcess, limit_s: float | None, last: bool
) -> Sequence[Option]:
    """Answer with the cheapest nodes, whatever budgets say."""
    return sorted(self._options, key=lambda o: len(o.victims))[:GANG]


@pytest.mark.parametrize("mutant", [dearest, beyond_budgets])
def test_what_is_worse_or_illegal_changes_nothing(
    mutant: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    of = reclaim(NODES, GANG, 2)
    best = Tried(of).after
    monkeypatch.setattr(Clearing, "solve", mutant)
    tried = Tried(of)

    assert tried.costs(tried.after) >= tried.costs(best)
    assert is_legal(tried.outcome(tried.after))
    assert tried.costs(tried.after) <= tried.costs(tried.greedy)
    assert tried.draft.places == tried.after.places
    assert frozenset(tried.draft.evicted) == tried.after.evicted


@pytest.fixture
def out_of_reach(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entry, "is_within_reach", lambda scene, clock: False)


@pytest.mark.usefixtures("out_of_reach")
def test_an_improved_plan_says_so() -> None:
    of = reclaim(NODES, GANG, 1)

    made = plan(of, CONFIG, None, InProcess())
    greedy = plan(of, Config(engine="greedy", deterministic=True))

    assert (made.solver.engine, made.solver.status) == ("improve", "feasible")
    assert costs_of(made) < costs_of(greedy)
    assert [row.value for row in made.objective[:3]] == [row.value for row in greedy.objective[:3]]


def costs_of(made: Plan) -> list[int]:
    return [row.value for row in costs(made)]


def without_one(monkeypatch: pytest.MonkeyPatch, process: InProcess) -> None:
    """Leave one node of the best plan out of the neighbourhood."""
    del process
    whole = options_of

    def some(*of: Any) -> list[Option]:
        return [o for o in whole(*of) if o.node != 2]

    monkeypatch.setattr(reclear, "options_of", some)


def proven_there_is_proven(monkeypatch: pytest.MonkeyPatch, process: InProcess) -> None:
    """Take what was proven of the neighbourhood for a bound of the plan."""
    without_one(monkeypatch, process)
    names = ["victims", "lost work"]

    def told(outcome: Outcome, tiers: Sequence[TierResult]) -> list[TierResult]:
        proven = [r.bound for r in process.replies[-2:]]
        least = dict(zip(names, [-b for b in proven if b is not None], strict=True))
        return [TierResult(t.goal, t.value, least.get(t.goal.name, 0)) for t in tiers]

    monkeypatch.setattr(late, "certified", told)


@pytest.mark.usefixtures("out_of_reach")
@pytest.mark.parametrize(
    ("changed", "caught"), [(without_one, False), (proven_there_is_proven, True)]
)
def test_bound_of_a_neighbourhood_is_no_bound_of_the_plan(
    changed: Callable[[pytest.MonkeyPatch, InProcess], None],
    caught: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    of, process = reclaim(NODES, GANG, 1), InProcess()
    changed(monkeypatch, process)
    # Neighbourhoods would find what was left out here.
    monkeypatch.setattr(entry, "improved", lambda scene, levels, goals, first, *rest: first)

    made = plan(of, CONFIG, None, process)

    assert process.replies
    left, wrong = list(ways(of)), False
    for n, row in enumerate(costs(made)):
        assert row.bound is not None
        wrong = wrong or row.bound > min(way[n] for way in left)
        left = [way for way in left if way[n] <= row.value]
    assert wrong == caught
