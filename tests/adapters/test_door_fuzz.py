"""A thousand damaged objects: none stops the door, and none disappears without a word."""

import json
import random
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from apportion.adapters.files import documents_of
from apportion.adapters.kubernetes import ReadOptions, snapshot_from
from apportion.adapters.plan_check import scene_of, violations_of
from apportion.models import Config, InputError, Snapshot
from apportion.models.snapshot import read, write
from apportion.solver.entry import plan
from kubernetes_objects import (
    NOON,
    container,
    in_group,
    node,
    obj,
    pod,
    pod_group,
    priority_class,
    queue,
    snapshot,
)

JUNK: tuple[Any, ...] = (
    None, True, False, 0, -1, 1.5, float("nan"), float("inf"), 10**30, -(2**63), "", " ", "x",
    "１", "\n", "a/b", "no" * 200, "-1", "1e999999", "0x10", [], {}, [None], {"": None},
    [[]], {"a": {"a": {"a": []}}}, {"matchLabels": {"a": 1}}, [{"key": None, "operator": "In"}],
)  # fmt: skip
SCRAPS = (
    b"",
    b"{",
    b"]",
    b":",
    b"\n",
    b"\t",
    b"- ",
    b"&a ",
    b"*a",
    b"!x ",
    b"'",
    b"\xff",
    b"9",
    b"<<",
)
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def seeds() -> list[dict[str, Any]]:
    """Return one sound object of each kind, with as many fields as matter."""
    expression = {"key": "a", "operator": "In", "values": ["b"]}
    term = {"topologyKey": "z", "labelSelector": {"matchExpressions": [expression]}}
    rich = pod(
        "p",
        labels={"app": "web"},
        annotations={**in_group("g"), "volcano.sh/cooldown-time": "5m"},
        owner=("ReplicaSet", "rs"),
        meta={"creationTimestamp": NOON, "uid": "u"},
        status={"startTime": NOON, "conditions": [{"type": "Ready", "status": "True"}]},
        containers=[container({"cpu": "1"}, ports=[{"hostPort": 80}])],
        initContainers=[container({"cpu": "2"}, restartPolicy="Always")],
        affinity={
            "nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}},
            "podAntiAffinity": {REQUIRED: [term]},
        },
        tolerations=[{"key": "a", "operator": "Exists"}],
        topologySpreadConstraints=[{"maxSkew": 1, "topologyKey": "z", "minDomains": 2}],
        schedulingGates=[{"name": "gate"}],
        overhead={"cpu": "1"},
        resources={"requests": {"cpu": "3"}},
    )
    flavor = {"name": "f", "resources": [{"name": "cpu", "nominalQuota": 1, "lendingLimit": 1}]}
    kueue = {"resourceGroups": [{"flavors": [flavor]}], "cohortName": "c", "namespaceSelector": {}}
    task = {
        "name": "t",
        "replicas": 2,
        "template": {"spec": {"containers": [container({"cpu": 1})]}},
    }
    return [
        rich,
        {**node(), "spec": {"taints": [{"key": "a", "effect": "NoSchedule"}]}},
        obj("v1", "Namespace", "default", None),
        priority_class("high", 9, globalDefault=True),
        obj("policy/v1", "PodDisruptionBudget", "b",
            spec={"minAvailable": "50%", "selector": {"matchLabels": {"app": "web"}}}),
        obj("v1", "ResourceQuota", "q", spec={"hard": {"pods": 1}}, status={"used": {"pods": 1}}),
        obj("v1", "LimitRange", "l", spec={"limits": [{"type": "Container", "default": {}}]}),
        obj("apps/v1", "ReplicaSet", "rs", spec={"replicas": 3}),
        pod_group("g", minMember=2, minTaskMember={"a": 1}, minResources={"cpu": 1}, queue="q",
                  networkTopology={"mode": "soft"}, status={"phase": "Pending"}),
        pod_group("k", api="scheduling.run.ai/v2alpha2", minMember=1,
                  subGroups=[{"name": "s", "minMember": 1}]),
        pod_group("u", api="scheduling.k8s.io/v1alpha2",
                  schedulingPolicy={"gang": {"minCount": 2}}),
        queue("q", weight=2, parent="r", capability={"cpu": 4}, deserved={"cpu": "1"},
              guarantee={"resource": {"cpu": 1}}, state="Open"),
        queue("r", parent="q"),
        queue("kai", api="scheduling.run.ai/v2",
              resources={"gpu": {"quota": -1, "overQuotaWeight": 0.5}}),
        obj("scheduling.x-k8s.io/v1alpha1", "ElasticQuota", "e", spec={"min": {"cpu": 1}}),
        obj("batch.volcano.sh/v1alpha1", "Job", "j", spec={"tasks": [task], "minAvailable": 1}),
        obj("kueue.x-k8s.io/v1beta1", "ClusterQueue", "cq", None, spec=kueue),
        obj("kueue.x-k8s.io/v1beta1", "Cohort", "c", None, spec={"parentName": "c"}),
        obj("kueue.x-k8s.io/v1beta1", "LocalQueue", "lq", spec={"clusterQueue": "cq"}),
        obj("scheduling.k8s.io/v1alpha1", "Workload", "w",
            spec={"podGroups": [{"name": "g", "policy": {"gang": {"minCount": 1}}}]}),
    ]  # fmt: skip


def copied(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: copied(v) for k, v in value.items()}
    return [copied(v) for v in value] if isinstance(value, list) else value


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield every (container, key) inside the value."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in list(pairs):
        yield value, key
        if isinstance(inner, dict | list):
            yield from places(inner)


def damaged(seed: dict[str, Any], dice: random.Random) -> dict[str, Any]:
    out: dict[str, Any] = copied(seed)
    for _ in range(dice.choice((1, 1, 1, 2, 3))):
        spots = list(places(out))
        if not spots:
            break
        inside, key = dice.choice(spots)
        match dice.randrange(4):
            case 0 if isinstance(inside, dict):
                del inside[key]
            case 1 if isinstance(inside, list):
                inside.append(copied(dice.choice(JUNK)))
            case 2 if isinstance(inside, dict):
                inside[dice.choice(("", "x/y", "on", "🦊", "a" * 300))] = copied(dice.choice(JUNK))
            case _:
                inside[key] = copied(dice.choice(JUNK))
    return out


def is_accounted_for(bad: Any, place: str, world: Snapshot, without: Snapshot) -> bool:
    """Say whether a damaged object was rejected, counted, or left its trace in the snapshot."""
    meta = bad.get("metadata")
    kind, name = bad.get("kind"), meta.get("name") if isinstance(meta, dict) else None
    for r in world.rejected:
        if r.object.endswith(place):
            return True
        if r.object.split(" ")[0] == kind and isinstance(name, str) and name in r.object:
            return True
    if world.counted != without.counted and any(str(kind) in k for k in world.counted):
        return True
    if kind in ("PriorityClass", "LimitRange", "ReplicaSet", "Workload", "LocalQueue"):
        return True  # these only inform others
    found = (*world.pods, *world.nodes, *world.groups, *world.queues, *world.budgets)
    assert isinstance(name, str)
    return any(name in str(one) for one in (*found, *world.namespaces, *world.quotas))


@pytest.mark.parametrize("queues_from", ["volcano", "kueue"])
@pytest.mark.parametrize("seed", range(10))
def test_no_damaged_object_stops_the_door_or_disappears(seed: int, queues_from: str) -> None:
    dice = random.Random(seed)
    sound = seeds()

    for _ in range(100):
        index = dice.randrange(len(sound))
        bad = damaged(sound[index], dice)
        others = [o for i, o in enumerate(sound) if i != index]

        world = snapshot(*others, bad, queues_from=queues_from)

        assert all(r.object and r.path and r.message for r in world.rejected)
        without = snapshot(*others, queues_from=queues_from)
        assert is_accounted_for(bad, f"object {len(others) + 1}", world, without), bad
        assert read(write(world)).digest == world.digest


@pytest.mark.parametrize("seed", range(10))
def test_no_damaged_object_stops_the_plan_or_breaks_it(seed: int) -> None:
    dice = random.Random(1000 + seed)
    config = Config(deterministic=True, engine="greedy")
    sound = [*seeds(), pod("one", annotations=in_group("g")), pod("other"), node("big")]

    for _ in range(20):
        at = dice.randrange(len(sound))
        world = snapshot(*sound[:at], damaged(sound[at], dice), *sound[at + 1 :])

        assert violations_of(plan(world, config), scene_of(world, config)) == []


@pytest.mark.parametrize("seed", range(3))
def test_many_damaged_objects_at_once_leave_the_sound_ones(seed: int) -> None:
    dice = random.Random(100 + seed)
    bad = [damaged(dice.choice(seeds()), dice) for _ in range(200)]
    for i, one in enumerate(bad):
        if isinstance(one.get("metadata"), dict) and isinstance(one["metadata"].get("name"), str):
            one["metadata"]["name"] += f"-{i}"

    world = snapshot(*bad, pod("sound", namespace="quiet"), node("sound"))

    assert "quiet/sound" in world.pods_by_key
    assert "sound" in world.nodes_by_name
    assert len(world.rejected) > 40


@pytest.mark.parametrize("form", ["yaml", "json"])
def test_damaged_text_is_read_or_refused_in_one_sentence(form: str) -> None:
    dice = random.Random(form)
    text = (json.dumps if form == "json" else yaml.safe_dump)({"kind": "List", "items": seeds()})
    refused: list[str] = []

    for _ in range(60):
        data = bytearray(text.encode())
        for _ in range(dice.randint(1, 4)):
            at = dice.randrange(len(data))
            data[at : at + dice.randint(0, 3)] = dice.choice(SCRAPS)
        try:
            snapshot_from(documents_of(bytes(data), "f"), ReadOptions())
        except InputError as e:
            refused.append(str(e))

    assert 0 < len(refused) < 60
    assert not any("\n" in sentence for sentence in refused)


def test_queues_in_random_circles_are_all_kept() -> None:
    dice = random.Random(7)
    names = [f"q{i}" for i in range(60)]

    world = snapshot(*(queue(n, parent=dice.choice([*names, "root", "gone"])) for n in names))

    assert len(world.queues) == 61
    for one in world.queues:
        seen, above = {one.name}, one.parent
        while above is not None:
            assert above not in seen
            seen.add(above)
            above = world.queues_by_name[above].parent
