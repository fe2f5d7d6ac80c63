"""Repacking after greedy: never worse, always legal, and nothing where it does not apply."""

from collections.abc import Iterator
from random import Random

import pytest

from apportion.models import (
    Amounts,
    Config,
    Device,
    DeviceShare,
    Group,
    GroupKey,
    Node,
    NodeName,
    Pod,
    PodSpec,
    PodState,
    Queue,
    QueueName,
    Snapshot,
    snapshot_of,
)
from apportion.models.devices import GPU
from apportion.policies.goals import goals_for
from apportion.policies.legality import verify
from apportion.policies.outcome import Outcome
from apportion.policies.registry import rules_for
from apportion.policies.scene import Scene
from apportion.solver import repack
from apportion.solver.decode import Decision, outcome_of
from apportion.solver.entry import plan, settle_greedy
from apportion.solver.greedy import rank_and_place
from apportion.solver.leveling import levels_of
from apportion.solver.process import SolverProcess
from apportion.solver.rows import vector_of
from apportion.solver.search import Clock
from oracle.mixed import mixed
from oracle.share_worlds import crowded, sharing
from oracle.worlds import Size, world

CONFIG = Config(deterministic=True, budget_ms=10_000)
QUEUE = QueueName("q")


@pytest.fixture(scope="module")
def process() -> Iterator[SolverProcess]:
    with SolverProcess() as made:
        made.wait()
        yield made


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the packer be asked about small clusters, too."""
    monkeypatch.setattr(repack, "PAIRS", 0)


def both(
    snapshot: Snapshot, process: SolverProcess, config: Config = CONFIG
) -> tuple[Outcome, Outcome, bool]:
    """Return greedy's plan and the one after packing, and whether the vector has grown."""
    scene = Scene(snapshot, config, rules_for(config))
    ranking = rank_and_place(scene)
    levels = levels_of(scene, ranking)
    goals = goals_for(config, scene.rules)
    greedy = settle_greedy(scene, ranking, levels)
    found = repack.repacked(scene, levels, goals, greedy, process, Clock(None))
    before, after = outcome_of(scene, greedy, levels), outcome_of(scene, found, levels)
    old, new = vector_of(before, goals), vector_of(after, goals)
    assert (new > old) if found is not greedy else (new == old)
    return before, after, new > old


def node(name: str, cpu: int, gpus: int) -> Node:
    amounts = Amounts({"cpu": cpu, GPU: gpus * 1000, "pods": 50})
    return Node(
        NodeName(name), amounts, devices=(Device(),) * gpus, hands_out=("whole", "reservation")
    )


def ask(cpu: int, milli: int) -> PodSpec:
    share = DeviceShare(memory_ppm=milli * 1000) if 0 < milli < 1000 else None
    return PodSpec(Amounts({"cpu": cpu, GPU: milli}), share=share)


def cluster(nodes: list[Node], gangs: list[list[PodSpec]], queue: Queue | None = None) -> Snapshot:
    pods: list[Pod] = []
    groups: list[Group] = []
    for g, specs in enumerate(gangs):
        name = f"g{g:03d}"
        groups.append(Group("n", name, QUEUE, minimum=len(specs), created_s=g))
        pods += [
            Pod("n", f"{name}-{i}", s, PodState.PENDING, GroupKey(f"n/{name}"), created_s=g)
            for i, s in enumerate(specs)
        ]
    return snapshot_of(
        taken_at_s=1000, nodes=nodes, pods=pods, groups=groups, queues=[queue or Queue(QUEUE)]
    )


def crowd(seed: int) -> Snapshot:
    """Return single pods and gangs that ask for more than there is, in many sizes."""
    rng = Random(seed)
    kinds = [ask(1000, 810), ask(2000, 470), ask(1000, 190), ask(4000, 1000), ask(9000, 2000)]
    gangs = [[rng.choice(kinds)] * (rng.choice((1, 1, 1, 3))) for _ in range(28)]
    nodes = [node(f"n{i}", rng.choice((16_000, 24_000)), 4) for i in range(4)]
    return cluster(nodes, gangs)


@pytest.mark.usefixtures("small")
def test_packing_is_legal_and_never_worse(process: SolverProcess) -> None:
    better = 0
    for seed in range(40):
        _, after, grown = both(crowd(seed), process)
        assert not verify(after), f"seed {seed}"
        better += grown
        for key, pods in after.started.items():
            assert after.scene.roster[key].is_whole(pods), f"seed {seed}: part of a gang"
    assert better >= 5


@pytest.mark.usefixtures("small")
def test_worlds_with_all_rules_stay_legal_and_no_worse(process: SolverProcess) -> None:
    for seed in range(60):
        size: Size = "small" if seed % 2 else "tiny"
        base = world(seed, size)
        for snapshot in (base, sharing(seed, size), crowded(seed), mixed(base, Random(seed))):
            before, after, _ = both(snapshot, process)
            assert not verify(after), f"seed {seed}"
            assert after.evicted == before.evicted


@pytest.mark.usefixtures("small")
def test_two_halves_are_put_together_for_a_whole_device(process: SolverProcess) -> None:
    # 0.6 first, then 0.4 onto its device; one by one the last 0.6 and 0.4 are in each other's way.
    specs = [ask(1000, 400), ask(1000, 400), ask(1000, 600), ask(1000, 600)]
    nodes = [node("a", 2000, 1), node("b", 2000, 1)]

    before, after, grown = both(cluster(nodes, [[s] for s in specs]), process)

    assert len(after.places) == 4
    assert grown == (len(before.places) < 4)


@pytest.mark.usefixtures("small")
def test_a_queue_at_its_limit_gets_no_more(process: SolverProcess) -> None:
    queue = Queue(QUEUE, capability={GPU: 5000})
    for seed in range(10):
        free = crowd(seed)
        bound = snapshot_of(
            taken_at_s=1000, nodes=free.nodes, pods=free.pods, groups=free.groups, queues=[queue]
        )
        _, after, _ = both(bound, process)
        used = sum(after.scene.pods[k].spec.requests[GPU] for k in after.places)
        assert used <= 5000


def test_small_clusters_are_left_to_the_exact_search(
    process: SolverProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(repack, "lots_of", None)
    for seed in range(3):
        both(crowd(seed), process)


@pytest.mark.usefixtures("small")
def test_a_short_budget_is_left_to_the_exact_search(
    process: SolverProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(repack, "lots_of", None)
    both(crowd(0), process, Config(deterministic=True, budget_ms=5000))


@pytest.mark.usefixtures("small")
def test_without_waiting_work_nothing_is_packed(
    process: SolverProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(repack, "lots_of", None)
    _, after, _ = both(cluster([node("a", 9000, 2)], [[ask(1000, 500)]] * 3), process)
    assert len(after.places) == 3


@pytest.mark.usefixtures("small")
def test_a_packing_that_the_checker_refuses_does_not_count(
    process: SolverProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(repack, "is_legal", lambda _: False)
    changed = 0
    for seed in range(40):
        _, _, grown = both(crowd(seed), process)
        changed += grown
    assert changed == 0


@pytest.mark.usefixtures("small")
def test_the_plan_of_a_cycle_has_it(
    process: SolverProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Decision] = []
    packed = repack._packed

    def watch(*args: object) -> object:
        seen.append(packed(*args))  # type: ignore[arg-type]
        return seen[-1]

    monkeypatch.setattr(repack, "_packed", watch)
    made = plan(crowd(1), CONFIG, process=process)
    assert seen
    assert made.binds
