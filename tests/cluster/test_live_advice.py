"""A live scheduler tells in condition and event what would start a group that waits."""

from functools import partial
from typing import Any

import pytest

from cluster.client import Client
from cluster.looking import events_about
from cluster.objects import gang, node, queue
from cluster.scheduler import Schedulers
from cluster.waiting import until

LONG_S = 240.0
"""What is told is looked for with what others leave of the processors."""
pytestmark = pytest.mark.usefixtures("kwok", "volcano")


def advised(client: Client, pod: str) -> dict[str, Any]:
    """Return the condition PodScheduled of a pod once it says what would start it; {} before."""
    conditions = client.read("pods", pod).get("status", {}).get("conditions", [])
    return next(
        (
            c
            for c in conditions
            if c["type"] == "PodScheduled" and "; would start " in c.get("message", "")
        ),
        {},
    )


def notes(client: Client, group: str) -> list[str]:
    """Return what events about a group have told of why it waits, and what would start it."""
    told = events_about(client, "PodGroup", group)
    return [e["note"] for e in told if "; would start " in e["note"]]


def test_more_nodes_and_then_it_starts(client: Client, schedulers: Schedulers) -> None:
    client.create_all([node("n1", 2), *gang("g", 5, 1)])
    schedulers.start()

    told = until(partial(advised, client, "g-4"), "the pods are told what starts them", LONG_S)
    (note,) = until(partial(notes, client, "g"), "an event tells it, too")
    assert told["reason"] == "Unschedulable"
    assert "2 of 5 members would fit" in told["message"]
    assert told["message"].endswith("with 2 more nodes like n1 (2 nvidia.com/gpu each)")
    assert note == told["message"]

    # What was told is so.
    client.create_all([node("n2", 2), node("n3", 2)])
    until(lambda: client.read("pods", "g-4")["spec"].get("nodeName"), "it starts")


def test_more_of_a_queue_is_no_matter_of_nodes(client: Client, schedulers: Schedulers) -> None:
    client.create(queue("small", capability={"nvidia.com/gpu": "2"}))
    client.create_all([node("n1", 8), *gang("g", 3, 1, queue="small")])
    schedulers.start()

    told = until(partial(advised, client, "g-0"), "the pods are told what starts them", LONG_S)

    assert told["reason"] == "QueueLimit"
    assert told["message"].endswith("with a limit of 3 nvidia.com/gpu for queue small, 1 more")
