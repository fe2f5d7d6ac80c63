"""Capacity: how many more copies start beside everything else, as plans say and by counting."""

from collections.abc import Iterator

import pytest
from msgspec.structs import replace

from apportion.adapters.ask import capacity as asking
from apportion.adapters.ask.capacity import Fit, capacity, models_for
from apportion.models import Config, GroupKey, InputError, Plan, Snapshot
from apportion.models.edit import edited
from apportion.models.edits import CopyGroup
from apportion.solver.entry import plan
from apportion.solver.process import SolverProcess
from oracle.build import Members, node, queue, snapshot
from properties.clusters import SMALL, cluster

CONFIG = Config(deterministic=True, budget_ms=2000)
G = GroupKey("x/g")


@pytest.fixture(scope="module")
def solver() -> Iterator[SolverProcess]:
    with SolverProcess() as process:
        yield process


def world(*groups: Members, limit: int | None = None, sizes: tuple[int, ...] = (4, 4)) -> Snapshot:
    caps = {} if limit is None else {"cpu": limit * 1000}
    nodes = [node(f"n{i}", cpu) for i, cpu in enumerate(sizes)]
    return snapshot(*nodes, queue("q", capability=caps), *groups)


@pytest.mark.parametrize(
    ("cluster_", "want"),
    [
        pytest.param(world(Members("g", "q", 2, waiting=1)), 3, id="what it leaves, by its size"),
        pytest.param(world(Members("g", "q", 2, on=["n0"])), 3, id="also where it runs"),
        pytest.param(world(Members("g", "q", 3, waiting=1)), 1, id="no pod fits twice on a node"),
        pytest.param(
            world(Members("g", "q", 2, waiting=1), limit=5), 1, id="no more than the queue may have"
        ),
        pytest.param(
            world(Members("g", "q", 2, waiting=2, minimum=2)), 1, id="a gang is whole or not"
        ),
        pytest.param(
            world(Members("g", "q", 3, waiting=2, minimum=2), sizes=(4, 4, 4)), 0,
            id="room for half a gang is none",
        ),
        pytest.param(
            world(Members("g", "q", 1, waiting=1), Members("h", "q", 2, waiting=3, minimum=3)), 1,
            id="what waits comes first",
        ),
        pytest.param(world(Members("g", "q", 9, waiting=1)), 0, id="too large for any node"),
    ],
)  # fmt: skip
def test_as_many_copies_as_start(cluster_: Snapshot, want: int, solver: SolverProcess) -> None:
    found = capacity(cluster_, CONFIG, G, process=solver).now

    assert (found.copies, found.exact) == (want, True)
    assert found.counted >= want


def test_nobody_is_evicted_for_copies(solver: SolverProcess) -> None:
    cheap = Members("v", "q", 4, on=["n0"], priority=0)
    start = world(cheap, Members("g", "q", 2, waiting=1, priority=9))

    assert capacity(start, CONFIG, G, process=solver).now.copies == 1


def test_added_nodes_make_room_for_more(solver: SolverProcess) -> None:
    start = world(Members("g", "q", 3, waiting=2, minimum=2))

    found = capacity(start, CONFIG, G, models=["n0"], numbers=[1, 2, 4], process=solver)

    assert found.now.copies == 0
    assert [(a.nodes, a.fit.copies) for a in found.added] == [(1, 0), (2, 1), (4, 2)]


def test_on_a_large_cluster_few_plans_are_made_and_more_may_fit(
    monkeypatch: pytest.MonkeyPatch, solver: SolverProcess
) -> None:
    start = world(Members("g", "q", 2, waiting=1), sizes=(3, 3, 3))
    planned = list[Config]()

    def plan_of(snapshot: Snapshot, config: Config, process: SolverProcess | None) -> Plan:
        planned.append(config)
        return plan(snapshot, config, process=process)

    monkeypatch.setattr(asking, "plan", plan_of)
    monkeypatch.setattr(asking, "is_small", lambda _: False)

    found = capacity(start, CONFIG, G, models=["n0"], numbers=[1], process=solver)

    assert found.now == Fit(2, 3, exact=True)
    assert [a.fit for a in found.added] == [Fit(3, 4, exact=False)]
    assert sum(c == CONFIG for c in planned) == 3 + 2


def test_one_more_that_was_not_planned_to_the_end_may_fit(
    monkeypatch: pytest.MonkeyPatch, solver: SolverProcess
) -> None:
    start = world(Members("g", "q", 2, waiting=1), sizes=(3, 3, 3))

    def cut_short(snapshot: Snapshot, config: Config, process: SolverProcess | None) -> Plan:
        made = plan(snapshot, config, process=process)
        return replace(made, solver=replace(made.solver, status="feasible", order_proven=False))

    monkeypatch.setattr(asking, "plan", cut_short)

    assert capacity(start, CONFIG, G, process=solver).now == Fit(2, 3, exact=False)


def test_models_are_sizes_that_take_a_pod() -> None:
    start = world(Members("g", "q", 3, waiting=1), sizes=(2, 4, 4, 8))

    assert [n.name for n in models_for(start, G)] == ["n1", "n3"]


def test_a_group_has_to_be_there() -> None:
    with pytest.raises(InputError, match="there is no group x/g"):
        capacity(world(), CONFIG, G)


@pytest.mark.slow
def test_one_copy_more_would_not_start_on_random_clusters(solver: SolverProcess) -> None:
    tried = 0
    for seed in range(60):
        start = cluster(seed, SMALL)
        if not start.groups:
            continue
        key = start.groups[seed % len(start.groups)].key
        found = capacity(start, CONFIG, key, process=solver).now
        tried += found.copies > 0
        base = plan(start, CONFIG, process=solver)
        for copies, want in ((found.copies, True), (found.copies + 1, False)):
            if copies and found != Fit(4096, 4096, False):
                assert beside(start, key, copies, base, solver) is want, (seed, key, found)
    assert tried > 5


def beside(
    start: Snapshot, key: GroupKey, copies: int, base: object, solver: SolverProcess
) -> bool:
    """Say whether all copies start, and nobody is worse off for it."""
    before = plan(start, CONFIG, process=solver)
    assert before == base
    changed = edited(start, [CopyGroup(key, copies)])
    made = plan(changed, CONFIG, process=solver)
    placed = [changed.pods_by_key[p].group for p in made.places]
    new = [g.key for g in changed.groups if g.key not in start.groups_by_key]
    spared = {e.pod for e in made.evictions} <= {e.pod for e in before.evictions}
    was = [start.pods_by_key[p].group for p in before.places]
    kept = all(placed.count(g) >= was.count(g) for g in was)
    return spared and kept and all(g in placed for g in new)
