"""Write a GPU cluster as Kubernetes objects: ``make.py --nodes 200 --pods 600 --seed 1``.

Node kinds and pod sizes follow the numbers that were published with openb, the 2023 trace of a
production cluster of 1,213 GPU nodes ("Beware of Fragmentation", USENIX ATC 2023). Its pods come
alone and it has no queues: the gangs, queues and priorities here are made up. Shares of a GPU are
asked for as whole GPUs.
"""

import argparse
import json
import random
import sys
from typing import Any

NODE_KINDS = (
    # model, GPUs, cores, GiB, how many of 1,213
    ("G2", 8, 96, 384, 549),
    ("T4", 2, 104, 512, 387),
    ("P100", 2, 16, 120, 107),
    ("G3", 8, 128, 768, 39),
    ("V100M16", 4, 32, 128, 28),
    ("P100", 2, 64, 256, 22),
    ("V100M32", 8, 96, 768, 21),
    ("V100M16", 1, 8, 32, 19),
    ("T4", 4, 96, 384, 17),
    ("V100M32", 4, 48, 368, 9),
    ("V100M16", 8, 64, 256, 7),
    ("P100", 1, 8, 60, 3),
    ("P100", 2, 8, 60, 2),
    ("A10", 1, 128, 1024, 2),
    ("V100M16", 8, 82, 336, 1),
)
POD_KINDS = (
    # GPUs, cores, GiB, of 1,000 pods
    (0, 8, 16, 133),
    (1, 8, 32, 858),
    (2, 16, 64, 2),
    (4, 32, 128, 2),
    (8, 64, 256, 5),
)
GANG_SIZES = (2, 4, 8)
IN_GANGS = 0.3
RUNNING = 0.5
QUEUES = (("research", 4), ("vision", 3), ("speech", 2), ("ops", 1))
URGENT = 0.1
SCHEDULER = "apportion"


def main() -> None:
    ask = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    ask.add_argument("--nodes", type=int, default=200)
    ask.add_argument("--pods", type=int, default=600)
    ask.add_argument("--seed", type=int, default=1)
    given = ask.parse_args()
    dice = random.Random(given.seed)
    nodes = make_nodes(given.nodes, dice)
    items = [*nodes, *queues(nodes), urgent_class(), *work(given.pods, nodes, dice)]
    json.dump({"apiVersion": "v1", "kind": "List", "items": items}, sys.stdout)
    print()


def make_nodes(n: int, dice: random.Random) -> list[dict[str, Any]]:
    kinds = dice.choices(NODE_KINDS, [k[-1] for k in NODE_KINDS], k=n)
    return [
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {
                "name": f"gpu-{i:04}",
                "labels": {"kubernetes.io/hostname": f"gpu-{i:04}", "example.com/gpu-model": model},
            },
            "status": {
                "allocatable": {
                    "cpu": cores, "memory": f"{gib}Gi", "nvidia.com/gpu": gpus, "pods": 110,
                },
                "conditions": [{"type": "Ready", "status": "True"}],
            },
        }
        for i, (model, gpus, cores, gib, _) in enumerate(kinds)
    ]  # fmt: skip


def queues(nodes: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Give each queue its weight's part of all GPUs as its due."""
    gpus = sum(n["status"]["allocatable"]["nvidia.com/gpu"] for n in nodes)
    weights = sum(w for _, w in QUEUES)
    return [
        {
            "apiVersion": "scheduling.volcano.sh/v1beta1",
            "kind": "Queue",
            "metadata": {"name": name},
            "spec": {"weight": w, "deserved": {"nvidia.com/gpu": gpus * w // weights}},
        }
        for name, w in QUEUES
    ]


def urgent_class() -> dict[str, Any]:
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": "urgent"},
        "value": 1000,
    }


def work(n: int, nodes: list[dict[str, Any]], dice: random.Random) -> list[dict[str, Any]]:
    """Make pods alone and in gangs; what runs already was placed first fit, in a random order."""
    free = [dict(node["status"]["allocatable"]) for node in nodes]
    for room, node in zip(free, nodes, strict=True):
        room["memory"] = int(room["memory"][:-2])
        room["name"] = node["metadata"]["name"]
    out: list[dict[str, Any]] = []
    pods = group = 0
    while pods < n:
        size = dice.choice(GANG_SIZES) if dice.random() < IN_GANGS / 3 else 1
        size = min(size, n - pods)
        gpus, cores, gib, _ = dice.choices(POD_KINDS, [k[-1] for k in POD_KINDS])[0]
        if size > 1:
            gpus = dice.choice((1, 2, 4, 8))
            cores, gib = 8 * gpus, 32 * gpus
        places = _first_fit(free, size, gpus, cores, gib, dice) if pods < n * RUNNING else []
        out += _group(group, size, (gpus, cores, gib), places, dice)
        pods, group = pods + size, group + 1
    return out


def _first_fit(
    free: list[dict[str, Any]], size: int, gpus: int, cores: int, gib: int, dice: random.Random
) -> list[str]:
    ask = {"nvidia.com/gpu": gpus, "cpu": cores, "memory": gib, "pods": 1}
    places: list[dict[str, Any]] = []
    for room in dice.sample(free, len(free)):
        while len(places) < size and all(room[r] >= v for r, v in ask.items()):
            for r, v in ask.items():
                room[r] -= v
            places.append(room)
    if len(places) == size:
        return [p["name"] for p in places]
    for room in places:
        for r, v in ask.items():
            room[r] += v
    return []


def _group(
    number: int, size: int, ask: tuple[int, int, int], places: list[str], dice: random.Random
) -> list[dict[str, Any]]:
    queue = dice.choice(QUEUES)[0]
    name, urgent = f"job-{number:04}", dice.random() < URGENT
    minutes = dice.randrange(24 * 60)
    created = f"2026-05-04T{minutes // 60:02}:{minutes % 60:02}:00Z"
    requests = {"cpu": ask[1], "memory": f"{ask[2]}Gi"}
    if ask[0]:
        requests["nvidia.com/gpu"] = ask[0]
    classes = {"priorityClassName": "urgent"} if urgent else {}
    out: list[dict[str, Any]] = [
        {
            "apiVersion": "scheduling.volcano.sh/v1beta1",
            "kind": "PodGroup",
            "metadata": {"name": name, "namespace": queue, "creationTimestamp": created},
            "spec": {"minMember": size, "queue": queue, **classes},
        }
    ]
    for i in range(size):
        running = {"nodeName": places[i]} if places else {}
        status = {"phase": "Running", "startTime": created} if places else {"phase": "Pending"}
        out.append(
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {
                    "name": f"{name}-{i}", "namespace": queue, "creationTimestamp": created,
                    "annotations": {"scheduling.k8s.io/group-name": name},
                },
                "spec": {
                    "schedulerName": SCHEDULER,
                    "containers": [{"name": "main", "resources": {"requests": requests}}],
                    **classes, **running,
                },
                "status": status,
            }
        )  # fmt: skip
    return out


if __name__ == "__main__":
    main()
