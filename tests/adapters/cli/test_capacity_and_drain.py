"""``apportion capacity`` and ``apportion drain``: pages and data."""

import json
from pathlib import Path
from typing import Any

import pytest

from apportion.adapters.ask.capacity import Capacity, Fit, PerNode
from apportion.adapters.ask.drain import Draining, Emptied
from apportion.adapters.cli.ask_pages import show_capacity, show_draining
from apportion.models import GroupKey, NodeName, PodKey

WORLD = """
apiVersion: apportion.dev/v1alpha1
kind: Scenario
metadata: {name: three-nodes}
cluster:
  nodes: [{repeat: 3, name: "n{i}", capacity: {cpu: 4}}]
groups:
  - {name: web, pods: 1, requests: {cpu: 2}, running: [n0]}
  - {name: kept, pods: 1, requests: {cpu: 1}, running: [n1], preemptable: false}
"""


@pytest.fixture
def world(tmp_path: Path) -> str:
    path = tmp_path / "world.yaml"
    path.write_text(WORLD)
    return str(path)


def test_copies_are_counted_now_and_per_node(cli: Any, world: str) -> None:
    page = cli("capacity", "web", "-f", world, "--nodes", "2")
    data = json.loads(cli("capacity", "web", "-f", world, "--nodes", "2", "-o", "json").out)

    assert page.out.startswith("default/web  4 more copies would start now\n")
    assert "2 nodes like n0  8 more copies, 2.00 more for each node" in page.out
    assert data["kind"] == "Capacity"
    assert data["now"] == {"copies": 4, "counted": 4, "exact": True}
    assert data["added"][0]["fit"]["copies"] == 8


def test_nodes_are_told_in_order_with_what_keeps_the_others(cli: Any, world: str) -> None:
    page = cli("drain", "n1", "n0", "-f", world)
    data = json.loads(cli("drain", "n1", "n0", "-f", world, "-o", "json").out)

    assert "1.  n0  1 pod to stop: 1 start elsewhere at once" in page.out
    assert "n1  default/kept-0  may not be preempted" in page.out
    assert data["kind"] == "Draining"
    assert [e["node"] for e in data["emptied"]] == ["n0"]


def test_what_becomes_of_the_pods_of_a_node_is_one_sentence(
    capsys: pytest.CaptureFixture[str],
) -> None:
    gone = (PodKey("x/a"), PodKey("x/b"))

    show_draining(Draining((Emptied(NodeName("n"), 3, 1, 2, gone),), ()))

    said = " ".join(capsys.readouterr().out.split())
    assert said.endswith(
        "1. n 3 pods to stop: 1 start elsewhere at once; 2 start once others have left; these "
        "would run no more, here or elsewhere: x/a, x/b"
    )


def test_nodes_that_bring_no_copies_are_said_to(capsys: pytest.CaptureFixture[str]) -> None:
    none = Fit(0, 0, True)

    show_capacity(Capacity(GroupKey("x/g"), none, (PerNode("n", 1, none),)))

    assert "1 node like n  0 more copies, as many as now" in capsys.readouterr().out


def test_no_copies_are_no_bound_where_plans_were_cut_short(
    capsys: pytest.CaptureFixture[str],
) -> None:
    show_capacity(Capacity(GroupKey("x/g"), Fit(0, 9, False), (PerNode("n", 1, Fit(1, 9, False)),)))

    page = capsys.readouterr().out
    assert "x/g  0 more copies as far as was planned would start now" in page
    assert "1 node like n  at least 1 more copy, 1.00 more for each node" in page


def test_what_is_not_there_is_one_sentence(cli: Any, world: str) -> None:
    for args in (["capacity", "nobody"], ["drain", "n9"], ["capacity", "web", "--like", "n9"]):
        result = cli(*args, "-f", world)

        assert (result.code, result.out) == (2, "")
        assert "there is no" in result.err
