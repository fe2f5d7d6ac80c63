"""The setting ``moves`` on the command line: shown by plan, refused by run."""

import json
from pathlib import Path
from typing import Any

CLUSTER = """
apiVersion: apportion.dev/v1alpha1
kind: Scenario
metadata: {name: pieces, about: One GPU is free on each of two nodes.}
cluster:
  nodes: [{repeat: 2, name: "n{i}", capacity: {cpu: 8, nvidia.com/gpu: 2}}]
queues: [{name: q}]
groups:
  - {repeat: 2, name: "old-{i}", queue: q, pods: 1, requests: {nvidia.com/gpu: 1}, age: "{3-i}m", running: ["n{i}"]}
  - {name: new, queue: q, pods: 1, requests: {nvidia.com/gpu: 2}, age: 1m}
expect: [{running_count: {new: 1}}]
"""  # noqa: E501
SETTINGS = "apiVersion: apportion.dev/v1alpha1\nkind: Configuration\nmoves: 2\n"


def test_plan_moves_nobody_unless_it_is_told_to(cli: Any, tmp_path: Path) -> None:
    file = tmp_path / "pieces.yaml"
    file.write_text(CLUSTER)

    without, told = cli("plan", file), cli("plan", file, "--moves", "1")

    assert (without.code, told.code) == (0, 0)
    assert "Evicted" not in without.out
    assert "for default/new: is to run on n" in told.out
    assert "Promised" in told.out


def test_whatif_says_who_would_start_by_moves_which_explain_does_not_try(
    cli: Any, tmp_path: Path
) -> None:
    file = tmp_path / "pieces.yaml"
    file.write_text(CLUSTER)

    asked = cli("whatif", "--set", "moves=1", "-f", file, "--output", "json")
    told = json.loads(cli("explain", "new", "-f", file, "--output", "json").out)

    starts = {g["group"]: g["after"] for g in json.loads(asked.out)["groups"]}
    assert starts["default/new"]["promised"] == 1
    assert "moves" not in {c["kind"] for c in told["changes"]}


def test_run_says_why_it_moves_nobody(cli: Any, tmp_path: Path) -> None:
    file = tmp_path / "settings.yaml"
    file.write_text(SETTINGS)

    result = cli("run", "--config", file)

    assert result.code == 2
    assert f"{file}: moves: apportion run does not restart running pods elsewhere" in result.err
