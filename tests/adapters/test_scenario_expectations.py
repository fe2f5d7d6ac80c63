"""Expectations: each key holds where it should, and says what is wrong where it does not."""

from typing import Any

import pytest
from msgspec.structs import replace

from apportion.adapters.expect import failures
from apportion.adapters.expect_keys import KEYS
from apportion.adapters.expectations import Expectation
from apportion.models import (
    Bind,
    Eviction,
    GroupKey,
    Held,
    NodeName,
    Nomination,
    Plan,
    PodKey,
    Reason,
    Rejected,
    Settled,
    Snapshot,
    Warned,
)
from kubernetes_objects import in_group, node, pod, pod_group, queue, snapshot


def world() -> Snapshot:
    """Three groups: run (2 on a and b), wait (2 pods, roles x and y), big (1 pod)."""
    gpu = {"cpu": "1", "nvidia.com/gpu": "1"}
    objects = [
        *(node(n) for n in ("a", "b", "c")),
        queue("all"), queue("team", parent="all"),
        pod_group("run", minMember=1, queue="team"),
        pod_group("wait", minMember=2, queue="team"),
        pod_group("big", minMember=1, queue="team"),
        *(pod(f"run-{i}", gpu, annotations=in_group("run"), nodeName="ab"[i]) for i in range(2)),
        *(
            pod(f"wait-{t}", gpu, annotations={**in_group("wait"), "volcano.sh/task-spec": t})
            for t in "xy"
        ),
        pod("big-0", gpu, annotations=in_group("big")),
        pod("bad", {"cpu": "x"}),
    ]  # fmt: skip
    return snapshot(*objects)


def key(name: str) -> PodKey:
    return PodKey(f"default/{name}")


def made(seen: Snapshot) -> Plan:
    """Wait starts on c and where run-1 leaves; big is held; at rest run-1 is back on c."""
    wait = GroupKey("default/wait")
    big = Held(
        GroupKey("default/big"), (key("big-0"),), (Reason("quota", "queue team", "is full"),)
    )
    return Plan(
        snapshot=seen.digest,
        config="",
        binds=(Bind(key("wait-x"), wait, NodeName("c")),),
        nominations=(Nomination(key("wait-y"), wait, NodeName("b")),),
        evictions=(Eviction(key("run-1"), GroupKey("default/run"), NodeName("b"), (wait,)),),
        held=(big,),
        rejected=(Rejected("Pod default/bad", "spec", "no quantity"),),
        warnings=(Warned("Queue team", "spec.deserved", "is odd"),),
        settled=Settled(
            7, True,
            {key("run-0"): {"node": "a"}, key("wait-x"): {"node": "c"},
             key("wait-y"): {"node": "b"}, key("run-1"): {"node": "c"}},
            (key("run-1"),),
        ),
    )  # fmt: skip


HOLDS: list[dict[str, Any]] = [
    {"group": "wait", "is": "placed", "node": "[bc]"},
    {"group": "wait", "is": "nominated"},
    {"group": "wait", "is": "running", "after": "settled", "pods": 2},
    {"group": "run", "is": "evicted", "pods": 1},
    {"group": "run", "is": "running"},
    {"group": "default/big", "is": "held", "reason": "quota: queue team: is full"},
    {"group": "big", "is": "held", "after": "settled"},
    {"reason": ["quota", "full"]},
    {"warning": "spec.deserved is odd"},
    {"warning": ["odd", "Queue team"]},
    {"rejected": "no quantity"},
    {"running_count": {"run": 2, "wait": [1, 2], "big": 0}},
    {"bound_count": {"run": 1}, "after": "plan"},
    {"running_of": [{"groups": ["run", "wait"], "pods": 4}]},
    {"running_by_task": {"wait": {"x": 1, "y": [0, 1], "z": 0}}},
    {"bound_count_by_task": {"x": 1, "y": 1}},
    {"bound_total": 4},
    {"bound": ["run-0", "default/wait-x"]},
    {"bound": {"run-1": "c", "run-0": ["a", "b"], "wait-x": None}},
    {"bound": {"run-1": "b"}, "after": "settled", "one_of": [{"bound_total": 4}]},
    {"pending": ["big-0", "bad"]},
    {"gone": ["big-0"]},
    {"pending": ["run-1"], "after": "plan"},
    {"evicted": ["run-1"], "evicted_count": 1, "evicted_count_max": 1},
    {"whole_groups_evicted": 0},
    {"untouched": ["run-0"], "may_be_evicted": ["run-1", "run-0"]},
    {"node": {"run-0": "a"}, "node_in": {"wait-x": ["b", "c"]}},
    {"nodes_allowed": {"wait": ["b", "c"]}},
    {"same_label": {"big": "kubernetes.io/hostname"}},
    {"queue_used_gpu": {"all": 4, "team": [3.5, 4]}},
    {"queue_used": {"team": {"cpu": "4000m", "nvidia.com/gpu": [0, 4]}}},
    {"one_of": [{"bound_total": 9}, {"pending": ["big-0"]}]},
]
del HOLDS[19]

FAILS: list[tuple[dict[str, Any], str]] = [
    ({"group": "big", "is": "placed"}, "not placed: 0 of 1 pods have a place (quota: is full)"),
    ({"group": "run", "is": "nominated"}, "not nominated"),
    ({"group": "wait", "is": "held"}, "is not held"),
    ({"group": "wait", "is": "running"}, "does not run"),
    ({"group": "big", "is": "evicted"}, "nothing of group"),
    ({"group": "wait", "is": "placed", "node": "[ac]"}, "default/wait-y is on b, expected [ac]"),
    ({"group": "wait", "pods": 3}, "2 pods run, expected 3"),
    ({"group": "gone", "is": "placed"}, "there is no group gone"),
    ({"group": "big", "reason": "taint"}, "no reason says 'taint': quota: queue team: is full"),
    ({"group": "run", "reason": "x"}, "nothing is held"),
    ({"warning": "even"}, "no warning says 'even'"),
    ({"rejected": "Node"}, "nothing rejected says 'Node'"),
    ({"running_count": {"run": [3, 4]}}, "group run: 2 run, expected 3 to 4"),
    ({"running_count": {"nobody": 0}}, "there is no group nobody"),
    ({"running_of": [{"groups": ["run", "wait"], "pods": 1}]}, "4 run, expected 1"),
    ({"running_by_task": {"wait": {"x": 2}}}, "wait/x: 1 run, expected 2"),
    ({"bound_count_by_task": {"x": 3}}, "task x: 1 run, expected 3"),
    ({"bound_total": [5, 9]}, "4 pods run, expected 5 to 9"),
    ({"bound": ["big-0"]}, "big-0 does not run"),
    ({"bound": {"run-0": "c"}}, "run-0 is on a, expected c"),
    ({"pending": ["run-0"]}, "run-0 runs on a, expected not to"),
    ({"pending": ["typo"]}, "there is no pod typo"),
    ({"gone": ["run-1"]}, "run-1 runs on c"),
    ({"evicted": ["run-0"]}, "run-0 was not evicted"),
    ({"evicted": []}, "expected nobody"),
    ({"evicted_count": [2, 3]}, "1 evictions, expected 2 to 3"),
    ({"evicted_count_max": 0}, "1 evictions, expected at most 0"),
    ({"whole_groups_evicted": 1}, "0 whole groups"),
    ({"untouched": ["run-1"]}, "run-1 was evicted, expected to stay"),
    ({"may_be_evicted": ["run-0"]}, "default/run-1 was evicted and is no eligible victim"),
    ({"node": {"run-0": "b"}}, "run-0 is on a, expected b"),
    ({"node_in": {"run-0": ["b", "c"]}}, "run-0 is on a"),
    ({"nodes_allowed": {"wait": ["b"]}}, "default/wait-x is on c, expected one of b"),
    (
        {"same_label": {"wait": "kubernetes.io/hostname"}},
        "is spread over kubernetes.io/hostname b, c",
    ),
    ({"queue_used_gpu": {"team": 2}}, "queue team uses 4 of nvidia.com/gpu, expected 2"),
    ({"queue_used": {"other": {"cpu": 1}}}, "there is no queue other"),
    ({"one_of": [{"bound_total": 9}, {"pending": ["run-0"]}]}, "none of 2 allowed outcomes"),
]


@pytest.mark.parametrize("item", HOLDS, ids=str)
def test_expectation_that_holds_says_nothing(item: dict[str, Any]) -> None:
    seen = world()

    assert failures(Expectation.model_validate(item), seen, made(seen)) == []


@pytest.mark.parametrize(("item", "says"), FAILS, ids=str)
def test_expectation_that_does_not_hold_says_why(item: dict[str, Any], says: str) -> None:
    seen = world()

    found = failures(Expectation.model_validate(item), seen, made(seen))

    assert len(found) == 1
    assert says in found[0]


def test_short_name_of_two_pods_has_to_be_written_whole() -> None:
    seen = snapshot(node(), pod("p", namespace="a"), pod("p", namespace="b"))
    plan = replace(made(seen), settled=Settled(6, True, {}, ()))

    found = failures(Expectation.model_validate({"pending": ["p"]}), seen, plan)

    assert found == ["2 pods are called p; write namespace/p"]
    assert not failures(Expectation.model_validate({"pending": ["a/p"]}), seen, plan)


def test_every_key_is_judged() -> None:
    of_one_group = {"after", "group", "is_", "pods", "reason", "one_of"}

    assert set(Expectation.model_fields) == of_one_group | set(KEYS)
