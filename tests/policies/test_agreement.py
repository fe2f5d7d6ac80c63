"""Both halves of every rule and goal say the same about decisions that a board can express.

Held groups, pods that fit nowhere and running work that nobody may evict never reach a board: there
only the plain half speaks, and the other tests of this folder ask it.
"""

from collections.abc import Iterator
from functools import cache
from random import Random

import pytest
from msgspec.structs import replace

from apportion.models import Config, NodeName, PodKey, Snapshot, TierSettings
from apportion.models.config import Packing
from apportion.policies.api import Constraint, Objective
from apportion.policies.goals import goals_for
from apportion.policies.levels import Levels
from apportion.policies.outcome import Outcome
from apportion.policies.registry import built_in, rules_for
from apportion.policies.scene import Scene
from apportion.policies.testing import agrees
from apportion.solver.greedy import rank_and_place
from apportion.solver.leveling import levels_of
from apportion.solver.process import SolverProcess
from oracle.claiming import claiming
from oracle.leveled import leveled
from oracle.stored import stored
from oracle.worlds import settings, world

from .agreement import Together, Told, decisions, legal_plans
from .builders import Members, after, goal, node, queue, snapshot
from .company import alike, company

SEEDS = 50
ALONE = (
    "capacity", "quota", "budget", "host-ports", "pod-affinity", "topology-spread", "attach-limits",
    "shared-claims", "topology", "resource-claims",
    "storage-quota",
)  # fmt: skip
LEAVING = ("gang", "preemption", "host-ports", "pod-affinity", "shared-claims")
"""They share what is told of those who leave. Preemption says plainly that a victim may leave and
that nobody takes its port, domain or claim without a right: the gang and those rules tell it."""


def _worlds(seed: int) -> tuple[Snapshot, ...]:
    return world(seed, "tiny"), company(seed), stored(100 + seed, "small"), claiming(seed, "small")


@cache
def scenes() -> tuple[Scene, ...]:
    every = [(w, settings(n)) for n in range(SEEDS) for w in _worlds(n)]
    every += [(leveled(100 + n, "small"), settings(n)) for n in range(SEEDS)]
    return tuple(Scene(w, config, rules_for(config)) for w, config in every)


@cache
def tried(n: int, process: SolverProcess) -> tuple[Outcome, ...]:
    return tuple(decisions(scenes()[n], process, Random(n)))


def constraints(scene: Scene) -> dict[str, Constraint]:
    return {r.name: r for r in scene.rules if isinstance(r, Constraint)}


def together(scene: Scene, names: tuple[str, ...]) -> Together:
    rules = constraints(scene)
    return Together(" and ".join(names), tuple(rules[x] for x in names))


def told(
    names: tuple[str, ...], process: SolverProcess, after_others: bool = False
) -> Iterator[tuple[Outcome, bool]]:
    """Give decisions, and whether the rows of these rules hold there.

    Where a pod can go on the board depends on rights, so that decisions against them are left
    out. ``after_others``: only those that all other rules let pass, where the rows rely on theirs.
    """
    for n, scene in enumerate(scenes()):
        rules = constraints(scene).items()
        others = [r for x, r in rules if x not in names and (after_others or x == "preemption")]
        board = Told(scene, process, together(scene, names))
        for outcome in tried(n, process):
            if any(v for r in others for v in r.check(outcome)):
                continue
            same = board.as_told(outcome)
            assert same is not None
            yield same[0], board.best(same[1]) is not None


@pytest.mark.parametrize("name", ALONE)
def test_a_rule_alone_bears_what_it_lets_pass(name: str, process: SolverProcess) -> None:
    result = agrees(together(scenes()[0], (name,)), told((name,), process))

    assert result
    assert result.accepted > 300
    assert result.refused >= 3


def test_rules_on_who_leaves_bear_what_they_let_pass(process: SolverProcess) -> None:
    """Claims are told on the understanding that nodes are not overfull: others go first."""
    result = agrees(together(scenes()[0], LEAVING), told(LEAVING, process, after_others=True))

    assert result
    assert result.accepted > 300
    assert result.refused > 100


def test_the_whole_model_bears_what_all_rules_let_pass(process: SolverProcess) -> None:
    every = tuple(constraints(scenes()[0]))
    result = agrees(together(scenes()[0], every), told(every, process))

    assert result
    assert result.accepted > 300
    assert result.refused > 100


def test_a_group_that_needs_a_role_alone_leaves_as_a_whole(process: SolverProcess) -> None:
    """Its other member has succeeded, so that no number is left to reach but the role's."""
    scene = Scene(world(12, "small"), settings(12), rules_for(settings(12)))
    board = Told(scene, process, together(scene, tuple(constraints(scene))))
    outcome = Outcome(
        scene, {PodKey("b/g1-0"): NodeName("n0")}, {PodKey("a/g4-0"), PodKey("a/g5-0")}, bound=()
    )

    same = board.as_told(outcome)

    assert not any(v for r in constraints(scene).values() for v in r.check(outcome))
    assert same is not None
    assert board.best(same[1]) is not None


def test_no_rule_is_left_out() -> None:
    filters = {"node-state", "node-affinity", "taints", "volumes"}
    """They are asked before there is a board."""
    silent = {"queue"}
    """Held groups never reach the board: nothing is left to tell."""

    elsewhere = {"devices", "numa", "device-blocks"}
    """Worlds of their own: test_devices.py, test_numa_plans.py, test_device_blocks.py."""

    assert {*ALONE, *LEAVING, *filters, *silent, *elsewhere} == set(built_in())


def test_held_groups_never_reach_a_board(process: SolverProcess) -> None:
    result = agrees(together(scenes()[0], ("queue",)), told(("queue",), process))

    assert result
    assert result.refused == 0


def test_every_legal_plan_can_be_told(process: SolverProcess) -> None:
    n = 0
    for seed in range(SEEDS):
        config = settings(seed)
        scene = Scene(world(seed, "tiny"), config, rules_for(config))
        board = Told(scene, process)
        for places, evicted in legal_plans(scene.snapshot, config, Random(seed), 20):
            outcome = Outcome(scene, places, evicted, bound=())
            assert board.as_told(outcome) is not None, (seed, places, evicted)
            n += 1
    assert n > 300


def test_where_nodes_are_merged_no_legal_plan_is_lost(process: SolverProcess) -> None:
    """Room is pooled there: rows may bear more than can be spread, and never less."""
    merged = n = 0
    for seed in range(60):
        config = settings(seed)
        scene = Scene(alike(seed), config, rules_for(config))
        every = together(scene, tuple(constraints(scene)))
        board = Told(scene, process, every, exact_pairs=0)
        if all(c.size == 1 for c in board.board.classes):
            continue
        merged += 1
        for places, evicted in legal_plans(scene.snapshot, config, Random(seed), 8):
            values = board.values(Outcome(scene, places, evicted, bound=()))
            assert values is not None, (seed, places, evicted)
            assert board.best(values) is not None, (seed, places, evicted)
            n += 1
    assert merged > 5
    assert n > 40


# Goals

SIDE = {"stability": 1}
"""Goals whose cost is only near the measure, and on which side of it the cost is.

stability: of equal pods any may keep the promise made to one.
"""


def with_promises(w: Snapshot) -> Snapshot:
    """Let pods know what was promised to them, as the cycle before would have."""
    promised = dict(w.nominations)
    pods = (replace(p, nominated=promised.get(p.key)) if p.ours else p for p in w.pods)
    return replace(w, pods=tuple(pods))


@cache
def goal_scenes() -> tuple[tuple[Scene, Levels], ...]:
    packings: tuple[Packing, ...] = ("binpack", "spread", "fragmentation")
    out = []
    made = [company(n) if n % 2 else world(n, "tiny") for n in range(40)]
    made += [leveled(n, "small") for n in (4, 6, 27, 44)]  # plans of theirs spread over domains
    for n, each in enumerate(made):
        config = replace(settings(n), tiers=TierSettings(packing=packings[n % 3]))
        w = with_promises(each)
        scene = Scene(w, config, rules_for(config))
        out.append((scene, levels_of(scene, rank_and_place(scene))))
    return tuple(out)


def priced(name: str, process: SolverProcess) -> Iterator[tuple[Objective, Outcome, int]]:
    """Give the goal, legal plans, and what the solver makes of the goal there."""
    for n, (scene, levels) in enumerate(goal_scenes()):
        for tier in goals_for(scene.config, scene.rules):
            if tier.name != name:
                continue
            every = together(scene, tuple(constraints(scene)))
            board = Told(scene, process, every, tier, levels)
            for places, evicted in legal_plans(scene.snapshot, scene.config, Random(n), 8):
                outcome = Outcome(scene, places, evicted, bound=())
                same = board.as_told(outcome)
                if same is not None:
                    best = board.best(same[1])
                    assert best is not None
                    yield tier, same[0], best


def goal_names() -> list[str]:
    return list(dict.fromkeys(g.name for s, _ in goal_scenes() for g in goals_for(s.config)))


@pytest.mark.parametrize("name", [g for g in goal_names() if g not in SIDE])
def test_a_goal_costs_what_it_measures(name: str, process: SolverProcess) -> None:
    every = list(priced(name, process))
    result = agrees(every[0][0], [(o, best) for _, o, best in every])

    assert result
    assert result.accepted > 0


@pytest.mark.parametrize("name", SIDE)
def test_the_cost_of_other_goals_is_on_one_side_of_the_measure(
    name: str, process: SolverProcess
) -> None:
    every = [(best, tier.measure(o)) for tier, o, best in priced(name, process)]

    assert any(measured for _, measured in every)
    assert all(SIDE[name] * (best - measured) >= 0 for best, measured in every)


@pytest.mark.parametrize("name", ["binpack", "spread", "fragmentation"])
def test_where_nodes_are_merged_a_goal_promises_no_less_than_it_measures(
    name: Packing, process: SolverProcess
) -> None:
    n = 0
    for seed in range(50):
        config = replace(settings(seed), tiers=TierSettings(packing=name))
        scene = Scene(alike(seed), config, rules_for(config))
        tier = next(g for g in goals_for(config) if g.name == name)
        every = together(scene, tuple(constraints(scene)))
        board = Told(scene, process, every, tier, exact_pairs=0)
        if all(c.size == 1 for c in board.board.classes):
            continue
        for places, evicted in legal_plans(scene.snapshot, config, Random(seed), 5):
            outcome = Outcome(scene, places, evicted, bound=())
            values = board.values(outcome)
            best = None if values is None else board.best(values)
            assert best is not None
            better = best - tier.measure(outcome)
            assert better >= 0 if tier.sense == "max" else better <= 0
            n += 1
    assert n > 20


def test_spread_costs_what_it_measures(process: SolverProcess) -> None:
    """g asks for cores only; one of two devices is in use, and h could ask for the other."""
    w = snapshot(
        node("n1", 10, 2),
        queue("q"),
        Members("old", "q", cpu=0, gpus=1, on=["n1"]),
        Members("h", "q", cpu=0, gpus=1, waiting=1),
        Members("g", "q", waiting=1),
    )
    spread = goal("spread", Config(tiers=TierSettings(packing="spread")))
    outcome = after(w, "g0@n1")
    board = Told(outcome.scene, process, goal=spread)
    same = board.as_told(outcome)
    assert same is not None
    best = board.best(same[1])
    assert best is not None

    assert agrees(spread, [(same[0], best)])
