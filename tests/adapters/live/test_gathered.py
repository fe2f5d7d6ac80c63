"""A plan that does not tell running pods apart is as good and as legal for those who do."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import pytest
from msgspec.structs import replace

from apportion.adapters.live import gathered as gathering
from apportion.adapters.live import planning
from apportion.adapters.live.gathered import Gathered, is_safe_under
from apportion.adapters.live.planning import Solving
from apportion.adapters.plan_check import scene_of, violations_of
from apportion.models import (
    Config,
    Device,
    HostPort,
    Pod,
    PodKey,
    PodSpec,
    PodState,
    PodTerm,
    ResourceQuota,
    Snapshot,
    snapshot_of,
)
from apportion.models.config import TierSettings
from apportion.policies.outcome import use_before
from apportion.policies.placement import LargeHoles
from apportion.policies.quota import non_preemptible_use
from apportion.policies.registry import rules_for
from apportion.solver import entry
from oracle.build import Members, foreign, node, only, queue, snapshot
from oracle.worlds import settings

from .worlds import GREEDY

NODES = tuple(f"n{i}" for i in range(5))
NEAR = {"anti_affinity": (PodTerm("kubernetes.io/hostname", only("shy"), None),)}


def busy(rng: Random) -> Snapshot:
    """Return a cluster in which much runs: single pods, gangs, elastic groups, others' pods."""
    parts: list[Any] = [
        *(node(n, 200, rng.choice((0, 64)), pods=110, labels={"zone": n[-1]}) for n in NODES),
        queue("q0", due=rng.choice((None, 30)), capability={"cpu": rng.choice((60, 900)) * 1000}),
        queue("q1", due=rng.choice((40, 300))),
        queue("q2", parent="q1"),
        *(foreign(f"f{i}", 1, rng.choice(NODES)) for i in range(rng.randint(0, 12))),
        *(foreign(f"gone{i}", 1, NODES[0], PodState.TERMINATING) for i in range(rng.randint(0, 2))),
    ]
    for i in range(rng.randint(40, 60)):
        parts.append(_runs(f"r{i}", rng))
    for i in range(rng.randint(1, 4)):
        parts.append(_waits(f"w{i}", rng))
    return with_equal_specs_once(snapshot(*parts))


def with_equal_specs_once(of: Snapshot) -> Snapshot:
    """Return the snapshot as the mirror would make it."""
    once: dict[PodSpec, PodSpec] = {}
    pods = (replace(p, spec=once.setdefault(p.spec, p.spec)) for p in of.pods)
    return replace(of, pods=tuple(pods))


def _runs(name: str, rng: Random) -> Members:
    size = rng.choice((1, 1, 1, 1, 2, 5))
    special = rng.random()
    spec: dict[str, Any] = {}
    if special < 0.05:
        spec = {"host_ports": (HostPort(8000 + rng.randrange(50)),)}
    elif special < 0.1:
        spec = NEAR
    return Members(
        name, rng.choice(("q0", "q1", "q2")), cpu=rng.choice((1, 1, 1, 2)),
        on=[rng.choice(NODES) for _ in range(size)], spec=spec,
        minimum=rng.choice((1, size)), priority=rng.choice((0, 0, 5)),
        preemptable=rng.random() < 0.8, namespace=rng.choice(("x", "y")),
        user=rng.choice(("", "", "me")),
    )  # fmt: skip


def _waits(name: str, rng: Random) -> Members:
    size = rng.choice((1, 1, 3))
    return Members(
        name, rng.choice(("q0", "q1", "q2")), cpu=rng.choice((1, 2, 3)), waiting=size,
        on=[NODES[0]] if rng.random() < 0.2 else [], minimum=rng.choice((1, size)),
        priority=rng.choice((0, 5)), preemptable=rng.random() < 0.95,
        namespace=rng.choice(("x", "y")), gpus=rng.choice((0, 0, 1)),
        pod={"labels": {"app": rng.choice(("shy", "bold"))}},
    )  # fmt: skip


def moved_on(of: Snapshot, places: dict[PodKey, Any], rng: Random) -> Snapshot:
    """Return the world after these starts: some work has ended, and some has come again."""
    gone = {g.key for g in of.groups if rng.random() < 0.1}
    pods = [_moved_on(p, places, rng) for p in of.pods if p.group not in gone]
    groups = [g for g in of.groups if g.key not in gone]
    groups = [replace(g, priority=9) if rng.random() < 0.05 else g for g in groups]
    for i in range(rng.randint(0, 3)):
        more = _waits(f"at{of.taken_at_s}-{i}", rng)
        groups.append(more.group)
        pods += more.pods
    moved = snapshot_of(
        taken_at_s=of.taken_at_s + 1, nodes=of.nodes, queues=of.queues, groups=groups, pods=pods,
        budgets=of.budgets,
    )  # fmt: skip
    return with_equal_specs_once(moved)


def _moved_on(pod: Pod, places: dict[PodKey, Any], rng: Random) -> Pod:
    if pod.key in places:
        return replace(pod, state=PodState.RUNNING, node=places[pod.key])
    if pod.ours and pod.state is PodState.RUNNING and rng.random() < 0.05:
        ends = (PodState.SUCCEEDED, PodState.FAILED, PodState.TERMINATING)
        return replace(pod, state=rng.choice(ends))
    return pod


def assert_takes_the_same(few: Snapshot, full: Snapshot, config: Config) -> None:
    """Assert that rules and goals see the same room and use in both."""
    a, b = scene_of(few, config), scene_of(full, config)
    assert a.ledger.resources == b.ledger.resources
    assert (a.room_now == b.room_now).all()
    assert (a.room_later == b.room_later).all()
    assert {q: list(v) for q, v in use_before(a).items()} == {
        q: list(v) for q, v in use_before(b).items()
    }
    assert non_preemptible_use(a) == non_preemptible_use(b)
    assert LargeHoles.largest(a) == LargeHoles.largest(b)


def is_calm(plan: Any) -> bool:
    return not (plan.held or plan.evictions or plan.nominations)


@pytest.mark.parametrize("seeds", [range(n, n + 20) for n in range(0, 60, 20)])
def test_plans_of_random_clusters_are_legal_and_worth_the_same_where_pods_are_told_apart(
    seeds: Sequence[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gathering, "WORTH", 1)
    counts: Counter[str] = Counter()
    for seed in seeds:
        rng, gathered = Random(seed), Gathered()
        config = replace(settings(seed), engine="greedy", deterministic=True)
        now = busy(rng)
        for _ in range(4):
            few = gathered.of(now)
            counts["gathered"] += few is not None
            if few is not None:
                assert len(few.pods) < len(now.pods)
                assert_takes_the_same(few, now, config)
            made = entry.plan(few if few is not None else now, config)
            if few is not None and is_calm(made):
                waiting = {p.key for p in now.pods if p.state is PodState.PENDING and p.ours}
                assert waiting == made.places.keys()
                counts["starts"] += len(waiting)
                told = replace(made, snapshot=now.digest)
                assert violations_of(told, scene_of(now, config)) == [], seed
            now = moved_on(now, dict(made.places), rng)
    assert counts["gathered"] >= len(seeds)
    assert counts["starts"] >= len(seeds), counts


def crowd(*more: Any, runs: int = 12, **of_running: Any) -> Snapshot:
    """Return single pods that run on two nodes, and whatever else there is."""
    parts = [
        Members(f"r{i}", "q", on=[NODES[i % 2]], **{"spec": {}, **of_running}) for i in range(runs)
    ]
    nodes = [node(NODES[0], 30), node(NODES[1], 30)]
    return with_equal_specs_once(snapshot(*nodes, queue("q"), *parts, *more))


def names(of: Snapshot | None) -> list[str]:
    assert of is not None
    return [p.name for p in of.pods]


WAITS = Members("w", "q", waiting=1)


def test_pods_of_a_node_are_one_and_one_shows_their_size() -> None:
    few = Gathered().of(crowd(WAITS, foreign("f", 2, NODES[0])))

    assert few is not None
    assert names(few) == ["+gathered-f", "+gathered-r10", "+gathered-r100", "r00", "w0"]
    assert sum(p.footprint["pods"] for p in few.pods) == 14
    assert sum(p.footprint["cpu"] for p in few.pods) == 15_000


def test_only_heaps_in_which_something_has_changed_are_made_again() -> None:
    gathered = Gathered()
    before = gathered.of(full := crowd(WAITS))
    less = tuple(p for p in full.pods if p.name != "r40")
    after = gathered.of(replace(full, pods=less, groups=tuple(
        g for g in full.groups if g.name != "r4"
    )))  # fmt: skip

    assert before is not None
    assert after is not None
    was = {str(p.node): p for p in before.pods if p.name.startswith("+")}
    now = {str(p.node): p for p in after.pods if p.name.startswith("+")}
    assert now[NODES[1]] is was[NODES[1]]
    assert now[NODES[0]].footprint["pods"] == was[NODES[0]].footprint["pods"] - 1


def test_who_shows_a_size_is_followed_by_another() -> None:
    gathered = Gathered()
    gathered.of(full := crowd(WAITS))
    left = tuple(p for p in full.pods if p.name != "r00")
    few = gathered.of(replace(full, pods=left, groups=full.groups[1:]))

    assert [n for n in names(few) if n.startswith("r")] == ["r10"]


NEAR_ME = {"affinity": (PodTerm("zone", only("w"), None),)}


@pytest.mark.parametrize(
    "world",
    [
        pytest.param(crowd(WAITS, runs=2), id="there are few"),
        pytest.param(crowd(Members("w", "q", waiting=1, spec=NEAR_ME)), id="it sees pods"),
        pytest.param(crowd(WAITS, spec=NEAR_ME), id="they see pods"),
        pytest.param(crowd(WAITS, minimum=2), id="they are broken gangs"),
        pytest.param(crowd(WAITS, pod={"devices": (1,)}), id="they have devices"),
        pytest.param(crowd(WAITS, waiting=1), id="their groups wait as well"),
        pytest.param(
            replace(crowd(WAITS), quotas=(ResourceQuota("x", "a", {}, {}),)), id="there are quotas"
        ),
        pytest.param(
            replace(crowd(WAITS), nominations=((PodKey("x/w0"), NODES[0]),)), id="it has a promise"
        ),
    ],
)
def test_pods_are_told_apart_where(world: Snapshot) -> None:
    assert Gathered().of(world) is None


def test_pods_on_nodes_that_hand_out_devices_are_told_apart() -> None:
    gathered = Gathered()
    full = crowd(WAITS)
    assert gathered.of(full) is not None
    cards = tuple(replace(n, devices=(Device(1000, 16),)) for n in full.nodes)

    assert gathered.of(replace(full, nodes=cards)) is None
    assert gathered.of(full) is not None


@dataclass(frozen=True)
class Curious:
    """A rule of an installed package."""

    name: str = "curious"


def test_rules_of_others_and_goals_of_what_is_usual_see_all_pods(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert is_safe_under(Config())
    assert not is_safe_under(Config(tiers=TierSettings(packing="expected-fragmentation")))
    monkeypatch.setattr(gathering, "rules_for", lambda config: (*rules_for(config), Curious()))
    assert not is_safe_under(Config())


def planned_from(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list that gets how many pods each plan was made from."""
    seen: list[int] = []

    def solve(world: Snapshot, config: Config, **more: Any) -> Any:
        seen.append(len(world.pods))
        return entry.plan(world, config, **more)

    monkeypatch.setattr(planning, "solve", solve)
    return seen


def test_pods_are_gathered_once_all_has_started_and_told_apart_where_something_waits_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen, solving = planned_from(monkeypatch), Solving()
    calm = crowd(WAITS)
    tight = crowd(Members("w", "q", cpu=26, waiting=2, priority=9))

    first, second = solving(calm, GREEDY, None), solving(calm, GREEDY, None)
    assert seen == [13, 5 - 1]
    assert first.places.keys() == second.places.keys() == {"x/w0"}
    assert second.config == GREEDY.digest
    full = solving(tight, GREEDY, None)
    assert seen[2:] == [5, 14], "who leaves is seen only where pods are told apart"
    assert full == entry.plan(tight, GREEDY, is_named=False)
    assert full.held or full.evictions
    solving(tight, GREEDY, None)
    assert seen[4:] == [14], "it is not tried again as long as something waits"
