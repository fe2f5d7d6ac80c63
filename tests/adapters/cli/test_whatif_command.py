"""``apportion whatif``: edits as options, a page and data, and sentences for what cannot be."""

import json
from pathlib import Path
from typing import Any

import pytest

WORLD = """
apiVersion: apportion.dev/v1alpha1
kind: Scenario
metadata: {name: two-nodes}
cluster:
  nodes:
    - {repeat: 2, name: "n{i}", capacity: {cpu: 4}, topology: {rack: "r{i}"}}
    - {name: shut, capacity: {cpu: 4}, cordoned: true}
queues: [{name: q, capability: {cpu: 6}}]
groups:
  - {name: runs, queue: q, pods: 1, requests: {cpu: 3}, running: [n0], age: 9m}
  - {name: gang, queue: q, pods: 2, requests: {cpu: 2}, age: 5m}
"""
POD = """
apiVersion: v1
kind: Pod
metadata: {name: late, namespace: default}
spec:
  schedulerName: apportion
  containers: [{name: main, resources: {requests: {cpu: 1}}}]
"""
JOB = """
apiVersion: batch/v1
kind: Job
metadata: {name: train}
spec:
  parallelism: 2
  completions: 2
  completionMode: Indexed
  template:
    spec:
      schedulerName: SCHEDULER
      containers: [{name: main, resources: {requests: {cpu: 3}}}]
"""


@pytest.fixture
def world(tmp_path: Path) -> str:
    path = tmp_path / "world.yaml"
    path.write_text(WORLD)
    return str(path)


def asked(cli: Any, *args: str) -> dict[str, Any]:
    result = cli("whatif", *args, "--output", "json")
    assert result.code == 0, result.err
    answer: dict[str, Any] = json.loads(result.out)
    return answer


def test_a_raised_limit_starts_who_was_held(cli: Any, world: str) -> None:
    answer = asked(cli, "-f", world, "--set-queue", "q.limit.cpu=7")

    assert answer["edits"] == [
        {"edit": "setQueue", "queue": "q", "setting": "limit", "resource": "cpu", "amount": 7000,
         "says": "set the limit of queue q to 7 cpu"}
    ]  # fmt: skip
    assert answer["startsMore"] == ["default/gang"]
    assert answer["waitsLess"] == ["default/gang"]
    assert (answer["base"]["held"], answer["changed"]["held"]) == (1, 0)
    assert answer["queues"][0]["usedAfter"] == {"cpu": 7000}
    (cpu,) = [u for u in answer["use"] if u["resource"] == "cpu"]
    assert (cpu["usedBefore"], cpu["usedAfter"], cpu["capacityAfter"]) == (3000, 7000, 8000)


def test_every_edit_is_an_option(cli: Any, tmp_path: Path) -> None:
    """What each makes different, tests/scenarios/whatif says."""
    near = str(tmp_path / "near.yaml")
    Path(near).write_text(WORLD.replace("age: 5m", "age: 5m, topology: {within: rack}"))

    answer = asked(
        cli, "-f", near, "--copy", "gang", "--remove", "runs", "--set-priority", "gang=3",
        "--set-requests", "gang:cpu=1", "--resize", "gang=3", "--set-minimum", "gang=1",
        "--relax", "gang", "--tolerate", "gang=a=b:NoSchedule", "--drop-selector", "gang=disk",
        "--uncordon", "shut", "--cordon", "n0", "--drain", "n1", "--remove-node", "n0",
        "--set-queue", "q.weight=3", "--wait", "90s", "--add-nodes", "1", "--like", "n1",
    )  # fmt: skip

    assert sorted(e["edit"] for e in answer["edits"]) == [
        "addNodes", "copyGroup", "cordon", "drain", "dropSelector", "relax", "removeGroup",
        "removeNode", "resize", "setMinimum", "setPriority", "setRequests", "setWeight",
        "tolerate", "uncordon", "wait",
    ]  # fmt: skip


def test_settings_are_changed_for_the_second_plan_alone(cli: Any, world: str) -> None:
    answer = asked(cli, "-f", world, "--set", "tiers.packing=spread")

    assert answer["settings"] == ["tiers.packing=spread"]
    assert answer["base"]["config"] != answer["changed"]["config"]
    assert answer["groups"] == []


def test_what_is_submitted_is_read_beside_the_cluster(cli: Any, world: str, tmp_path: Path) -> None:
    (tmp_path / "pod.yaml").write_text(POD)

    answer = asked(cli, "-f", world, "--submit", str(tmp_path / "pod.yaml"))

    assert answer["startsMore"] == ["default/late"]


def test_a_job_is_submitted_and_why_it_would_wait_is_said(
    cli: Any, world: str, tmp_path: Path
) -> None:
    (tmp_path / "job.yaml").write_text(JOB.replace("SCHEDULER", "apportion"))

    answer = asked(cli, "-f", world, "--submit", str(tmp_path / "job.yaml"))

    (train,) = answer["groups"]
    assert (train["group"], train["after"]["waiting"]) == ("default/train", 2)
    assert {r["rule"] for r in train["why"]} == {"capacity", "preemption"}
    page = cli("whatif", "-f", world, "--submit", str(tmp_path / "job.yaml")).out
    for why in train["why"]:
        assert f"{why['rule']}: {why['message']}"[:40] in page


def test_a_job_of_another_scheduler_is_told_of(cli: Any, world: str, tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text(JOB.replace("SCHEDULER", "other"))

    result = cli("whatif", "-f", world, "--submit", str(tmp_path / "job.yaml"))

    assert result.code == 2
    assert "no new group" in result.err
    assert "pass --scheduler-name other to plan those" in result.err


def test_the_changed_cluster_can_be_written_and_planned(
    cli: Any, world: str, tmp_path: Path
) -> None:
    out = tmp_path / "changed.json"

    answer = asked(cli, "-f", world, "--add-nodes", "2", "--like", "n0", "--node-label",
                   "rack=r9", "--snapshot-out", str(out))  # fmt: skip

    planned = json.loads(cli("plan", out, "--deterministic", "-o", "json").out)
    assert planned["snapshot"] == answer["changed"]["snapshot"]
    assert planned["binds"] == []
    nodes = {n["name"]: n for n in json.loads(out.read_text())["nodes"]}
    assert nodes["n0-new-2"]["labels"]["rack"] == "r9"


def test_the_page_says_what_differs(cli: Any, world: str) -> None:
    result = cli("whatif", "-f", world, "--set-queue", "q.limit.cpu=7", "--drain", "n0")

    assert result.code == 0, result.err
    assert result.out.startswith("What if  drain node n0\n         set the limit of queue q to 7")
    for said in ("default/runs  1 running → 1 starting", "Use  of nodes that take pods"):
        assert said in result.out


def test_a_queue_is_told_by_each_of_its_resources(cli: Any, world: str) -> None:
    result = cli("whatif", "-f", world, "--remove", "gang", "--remove", "runs")

    (row,) = [ln.split() for ln in result.out.splitlines() if ln.startswith("  q  ")]
    assert row[:5] == ["q", "cpu", "3", "→", "0"]


def test_nothing_different_is_said(cli: Any, world: str) -> None:
    result = cli("whatif", "-f", world, "--set-minimum", "runs=0")

    assert "Nothing would be different." in result.out


@pytest.mark.parametrize(
    ("args", "want"),
    [
        ([], "nothing is changed; say what, for example: --drain NODE"),
        (["--drain", "n9"], "there is no node n9; did you mean n1, n0?"),
        (["--remove", "gong"], "there is no group gong; did you mean default/gang?"),
        (["--add-nodes", "1"], "--add-nodes N goes with --like NODE, each as often as the other"),
        (["--node-label", "a=b"], "--node-label is about added nodes"),
        (["--set-priority", "gang"], "--set-priority: 'gang': write GROUP=N"),
        (["--resize", "gang=x"], "--resize: 'gang=x': 'x' is not a whole number"),
        (["--set-requests", "gang=1"], "names no resource; write gang:cpu=1"),
        (["--set-requests", "gang:cpu=1Kb"], "'1Kb' is not a quantity"),
        (["--set-queue", "q=1"], "write NAME.limit.RESOURCE=AMOUNT"),
        (["--set-queue", "z.weight=1"], "there is no queue z; there are: default, q"),
        (["--tolerate", "gang=a:No"], "write GROUP=KEY[=VALUE]:EFFECT"),
        (["--set", "packing=spread"], "--set: packing: there is no such key here"),
        (["--set", "off=[gang]"], "rule 'gang' cannot be turned off"),
        (["--submit", "examples/volcano/queue.yaml"], "there is no new group"),
    ],
)
def test_what_cannot_be_is_one_sentence(cli: Any, world: str, args: list[str], want: str) -> None:
    result = cli("whatif", "-f", world, *args)

    assert (result.code, result.out) == (2, "")
    assert want in result.err
    assert result.err.count("\n") == 1


def test_a_cluster_has_to_be_named(cli: Any) -> None:
    result = cli("whatif", "--drain", "n0")

    assert (result.code, result.out) == (2, "")
    assert "-f FILE" in result.err
