"""Free local volumes are counted by host, class and size, and each claim takes one."""

from itertools import combinations
from random import Random

import pytest

from apportion.adapters.kubernetes.local_volumes import LocalVolumes, host_of
from apportion.models import NodeSelectorTerm, Requirement, Snapshot, Volume
from kubernetes_objects import Data, node, obj, pod, pod_in, snapshot

HOST = "kubernetes.io/hostname"


def pinned(*hosts: str) -> NodeSelectorTerm:
    return NodeSelectorTerm((Requirement(HOST, "In", hosts),))


def volume(name: str, host: str | None, size: str = "1Gi", **more: Data) -> Data:
    body: Data = {"capacity": {"storage": size}, "accessModes": ["ReadWriteOnce"],
                  "storageClassName": "local", **more}  # fmt: skip
    if host is not None:
        expression = {"key": HOST, "operator": "In", "values": [host]}
        body["nodeAffinity"] = {
            "required": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
        }
    return obj("v1", "PersistentVolume", name, None, spec=body)


def world(*volumes: Data, sizes: tuple[str, ...] = ("1Gi",)) -> Snapshot:
    """Return a node, and a pod with claims of these sizes, none of which is bound."""
    kind = obj("storage.k8s.io/v1", "StorageClass", "local", None)
    kind |= {"provisioner": "kubernetes.io/no-provisioner"}
    kind |= {"volumeBindingMode": "WaitForFirstConsumer"}
    claims = [
        obj("v1", "PersistentVolumeClaim", f"c{i}", spec={
            "storageClassName": "local", "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": size}},
        })
        for i, size in enumerate(sizes)
    ]  # fmt: skip
    raw = [
        {"name": f"v{i}", "persistentVolumeClaim": {"claimName": f"c{i}"}}
        for i in range(len(sizes))
    ]
    return snapshot(node("n"), kind, *volumes, *claims, pod("p", volumes=raw))


def drivers(of: Snapshot) -> list[str]:
    return sorted(v.driver for v in pod_in(of, "p").spec.volumes)


def test_a_node_has_the_free_volumes_of_its_host() -> None:
    taken: Data = {"claimRef": {"namespace": "default", "name": "other"}}
    here = world(volume("a", "n"), volume("b", "n"), volume("c", "m"), volume("d", "n", **taken))

    assert here.nodes[0].drivers == {"StorageClass local": 2}
    assert drivers(here) == ["StorageClass local"]


def test_a_class_with_a_volume_that_is_not_local_is_not_counted() -> None:
    here = world(volume("a", "n"), volume("b", None))

    assert here.nodes[0].drivers == {}
    assert drivers(here) == [""]


def test_a_large_claim_counts_among_all_volumes_and_among_the_large_ones() -> None:
    here = world(volume("a", "n"), volume("b", "n", "5Gi"), sizes=("1Gi", "3Gi"))

    large = f"StorageClass local from {5 << 30} bytes"
    assert here.nodes[0].drivers == {"StorageClass local": 2, large: 1}
    assert drivers(here) == ["StorageClass local", "StorageClass local", large]


def test_a_shared_claim_counts_once_in_every_lot() -> None:
    lots = LocalVolumes()
    lots.add("local", [(1, "n"), (5, "n")])

    beside = list(lots.beside(Volume("x/c", driver=lots.lot_of("local", 5))))

    assert beside == [Volume("x/c", driver="StorageClass local")]


@pytest.mark.parametrize(
    ("terms", "want"),
    [
        pytest.param([pinned("a")], "a", id="one host"),
        pytest.param([pinned("a"), pinned("a")], "a", id="the same twice"),
        pytest.param([pinned("a"), pinned("b")], None, id="either of two"),
        pytest.param([pinned("a", "b")], None, id="two in one term"),
        pytest.param([NodeSelectorTerm((Requirement("zone", "In", ("z",)),))], None, id="a zone"),
        pytest.param([], None, id="nowhere"),
    ],
)
def test_the_host_of_a_volume(terms: list[NodeSelectorTerm], want: str | None) -> None:
    assert host_of(terms) == want


@pytest.mark.parametrize("seed", range(60))
def test_the_lots_allow_what_can_be_matched(seed: int) -> None:
    """Up to four sizes, claims fit their lots exactly where each can have a volume of its own."""
    rng = Random(f"local volumes {seed}")
    volumes = [rng.randint(1, 4) for _ in range(rng.randint(1, 5))]
    claims = sorted((rng.randint(1, 4) for _ in range(rng.randint(1, 5))), reverse=True)
    lots = LocalVolumes()
    lots.add("local", [(size, "n") for size in volumes])
    has = lots.on({HOST: "n"})

    asked: list[str] = []
    for size in claims:
        one = Volume(driver=lots.lot_of("local", size))
        asked += [v.driver for v in (one, *lots.beside(one))]

    matched = any(
        all(v >= c for v, c in zip(sorted(some, reverse=True), claims, strict=True))
        for some in combinations(volumes, len(claims))
    )
    assert all(asked.count(lot) <= has.get(lot, 0) for lot in asked) == matched
