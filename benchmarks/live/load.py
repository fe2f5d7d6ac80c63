"""The work: nodes, single pods, gangs; by the thousand, or so many a second."""

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

from cluster.client import Client, Data
from cluster.objects import gang, node, pod


def nodes(many: int) -> Iterator[Data]:
    """Give nodes with room for 32 of the pods, ready without anybody who says so."""
    for i in range(many):
        one = node(f"n{i:05d}", 0, cpu="32", memory="128Gi")
        one["metadata"]["annotations"] = {}
        one["status"]["conditions"] = [{"type": "Ready", "status": "True"}]
        yield one


def pods(many: int, size: int, scheduler: str, name: str = "p") -> Iterator[Data]:
    """Give pods of one CPU: single ones, or in gangs of a size, each after its PodGroup."""
    if size == 1:
        yield from (pod(f"{name}{i}", cpu="1", scheduler=scheduler) for i in range(many))
        return
    for i in range(0, many, size):
        members = min(size, many - i)
        yield from gang(f"{name}{i}", members, 0, cpu="1", scheduler=scheduler)


def held(nodes: int, many: int, scheduler: str) -> Iterator[Data]:
    """Give gangs that need every node as a whole: they wait as long as a single pod runs."""
    for i in range(many):
        yield from gang(f"held{i}", nodes, 0, cpu="32", scheduler=scheduler)


def create(client: Client, things: Iterator[Data]) -> float:
    """Create everything, groups before pods; return how long it took, in seconds."""
    began = time.monotonic()
    listed = list(things)
    client.create_all(t for t in listed if t["kind"] != "Pod")
    client.create_all(t for t in listed if t["kind"] == "Pod")
    return time.monotonic() - began


def steadily(client: Client, things: list[Data], per_second: float) -> dict[str, float]:
    """Create pods at a steady pace; return when each was asked for, by name."""
    asked_s: dict[str, float] = {}
    began = time.monotonic()
    pause = threading.Event()

    def one(i: int, thing: Data) -> None:
        pause.wait(max(0.0, began + i / per_second - time.monotonic()))
        asked_s[thing["metadata"]["name"]] = time.monotonic()
        client.create(thing)

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(one, range(len(things)), things))
    return asked_s
