"""Small crowded clusters in which pods have volumes: places, attach limits, shared claims."""

from collections.abc import Iterator
from random import Random

from msgspec.structs import replace

from apportion.models import (
    Node,
    NodeSelectorTerm,
    Pod,
    Requirement,
    ResourceQuota,
    Snapshot,
    Volume,
)
from oracle.worlds import Size, world

DRIVER = "csi.example.com"
ZONE = "zone"


def stored(seed: int, size: Size) -> Snapshot:
    """Return the world of this seed with volumes."""
    return with_volumes(world(seed, size), Random(f"stored {size} {seed}"))


def with_volumes(base: Snapshot, rng: Random) -> Snapshot:
    """Return the cluster with volumes."""
    shared = {name: _sharing(rng, name) for name in ("a/c1", "b/c2", "a/c3")}
    nodes = tuple(_with_driver(rng, n) for n in base.nodes)
    specs: dict[str, tuple[Volume, ...]] = {}
    pods = tuple(_pod(rng, p, shared, specs) for p in base.pods)
    return replace(base, nodes=nodes, pods=pods, quotas=tuple(_quotas(rng)))


def _quotas(rng: Random) -> Iterator[ResourceQuota]:
    for namespace in "ab":
        keys = ("persistentvolumeclaims", "requests.storage", "k.storageclass.storage.k8s.io/"
                "requests.storage")  # fmt: skip
        hard = {k: rng.choice((0, 1, 2, 3)) for k in keys if rng.random() < 0.4}
        used = {k: min(1, v) for k, v in hard.items() if rng.random() < 0.3}
        yield ResourceQuota(namespace, "q", hard, used)


def _with_driver(rng: Random, node: Node) -> Node:
    most = rng.choice((None, 0, 1, 1, 2, 2, 3))
    return replace(node, drivers={} if rng.random() < 0.15 else {DRIVER: most})


def _sharing(rng: Random, name: str) -> Volume:
    kind = rng.choice(("node", "node", "pod", "", "zone"))
    driver = DRIVER if rng.random() < 0.6 else ""
    if kind == "zone":
        return Volume(name, driver=driver, keys=(ZONE,))
    return Volume(name, driver=driver, sharing=kind)  # type: ignore[arg-type]


def _pod(
    rng: Random, pod: Pod, shared: dict[str, Volume], specs: dict[str, tuple[Volume, ...]]
) -> Pod:
    """Pods of one group mostly have the same volumes, so that some stay interchangeable."""
    name = str(pod.group)
    if name not in specs or rng.random() < 0.2:
        volumes: list[Volume] = []
        if rng.random() < 0.4:
            volumes += [Volume(driver=DRIVER)] * rng.choice((1, 1, 2))
        if rng.random() < 0.4:
            volumes.append(shared[rng.choice(sorted(shared))])
        if rng.random() < 0.15:
            term = NodeSelectorTerm((Requirement(ZONE, "In", (rng.choice("ab"),)),))
            volumes.append(Volume(places=((term,),)))
        if rng.random() < 0.25:
            kind = rng.choice("kl")
            made = Volume(made_in=pod.namespace, size=rng.choice((1, 2)), storage_class=kind)
            volumes.append(made)
        if rng.random() < 0.05:
            volumes.append(Volume(problem="PersistentVolumeClaim a/x not found; create it"))
        specs[name] = tuple(sorted(volumes))
    return replace(pod, spec=replace(pod.spec, volumes=specs[name]))
