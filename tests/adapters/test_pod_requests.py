"""What a pod asks for is summed as the kubelet and the scheduler sum it."""

from typing import Any

import pytest

from kubernetes_objects import container, obj, pod, pod_in, snapshot

GI = 1 << 30


def requests(**spec: Any) -> dict[str, int]:
    world = snapshot(pod("p", **spec))
    assert world.rejected == ()
    return dict(pod_in(world, "p").spec.requests)


def side(**of: Any) -> dict[str, Any]:
    return container(of, restartPolicy="Always")


@pytest.mark.parametrize(
    ("spec", "want"),
    [
        pytest.param(
            {"containers": [container({"cpu": "1"}), container({"cpu": "500m", "memory": "1Gi"})]},
            {"cpu": 1500, "memory": GI},
            id="containers add up",
        ),
        pytest.param(
            {
                "containers": [container({"cpu": 1})],
                "initContainers": [container({"cpu": 3}), container({"cpu": 2})],
            },
            {"cpu": 3000},
            id="init containers run one after the other",
        ),
        pytest.param(
            {
                "containers": [container({"cpu": 1})],
                "initContainers": [side(cpu=1), container({"cpu": 4}), side(cpu=2)],
            },
            {"cpu": 5000},
            id="an init container beside the sidecar started before it",
        ),
        pytest.param(
            {
                "containers": [container({"cpu": 4})],
                "initContainers": [side(cpu=1), container({"cpu": 2}), side(cpu=2)],
            },
            {"cpu": 7000},
            id="sidecars run with the containers",
        ),
        pytest.param(
            {"containers": [container({"cpu": 1})], "overhead": {"cpu": "250m", "memory": "1Gi"}},
            {"cpu": 1250, "memory": GI},
            id="overhead comes on top",
        ),
        pytest.param(
            {
                "containers": [container({"cpu": 1, "memory": "1Gi", "nvidia.com/gpu": 1})],
                "resources": {"requests": {"cpu": 2}, "limits": {"cpu": 4, "memory": "8Gi"}},
                "overhead": {"cpu": 1},
            },
            {"cpu": 3000, "memory": GI, "nvidia.com/gpu": 1000},
            id="pod-level requests replace the sum, resource by resource",
        ),
        pytest.param(
            {"containers": [container({})], "resources": {"limits": {"memory": "8Gi"}}},
            {"memory": 8 * GI},
            id="a pod-level limit stands where nobody requests",
        ),
        pytest.param(
            {"containers": [container({"cpu": 1}, limits={"cpu": 2, "nvidia.com/gpu": 2})]},
            {"cpu": 1000, "nvidia.com/gpu": 2000},
            id="a limit stands for a missing request",
        ),
        pytest.param(
            {"containers": [container({"cpu": "0", "memory": "1"})]},
            {"memory": 1},
            id="nothing is dropped",
        ),
        pytest.param(
            {"containers": [container({"example.com/thing": "3", "hugepages-2Mi": "4Mi"})]},
            {"example.com/thing": 3000, "hugepages-2Mi": 4 << 20},
            id="unknown resources are carried",
        ),
        pytest.param(
            {"containers": [container({"memory": None, "cpu": 0.1})]},
            {"cpu": 100},
            id="null is nothing, and a float is its text",
        ),
    ],
)
def test_requests_are(spec: dict[str, Any], want: dict[str, int]) -> None:
    assert requests(**spec) == want


def resizing(conditions: list[dict[str, str]]) -> dict[str, int]:
    status = {
        "containerStatuses": [
            {
                "name": "main",
                "resources": {"requests": {"cpu": "2"}},
                "allocatedResources": {"cpu": "3", "memory": "2Gi"},
            }
        ],
        "conditions": conditions,
    }
    world = snapshot(pod("p", {"cpu": "4", "memory": "1Gi"}, nodeName="n", status=status))
    return dict(pod_in(world, "p").spec.requests)


def test_a_resize_counts_with_the_most_of_wanted_given_and_used() -> None:
    assert resizing([]) == {"cpu": 4000, "memory": 2 * GI}


def test_an_infeasible_resize_counts_with_what_the_pod_has() -> None:
    pending = {"type": "PodResizePending", "status": "True", "reason": "Infeasible"}

    assert resizing([pending]) == {"cpu": 3000, "memory": 2 * GI}


@pytest.mark.parametrize(
    ("reason", "want"),
    [("", 4000), ("Deferred", 4000), ("Infeasible", 3000)],
)
def test_a_resize_of_the_pod_as_a_whole_counts_like_one_of_a_container(
    reason: str, want: int
) -> None:
    pending = {"type": "PodResizePending", "status": "True", "reason": reason}
    status = {
        "resources": {"requests": {"cpu": "2"}},
        "allocatedResources": {"cpu": "3", "memory": "8Gi"},
        "conditions": [pending] if reason else [],
    }
    whole = {"requests": {"cpu": "4"}}
    running = pod("p", containers=[container({})], resources=whole, nodeName="n", status=status)
    other = pod("q", containers=[container({})], resources=whole, nodeName="n")
    world = snapshot(running, other)

    assert dict(pod_in(world, "p").spec.requests) == {"cpu": want}
    assert dict(pod_in(world, "q").spec.requests) == {"cpu": 4000}


def test_a_resize_of_two_containers_is_one_step() -> None:
    def container_status(name: str, cpu: str) -> dict[str, Any]:
        given = {"cpu": cpu}
        return {"name": name, "resources": {"requests": given}, "allocatedResources": given}

    status = {"containerStatuses": [container_status("grows", "1"), container_status("gives", "3")]}
    both = [container({"cpu": "3"}, name="grows"), container({"cpu": "1"}, name="gives")]
    world = snapshot(pod("p", containers=both, nodeName="n", status=status))

    assert pod_in(world, "p").spec.requests["cpu"] == 4000


def limit_range(**item: Any) -> dict[str, Any]:
    return obj("v1", "LimitRange", "lr", spec={"limits": [{"type": "Container", **item}]})


@pytest.mark.parametrize(
    ("made", "want"),
    [
        pytest.param({"status": {"phase": ""}}, {"cpu": 2000, "memory": GI}, id="not created yet"),
        pytest.param({"meta": {"uid": "u"}}, {"memory": GI}, id="admitted already"),
    ],
)
def test_limit_ranges_fill_only_pods_that_no_server_has_admitted(
    made: dict[str, Any], want: dict[str, int]
) -> None:
    ranges = limit_range(default={"cpu": 9, "memory": "9Gi"}, defaultRequest={"cpu": 2})
    one = pod("p", containers=[container(None, limits={"memory": "1Gi"})], **made)

    world = snapshot(ranges, one)

    assert dict(pod_in(world, "p").spec.requests) == want


def test_equal_pods_share_one_spec_object() -> None:
    world = snapshot(*(pod(f"p-{i}", {"cpu": "1"}) for i in range(5)), pod("q", {"cpu": "1000m"}))

    assert len({id(p.spec) for p in world.pods}) == 1
