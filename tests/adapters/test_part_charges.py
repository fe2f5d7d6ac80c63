"""Slices and replicas of GPUs count for queues that name nvidia.com/gpu, and for nobody else."""

import pytest

from apportion.adapters.kubernetes.part_charges import with_parts_charged
from apportion.adapters.plan_check import scene_of, violations_of
from apportion.models import (
    Amounts,
    Config,
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
from apportion.models.devices import GPU, SHARED_GPU, WHOLE_GPU
from apportion.policies.device_sizes import whole_devices
from apportion.policies.rights import asks_of
from apportion.policies.standing import standing_of
from apportion.solver.entry import plan

A100 = {"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB", "nvidia.com/mig.strategy": "mixed"}
ONE, THREE = "nvidia.com/mig-1g.10gb", "nvidia.com/mig-3g.40gb"
QUEUE = QueueName("q")


def node(name: str, labels: dict[str, str], **offers: int) -> Node:
    return Node(NodeName(name), Amounts({"cpu": 64_000, "pods": 110, **offers}), labels=labels)


def charge(resource: str, labels: dict[str, str]) -> int:
    there = node("n", labels, **{resource: 4000})
    nodes, pods = with_parts_charged(
        [there], [pod("p", **{resource: 1000})], [Queue(QUEUE, capability={GPU: 8000})]
    )
    assert nodes[0].allocatable[GPU] == 4 * pods[0].spec.requests[GPU]
    assert nodes[0].allocatable[WHOLE_GPU] == 0
    return pods[0].spec.requests[GPU]


def pod(name: str, **asks: int) -> Pod:
    spec = PodSpec(Amounts({"cpu": 1000, **asks}))
    return Pod("n", name, spec, PodState.PENDING, GroupKey(f"n/{name}"))


@pytest.mark.parametrize(
    ("profile", "product", "milli"),
    [
        ("1g.10gb", "NVIDIA-A100-SXM4-80GB", 142),  # 1 of 7, 1 of 8
        ("1g.10gb", "NVIDIA-A100-SXM4-40GB", 250),  # 1 of 7, 2 of 8
        ("3g.40gb", "NVIDIA-A100-SXM4-80GB", 500),  # 3 of 7, 4 of 8
        ("7g.80gb", "NVIDIA-H100-80GB-HBM3", 1000),
        ("2g.12gb", "NVIDIA-A30", 500),
        ("2g.99gb", "", 285),  # of an unknown GPU its compute part
    ],
)
def test_a_slice_is_the_larger_of_its_compute_and_memory_part(
    profile: str, product: str, milli: int
) -> None:
    assert charge(f"nvidia.com/mig-{profile}", {"nvidia.com/gpu.product": product}) == milli


def test_a_replica_is_its_part_of_the_gpu() -> None:
    assert charge(SHARED_GPU, {"nvidia.com/gpu.replicas": "4"}) == 250
    assert charge(SHARED_GPU, {}) == 1000


def test_where_nodes_differ_the_larger_part_counts() -> None:
    nodes = [
        node("a", {"nvidia.com/gpu.product": "A100-SXM4-80GB"}, **{ONE: 1000}),
        node("b", {"nvidia.com/gpu.product": "A100-SXM4-40GB"}, **{ONE: 1000}),
    ]
    made, pods = with_parts_charged(
        nodes, [pod("p", **{ONE: 1000})], [Queue(QUEUE, deserved={GPU: 0})]
    )
    assert [n.allocatable[GPU] for n in made] == [250, 250]
    assert pods[0].spec.requests[GPU] == 250


def test_without_a_queue_that_names_gpus_nothing_changes() -> None:
    nodes, pods = [node("a", A100, **{ONE: 7000})], [pod("p", **{ONE: 1000})]
    named = Queue(QUEUE, capability={ONE: 1000, "cpu": 1000})
    assert with_parts_charged(nodes, pods, [named]) == (nodes, pods)


def snapshot(nodes: list[Node], pods: list[Pod], limit: int) -> Snapshot:
    queues = [Queue(QUEUE, capability={GPU: limit})]
    nodes, pods = with_parts_charged(nodes, pods, queues)
    groups = [Group("n", p.name, QUEUE, created_s=i) for i, p in enumerate(pods)]
    return snapshot_of(taken_at_s=10, nodes=nodes, pods=pods, groups=groups, queues=queues)


def started(made: Snapshot) -> set[str]:
    return {b.pod.removeprefix("n/") for b in plan(made, Config(deterministic=True)).binds}


def test_a_limit_of_gpus_bounds_slices() -> None:
    nodes = [node("a", A100, **{THREE: 4000})]
    pods = [pod(f"p{i}", **{THREE: 1000}) for i in range(4)]
    # Each is half a GPU: a limit of 1.5 bears three.
    assert started(snapshot(nodes, pods, 1500)) == {"p0", "p1", "p2"}


def test_whole_gpus_do_not_come_out_of_slices() -> None:
    nodes = [node("a", A100, **{GPU: 1000, THREE: 4000})]
    pods = [pod("w0", **{GPU: 1000}), pod("w1", **{GPU: 1000}), pod("s", **{THREE: 2000})]
    made = snapshot(nodes, pods, 8000)
    assert made.nodes[0].allocatable[GPU] == 3000
    assert started(made) == {"w0", "s"}
    queue = plan(made, Config(deterministic=True)).queues[0]
    assert dict(queue.allocated) == {"cpu": 2000, GPU: 2000, THREE: 2000}


def test_whole_gpus_are_told_from_slices_where_nobody_is_charged() -> None:
    there = node("n", A100, **{GPU: 3000, THREE: 2000})
    both, plain = pod("both", **{GPU: 2000, THREE: 1000}), pod("plain", **{GPU: 1000})

    nodes, pods = with_parts_charged([there], [both, plain], [Queue(QUEUE)])

    assert nodes[0].allocatable[GPU] == nodes[0].allocatable[WHOLE_GPU] == 3000
    assert pods[0].spec.requests[GPU] == pods[0].spec.requests[WHOLE_GPU] == 2000
    assert whole_devices(pods[0]) == 2
    assert pods[1] == plain


def test_queues_of_a_plan_with_whole_gpus_and_slices_add_up() -> None:
    queue = Queue(QUEUE, deserved={GPU: 5000})
    there = node("n", A100, **{GPU: 3000, THREE: 2000})
    nodes, pods = with_parts_charged(
        [there], [pod("slice", **{THREE: 1000}), pod("both", **{GPU: 2000, THREE: 1000})], [queue]
    )
    groups = [Group("n", p.name, QUEUE) for p in pods]
    world = snapshot_of(nodes=nodes, pods=pods, groups=groups, queues=[queue])
    settings = Config(deterministic=True)

    made = plan(world, settings)

    assert len(made.binds) == 2
    assert list(violations_of(made, scene_of(world, settings))) == []


@pytest.mark.parametrize(
    ("named", "want"),
    [
        pytest.param({GPU: 1000}, {"cpu", GPU}, id="due GPUs alone"),
        pytest.param({GPU: 1000, ONE: 2000}, {"cpu", GPU, ONE}, id="due slices by name as well"),
        pytest.param({ONE: 2000}, {"cpu", ONE}, id="nobody is charged for GPUs"),
    ],
)
def test_slices_are_shared_out_as_gpus_where_no_queue_is_due_slices(
    named: dict[str, int], want: set[str]
) -> None:
    queues = [Queue(QUEUE, deserved=named)]
    nodes, pods = with_parts_charged(
        [node("a", A100, **{ONE: 7000})], [pod("p", **{ONE: 1000})], queues
    )
    made = snapshot_of(
        nodes=nodes, pods=pods, groups=[Group("n", "p", QUEUE)], queues=queues, taken_at_s=10
    )

    scene = scene_of(made, Config())

    resources = scene.ledger.resources
    assert {resources[r] for r in asks_of(scene, scene.roster[GroupKey("n/p")])} == want
    assert {resources[r] for r in standing_of(scene).columns} == want
