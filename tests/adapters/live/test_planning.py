"""Few pods that come one by one are placed at once, as well as the solver would."""

from collections.abc import Iterator
from random import Random
from typing import Any

import pytest
from msgspec.structs import replace

from apportion.adapters.live import planning, single
from apportion.adapters.live.planning import DIRECT, STARTING, Solving
from apportion.models import (
    Config,
    NodeSelectorTerm,
    Plan,
    PodTerm,
    Requirement,
    Snapshot,
    TopologyRequest,
    snapshot_of,
)
from apportion.models.config import TierSettings
from apportion.solver.entry import plan
from apportion.solver.process import SolverProcess
from oracle.build import Members, node, only, queue, snapshot

LIVE = Config(budget_ms=60_000, polish_ms=60_000)
CALM = snapshot(node("n1", 4), queue("q"))


class Never(SolverProcess):
    """A solver process that is there, and is not to be asked."""

    def start(self) -> None:
        pass

    def wait(self, limit_s: float | None = None) -> bool:
        return True

    def solve(self, *asked: Any, **more: Any) -> Any:
        raise AskedError


class AskedError(Exception):
    """The solver was asked."""


def after_calm(world: Snapshot, config: Config = LIVE) -> Any:
    """Plan the world after a cycle in which nothing waited."""
    solving = Solving()
    solving(CALM, config, Never())
    return solving(world, config, Never())


def cluster(*waiting: Members) -> Snapshot:
    nodes = [node(f"n{i}", 8, gpus=4) for i in range(1, 9)]
    return snapshot(*nodes, queue("q"), Members("old", "q", on=["n1", "n2"]), *waiting)


def singles(many: int) -> list[Members]:
    return [Members(f"w{i:02}", "q", waiting=1) for i in range(many)]


def test_few_pods_each_on_its_own_start_without_the_solver() -> None:
    made = after_calm(cluster(*singles(3)))

    assert len(made.binds) == 3
    assert (made.solver.engine, made.solver.status) == ("greedy", "feasible")
    assert made.solver.detail == DIRECT
    assert made.config == LIVE.digest


class Starting(Never):
    """A solver process that is not there yet."""

    def wait(self, limit_s: float | None = None) -> bool:
        return False


def test_until_the_solver_is_there_only_the_first_plan_is_a_makeshift() -> None:
    solving = Solving()

    first = solving(cluster(*singles(3)), LIVE, Starting())
    second = solving(cluster(*singles(3)), LIVE, Starting())

    assert (first.solver.status, first.solver.detail) == ("fallback", STARTING)
    assert (second.solver.status, second.solver.detail) == ("feasible", DIRECT)
    assert len(second.binds) == 3


def test_a_gang_is_placed_greedily_until_the_solver_is_there() -> None:
    solving = Solving()
    gang = Members("g", "q", waiting=3, minimum=3)

    made = [solving(cluster(gang), LIVE, Starting()) for _ in range(2)]

    assert [m.solver.detail for m in made] == [STARTING, STARTING]
    assert [len(m.binds) for m in made] == [3, 3]


WISH = {"preferred_nodes": ((5, NodeSelectorTerm((Requirement("zone", "In", ("a",)),))),)}
NEAR = {"anti_affinity": (PodTerm("zone", only("w"), None),)}


@pytest.mark.parametrize(
    ("waiting", "config"),
    [
        pytest.param([Members("g", "q", waiting=3, minimum=3)], LIVE, id="a gang"),
        pytest.param([Members("w", "q", waiting=1, spec=WISH)], LIVE, id="a wish"),
        pytest.param([Members("w", "q", waiting=1, spec=NEAR)], LIVE, id="it sees pods"),
        pytest.param(
            [Members("w", "q", waiting=2, topology=TopologyRequest("t", "", "rack"))], LIVE,
            id="they want to be near each other",
        ),
        pytest.param(singles(2), replace(LIVE, polish_ms=None), id="the budget is for places"),
        pytest.param(
            singles(2),
            replace(LIVE, tiers=TierSettings(packing="expected-fragmentation")),
            id="places are chosen by expected work",
        ),
    ],
)  # fmt: skip
def test_else_the_solver_is_asked(waiting: list[Members], config: Config) -> None:
    with pytest.raises(AskedError):
        after_calm(cluster(*waiting), config)


def test_many_pods_at_once_are_searched_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(single, "FEW_PODS", 3)

    assert after_calm(cluster(*singles(3))).solver.detail == DIRECT
    with pytest.raises(AskedError):
        after_calm(cluster(*singles(4)))


def test_what_cannot_start_is_planned_with_all_means() -> None:
    with pytest.raises(AskedError):
        after_calm(cluster(*singles(2), Members("big", "q", cpu=6, waiting=10)))


BIG = Members("big", "q", cpu=6, waiting=10, minimum=10)
"""It has to wait, and nobody has to leave for it."""


def after_held(world: Snapshot, *more: Members) -> tuple[Plan, Plan]:
    """Return a full plan of the world, and the one after it when more has come."""
    solving, greedy = Solving(), replace(LIVE, engine="greedy", deterministic=True)
    first = solving(world, greedy, None)
    groups = [*world.groups, *(m.group for m in more)]
    pods = [*world.pods, *(p for m in more for p in m.pods)]
    then = snapshot_of(
        taken_at_s=world.taken_at_s, nodes=world.nodes, queues=world.queues, groups=groups,
        pods=pods,
    )  # fmt: skip
    return first, solving(then, greedy, None)


def test_single_pods_that_come_while_a_gang_waits_are_placed_directly() -> None:
    first, second = after_held(cluster(BIG), *singles(3))

    assert second.solver.detail == DIRECT
    assert len(second.binds) == 3
    assert second.held == first.held
    assert [h.group for h in second.held] == ["x/big"]


def test_single_pods_that_do_not_fit_beside_what_waits_are_planned_with_it() -> None:
    large = Members("w", "q", cpu=9, waiting=1)

    first, second = after_held(cluster(BIG), large)

    assert first.solver.detail == second.solver.detail != DIRECT
    assert {h.group for h in second.held} == {"x/big", "x/w"}


@pytest.fixture(scope="module")
def process() -> Iterator[SolverProcess]:
    with SolverProcess() as one:
        one.wait()
        yield one


def crowded(seed: int) -> Snapshot:
    """Return a cluster of GPUs in use at random, and up to ten pods that wait."""
    rng = Random(seed)
    free = {f"n{i}": [16, 8] for i in range(12)}
    nodes = [node(name, cpu, gpus) for name, (cpu, gpus) in free.items()]
    parts = []
    sizes = ((1, 0), (2, 1), (2, 1), (4, 2), (8, 4))
    for i in range(40):
        at, (cpu, gpus) = rng.choice(list(free)), rng.choice(sizes)
        if free[at][0] >= cpu and free[at][1] >= gpus:
            free[at] = [free[at][0] - cpu, free[at][1] - gpus]
            parts.append(Members(f"r{i}", "q", cpu=cpu, gpus=gpus, on=[at]))
    for i in range(rng.choice((1, 3, 10))):
        cpu, gpus = rng.choice(sizes[:3])
        parts.append(Members(f"w{i}", "q", cpu=cpu, gpus=gpus, waiting=1))
    return snapshot(*nodes, queue("q"), *parts)


@pytest.mark.parametrize("seed", range(6))
def test_their_places_are_as_good_as_the_solvers(seed: int, process: SolverProcess) -> None:
    world = crowded(seed)
    solving = Solving()
    solving(CALM, LIVE, Never())

    made = solving(world, LIVE, Never())
    best = plan(world, replace(LIVE, deterministic=True), process=process)

    assert made.solver.detail == planning.DIRECT
    assert [t.value for t in made.objective] == [t.value for t in best.objective]
