"""The bench that rule authors use says yes, no, and why."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pytest

from apportion.models import Bind, GroupKey, Node, NodeName, Plan, PodKey, Reason, Violation
from apportion.policies.api import NodeFeatures, Rule
from apportion.policies.board import Board, Term
from apportion.policies.outcome import Outcome
from apportion.policies.podset import PodSet
from apportion.policies.registry import built_in
from apportion.policies.testing import accepts, after, agrees, held, objections, priced, refuses

from .builders import Members, node, queue, snapshot

WORLD = snapshot(node("n1", 4), node("n2", 4), queue("q"), Members("g", "q", waiting=2, minimum=0))
BOTH = {"x/g0": "n1", "x/g1": "n2"}


@dataclass(frozen=True, slots=True)
class NotThere:
    """A filter: nobody goes to n2."""

    name: str = "not-there"

    def sees(self, pods: PodSet) -> NodeFeatures:
        return NodeFeatures(name=True)

    def refuse(self, pods: PodSet, node: Node) -> Reason | None:
        return Reason(self.name, f"node {node.name}", "is n2") if node.name == "n2" else None


@dataclass(frozen=True, slots=True)
class OneAtATime:
    """A constraint: one pod starts at most."""

    name: str = "one-at-a-time"

    def constrain(self, board: Board) -> None: ...

    def check(self, outcome: Outcome) -> Iterable[Violation]:
        n = len(outcome.places)
        if n > 1:
            yield Violation(self.name, "plan", f"starts {n}")
            yield Violation("another", "queue q", "is blamed by mistake")


@dataclass(frozen=True, slots=True)
class Never:
    """Holds every group."""

    name: str = "never"

    def hold(self, outcome: Outcome, group: str) -> Iterable[Reason]:
        yield Reason(self.name, f"group {group}", "never")


@dataclass(frozen=True, slots=True)
class OnN1:
    """A goal: pods on n1."""

    name: str = "on n1"
    unit: str = "pods"
    sense: Literal["min", "max"] = "max"

    def cost(self, board: Board) -> Iterable[Term]:
        return ()

    def measure(self, outcome: Outcome) -> int:
        return sum(n == "n1" for n in outcome.places.values())


def test_a_filter_is_asked_about_every_pod_that_starts() -> None:
    assert accepts(NotThere(), after(WORLD, {"x/g0": "n1"}))
    assert refuses(NotThere(), after(WORLD, BOTH), "node n2", "is n2")
    assert not refuses(NotThere(), after(WORLD, {"x/g0": "n1"}))


def test_a_rule_that_only_holds_is_asked_about_every_group_that_starts() -> None:
    assert accepts(Never(), after(WORLD))
    assert refuses(Never(), after(WORLD, BOTH), "group x/g", "never")
    assert held(Never(), after(WORLD), "x/g") == [Reason("never", "group x/g", "never")]


def test_a_refusal_counts_under_the_rules_own_name_about_the_subject_and_with_the_words() -> None:
    outcome = after(WORLD, BOTH)

    assert refuses(OneAtATime(), outcome)
    assert refuses(OneAtATime(), outcome, "plan", "starts 2")
    assert not refuses(OneAtATime(), outcome, "pod x/g0")
    assert not refuses(OneAtATime(), outcome, "plan", "starts 3")
    assert not refuses(OneAtATime(), outcome, "queue q")


def test_answers_say_why() -> None:
    no = accepts(OneAtATime(), after(WORLD, BOTH))

    said = "one-at-a-time: plan: starts 2; another: queue q: is blamed by mistake"
    assert repr(no) == f"no: {said}"
    assert repr(accepts(OneAtATime(), after(WORLD))) == "yes: nothing is said"
    assert [v.rule for v in objections(OneAtATime(), after(WORLD, BOTH))] == [
        "one-at-a-time",
        "another",
    ]


def test_a_plan_is_judged_as_its_pods_and_evictions() -> None:
    bind = Bind(PodKey("x/g0"), GroupKey("x/g"), NodeName("n1"))
    plan = Plan(snapshot="", config="", binds=(bind,))

    outcome = after(WORLD, plan)

    assert outcome.places == {"x/g0": "n1"}
    assert outcome.bound == {"x/g0"}
    assert after(WORLD, {"x/g0": "n1"}).bound == set()


def test_goals_are_priced() -> None:
    assert priced(OnN1(), after(WORLD, BOTH)) == 1


def test_the_scene_knows_the_rules_that_are_handed_in() -> None:
    assert after(WORLD, rules=[NotThere()]).scene.rules == (NotThere(),)
    assert {r.name for r in after(WORLD).scene.rules if isinstance(r, Rule)} >= set(built_in())


# Agreement


def test_halves_that_say_the_same_agree_and_are_counted() -> None:
    told = [(after(WORLD), True), (after(WORLD, {"x/g0": "n1"}), True), (after(WORLD, BOTH), False)]

    result = agrees(OneAtATime(), told)

    assert result
    assert (result.accepted, result.refused) == (2, 1)


@pytest.mark.parametrize(
    ("starts", "by_solver", "want"),
    [
        (BOTH, True, "plainly False (one-at-a-time: plan: starts 2; "),
        (
            {},
            False,
            "plainly True (nothing is said), by the solver False: nothing starts, nobody leaves",
        ),
    ],
)
def test_halves_that_part_are_said_with_the_decision(
    starts: dict[str, str], by_solver: bool, want: str
) -> None:
    result = agrees(OneAtATime(), [(after(WORLD, starts), by_solver)])

    assert not result
    assert want in repr(result)


def test_a_goal_agrees_where_it_costs_what_it_measures() -> None:
    told = [(after(WORLD), 0), (after(WORLD, BOTH), 1)]

    assert agrees(OnN1(), told)
    assert not agrees(OnN1(), [(after(WORLD, BOTH), 2)])


# Every rule has its tests

FILES = {"queue": "queue_access", "budget": "budgets"}


@pytest.mark.parametrize("name", sorted(built_in()))
def test_every_rule_has_a_file_of_tests(name: str) -> None:
    file = FILES.get(name, name.replace("-", "_"))

    assert (Path(__file__).parent / f"test_{file}.py").is_file()
