"""Disruption budgets and resource quotas are read, or computed where the status is missing."""

from typing import Any

import pytest

from apportion.models import Budget
from kubernetes_objects import node, obj, pod, snapshot


def budget(status: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    spec.setdefault("selector", {"matchLabels": {"app": "web"}})
    return obj(
        "policy/v1",
        "PodDisruptionBudget",
        "b",
        meta={"generation": 2},
        spec=spec,
        status=status or {},
    )


def web(n: int, running: int, owner: tuple[str, str] | None = None) -> list[dict[str, Any]]:
    placed: dict[str, Any] = {"nodeName": "n"}
    return [
        pod(
            f"w-{i}",
            labels={"app": "web"},
            owner=owner,
            **(placed if i < running else {}),
        )
        for i in range(n)
    ]


def read(*objects: dict[str, Any]) -> Budget:
    world = snapshot(node(), *objects)
    assert world.rejected == ()
    return world.budgets[0]


@pytest.mark.parametrize(
    ("spec", "want"),
    [
        ({"minAvailable": 2}, 1),
        ({"minAvailable": "50%"}, 1),
        ({"maxUnavailable": 1}, 0),
        ({"maxUnavailable": "50%"}, 1),
        ({"maxUnavailable": 0}, 0),
        ({"minAvailable": 9}, 0),
    ],
)
def test_allowed_is_computed_from_the_pods(spec: dict[str, Any], want: int) -> None:
    assert read(budget(**spec), *web(4, running=3)).allowed == want


def test_the_status_counts_unless_it_is_behind() -> None:
    fresh = {"disruptionsAllowed": 7, "observedGeneration": 2}
    stale = {"disruptionsAllowed": 7, "observedGeneration": 1}

    assert read(budget(fresh, minAvailable=2), *web(3, running=3)).allowed == 7
    assert read(budget(stale, minAvailable=2), *web(3, running=3)).allowed == 1


def test_controllers_say_how_many_pods_are_expected() -> None:
    deployment = obj("apps/v1", "Deployment", "d", spec={"replicas": 6})
    replica_set = obj("apps/v1", "ReplicaSet", "rs", spec={"replicas": 4})
    replica_set["metadata"]["ownerReferences"] = [
        {"kind": "Deployment", "name": "d", "controller": True}
    ]
    pods = web(4, running=4, owner=("ReplicaSet", "rs"))

    assert read(budget(maxUnavailable=3), replica_set, *pods).expected == 4
    full = read(budget(maxUnavailable=3), replica_set, deployment, *pods)
    assert (full.expected, full.allowed) == (6, 1)
    assert read(budget(maxUnavailable=3), *pods).expected is None


def test_foreign_pods_are_covered_too() -> None:
    foreign = pod("f", labels={"app": "web"}, scheduler="other", nodeName="n")

    assert read(budget(minAvailable=0), foreign).allowed == 1


def test_a_missing_selector_selects_nothing() -> None:
    selected = read(budget(selector=None, minAvailable=0), *web(2, running=2))

    assert (selected.selector, selected.allowed) == (None, 0)


def test_quotas_keep_their_keys_in_canonical_units() -> None:
    hard = {
        "requests.cpu": "2",
        "limits.memory": "1Gi",
        "pods": "10",
        "count/jobs.batch": "3",
        "requests.nvidia.com/gpu": "4",
        "gold.storageclass.storage.k8s.io/requests.storage": "5Gi",
        "services": 2,
    }
    world = snapshot(
        obj(
            "v1",
            "ResourceQuota",
            "q",
            spec={"hard": hard, "scopes": ["NotTerminating"]},
            status={"used": {"pods": "4", "requests.cpu": "500m", "other": "1"}},
        ),
        obj("v1", "ResourceQuota", "r"),
    )

    quota, empty = world.quotas
    assert quota.hard == {
        "requests.cpu": 2000,
        "limits.memory": 1 << 30,
        "pods": 10,
        "count/jobs.batch": 3,
        "requests.nvidia.com/gpu": 4000,
        "gold.storageclass.storage.k8s.io/requests.storage": 5 << 30,
        "services": 2,
    }
    assert (quota.used["pods"], quota.used["requests.cpu"], quota.used["services"]) == (4, 500, 0)
    assert (quota.scoped, empty.scoped, empty.hard) == (True, False, {})


def unready(name: str) -> dict[str, Any]:
    made = pod(name, labels={"app": "web"}, nodeName="n")
    made["status"]["conditions"] = [{"type": "Ready", "status": "False"}]
    return made


def test_a_pod_that_says_that_it_is_not_ready_is_not_healthy() -> None:
    made = snapshot(node(), budget(minAvailable=2), *web(3, running=3), unready("sick"))
    assert [p.ready for p in made.pods] == [False, True, True, True]
    assert (made.budgets[0].allowed, made.budgets[0].met) == (1, True)


@pytest.mark.parametrize(
    ("policy", "healthy", "always", "met"),
    [
        (None, 3, False, True),
        ("IfHealthyBudget", 2, False, True),
        ("IfHealthyBudget", 1, False, False),
        ("AlwaysAllow", 1, True, False),
    ],
)
def test_the_policy_for_what_is_not_ready(
    policy: str | None, healthy: int, always: bool, met: bool
) -> None:
    status = {"disruptionsAllowed": 0, "currentHealthy": healthy, "desiredHealthy": 2}
    spec = {} if policy is None else {"unhealthyPodEvictionPolicy": policy}
    made = read(budget(status, minAvailable=2, **spec), *web(3, running=3))
    assert (made.always_unready, made.met) == (always, met)


def test_an_unknown_policy_is_warned_of() -> None:
    world = snapshot(node(), budget(minAvailable=2, unhealthyPodEvictionPolicy="Never"))
    assert any("unhealthyPodEvictionPolicy" in str(w) for w in world.warnings)
