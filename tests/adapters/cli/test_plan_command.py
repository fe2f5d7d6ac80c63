"""``apportion plan``: what it prints, what it reads, and how it ends."""

import gzip
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from apportion.adapters.cli import terminal
from apportion.models.snapshot import read
from apportion.solver import entry
from kubernetes_objects import node, obj, pod, queue

SMALL = "examples/small"


def document(*objects: Any) -> str:
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)})


def program(*args: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "apportion", *args], capture_output=True, check=False
    )


def test_page_says_who_starts_who_goes_who_waits_and_why(cli: Any) -> None:
    result = cli("plan", SMALL)

    assert result.code == 0
    assert re.search(r"research/train +4 pods +gpu-a ×2, gpu-b ×2", result.out)
    assert re.search(r"batch/sweep +6 pods +gpu-a ×3, gpu-b ×3\n  for research/train", result.out)
    assert re.search(r"lab/notes +1 pod +quota: queue lab", result.out)
    for heading in ("Starts now", "Promised", "Evicted", "Waits", "Queues", "Objective"):
        assert f"\n{heading}" in result.out
    assert result.err == ""


def test_page_and_data_say_which_devices_claims_get(cli: Any) -> None:
    api = "resource.k8s.io/v1"
    asked = {"requests": [{"name": "r", "exactly": {"deviceClassName": "gpu.example.com"}}]}
    pool = {"name": "n", "generation": 1, "resourceSliceCount": 1}
    told = {"driver": "gpu.example.com", "nodeName": "n", "pool": pool, "devices": [{"name": "g0"}]}
    text = document(
        node(), pod("p", resourceClaims=[{"name": "gpu", "resourceClaimName": "mine"}]),
        obj(api, "DeviceClass", "gpu.example.com", None),
        obj(api, "ResourceSlice", "n", None, spec=told),
        obj(api, "ResourceClaim", "mine", spec={"devices": asked}),
    )  # fmt: skip

    page = cli("plan", "-", stdin=text).out
    data = json.loads(cli("plan", "-", "--output", "json", stdin=text).out)

    assert re.search(r"Devices +1 claim\n +default/p +default/mine +n/g0\n", page)
    [given] = data["allocations"]
    assert (given["resourceClaim"], given["node"]) == ("default/mine", "n")
    assert given["devices"] == [
        {"request": "r", "driver": "gpu.example.com", "pool": "n", "device": "g0",
         "adminAccess": False, "multiple": False, "consumed": []},
    ]  # fmt: skip


def test_page_has_no_colours_and_no_long_lines_in_a_pipe(cli: Any) -> None:
    result = cli("plan", SMALL)

    assert "\x1b" not in result.out
    assert max(map(len, result.out.splitlines())) <= terminal.PIPED_WIDTH
    assert not any(line != line.rstrip() for line in result.out.splitlines())


def test_page_writes_out_what_a_terminal_would_act_on(cli: Any) -> None:
    odd = pod(
        "p", {"cpu": "100"}, annotations={"scheduling.volcano.sh/queue-name": "q\x1b[31m\u202e"}
    )

    result = cli("plan", "-", stdin=document(node(), odd))

    assert result.code == 0
    assert "\x1b" not in result.out
    assert "\u202e" not in result.out
    assert "\\x1b[31m" in result.out


@pytest.mark.parametrize("form", ["json", "yaml"])
def test_data_is_the_plan_with_its_digest(cli: Any, form: str) -> None:
    result = cli("plan", SMALL, "-o", form)

    plan = json.loads(result.out) if form == "json" else yaml.safe_load(result.out)
    assert (plan["kind"], plan["apiVersion"]) == ("Plan", "apportion.dev/v1alpha1")
    assert plan["digest"].startswith("sha256:")
    assert {b["pod"] for b in plan["nominations"]} >= {"research/train-0", "lab/fix-0"}


def test_settle_takes_its_number_or_none(cli: Any) -> None:
    for args in (
        ("--settle", "--output", "json"), ("--output", "json", "--settle"),
        ("--settle", "9", "--output", "json"), ("--settle=9", "--output", "json"),
    ):  # fmt: skip
        result = cli("plan", SMALL, *args)

        settled = json.loads(result.out)["settled"]
        assert settled["stable"]
        assert settled["running"]["research/train-0"]["node"] in ("gpu-a", "gpu-b")
        assert len(settled["evicted"]) == 7


def test_settle_that_is_cut_short_says_so(cli: Any) -> None:
    result = cli("plan", SMALL, "--settle", "2")

    assert "Did not settle after 2 cycles" in result.out


def test_standard_input_folders_and_files_mix(cli: Any) -> None:
    extra = pod("late", {"cpu": "1"}, namespace="late")

    result = cli(
        "plan", "examples/small/nodes.yaml", "-", "examples/kubectl-dump", "-o", "json",
        stdin=document(extra),
    )  # fmt: skip

    assert result.code == 0
    binds = {b["pod"] for b in json.loads(result.out)["binds"]}
    assert {"late/late", "team-b/report-abcde"} <= binds


def test_snapshot_written_out_gives_the_same_plan_again(cli: Any, tmp_path: Path) -> None:
    saved = tmp_path / "seen.json.gz"

    first = json.loads(
        cli("plan", SMALL, "--deterministic", "--snapshot-out", saved, "-o", "json").out
    )
    again = json.loads(cli("plan", saved, "--deterministic", "-o", "json").out)

    assert again == first
    assert read(saved.read_bytes()).digest == first["snapshot"]
    assert saved.read_bytes()[:2] == gzip.compress(b"")[:2]


def test_two_deterministic_runs_print_the_same_bytes() -> None:
    first, second = (program("plan", SMALL, "--deterministic", "-o", "json") for _ in range(2))

    assert first.returncode == 0
    assert first.stdout == second.stdout
    assert json.loads(first.stdout)["solver"]["wallSeconds"] is None


def test_none_of_ours_names_the_flag_to_pass(cli: Any) -> None:
    result = cli("plan", "examples/volcano")

    assert result.code == 0
    first_lines = " ".join(result.out.split("Queues")[0].split())
    assert "pass --scheduler-name volcano" in first_lines


def test_scheduler_names_may_be_several(cli: Any) -> None:
    objects = document(node(), pod("a", scheduler="one"), pod("b", scheduler="two"))

    result = cli(
        "plan", "-", "--scheduler-name", "one", "--scheduler-name", "two", "-o", "json",
        stdin=objects,
    )  # fmt: skip

    assert [b["pod"] for b in json.loads(result.out)["binds"]] == ["default/a", "default/b"]


def test_now_is_the_time_that_ages_count_from(cli: Any) -> None:
    result = cli("plan", SMALL, "--now", "2026-03-03T00:00:00Z")

    assert "as of 2026-03-03 00:00:00 UTC" in result.out


def test_configuration_and_options_reach_the_plan(cli: Any, tmp_path: Path) -> None:
    settings = tmp_path / "c.yaml"
    settings.write_text(
        "apiVersion: apportion.dev/v1alpha1\nkind: Configuration\nseed: 7\nengine: greedy\n"
    )

    from_file = json.loads(cli("plan", SMALL, "--config", settings, "-o", "json").out)["solver"]
    option = json.loads(
        cli("plan", SMALL, "--config", settings, "--seed", "8", "-o", "json").out
    )["solver"]  # fmt: skip

    assert (from_file["engine"], from_file["seed"]) == ("greedy", 7)
    assert option["seed"] == 8


def test_what_volcanos_settings_have_no_counterpart_for_is_a_warning(
    cli: Any, tmp_path: Path
) -> None:
    conf = tmp_path / "volcano.conf.yaml"
    conf.write_text("actions: allocate\ntiers: [{plugins: [{name: gang}, {name: sla}]}]\n")

    result = cli("plan", SMALL, "--config", conf, "-o", "json")

    warnings = json.loads(result.out)["warnings"]
    assert any(w["path"] == "tiers[0].plugins[1]" and "sla" in w["message"] for w in warnings)


@pytest.mark.parametrize(
    ("args", "stdin", "says"),
    [
        pytest.param(("plan",), "", "FILE", id="no file named"),
        pytest.param(("plan", "nowhere.yaml"), "", "no such file", id="missing file"),
        pytest.param(("plan", "-"), "", "standard input is empty", id="empty pipe"),
        pytest.param(("plan", "-"), "# only a comment\n", "no objects", id="only a comment"),
        pytest.param(("plan", "-"), "a: [", "YAML", id="broken yaml"),
        pytest.param(("plan", "-"), b"\xff\xfe\x00\xd8", "neither YAML nor JSON", id="no text"),
        pytest.param(("plan", "-", "-"), "{}", "once only", id="standard input twice"),
        pytest.param(("plan", SMALL, "--budget", "soon"), "", "no duration", id="budget"),
        pytest.param(("plan", SMALL, "--budget", "0s"), "", "at least 1ms", id="no budget"),
        pytest.param(("plan", SMALL, "--seed", "x"), "", "--seed", id="seed"),
        pytest.param(("plan", SMALL, "--now", "noon"), "", "timestamp", id="now"),
        pytest.param(("plan", SMALL, "--settle", "0"), "", "--settle", id="settle"),
        pytest.param(("plan", SMALL, "-o", "xml"), "", "xml", id="output"),
        pytest.param(("plan", SMALL, "--queues-from", "x"), "", "queues-from", id="queues"),
        pytest.param(("plan", SMALL, "--loud"), "", "--loud", id="unknown option"),
        pytest.param(("fly",), "", "fly", id="unknown command"),
        pytest.param(("plan", SMALL, "--config", SMALL), "", "one document", id="config"),
        pytest.param(
            ("plan", "-"), "apiVersion: apportion.dev/v1alpha1\nkind: Configuration\n", "--config",
            id="a configuration as input",
        ),
        pytest.param(
            ("plan", "-"), '{"apiVersion": "apportion.dev/v1alpha1", "kind": "Plan"}',
            "apportion check", id="a plan as input",
        ),
        pytest.param(
            ("plan", "-"),
            '{"apiVersion": "apportion.dev/v1alpha1", "kind": "Snapshot", "pods": 7}',
            "snapshot", id="a damaged snapshot",
        ),
        pytest.param(
            ("plan", SMALL, "--snapshot-out", "/nowhere/x.json"), "", "cannot be written",
            id="a snapshot that cannot be written",
        ),
        pytest.param(
            ("plan", "tests/scenarios/gang", "tests/scenarios/fairness"), "", "one at a time",
            id="several scenarios",
        ),
    ],
)  # fmt: skip
def test_unusable_input_ends_with_two_and_one_sentence(
    cli: Any, args: tuple[str, ...], stdin: Any, says: str
) -> None:
    result = cli(*args, stdin=stdin)

    assert result.code == 2
    assert result.out == ""
    assert says in result.err
    assert result.err.startswith("apportion: ")
    assert result.err.count("\n") == 1


def test_unknown_rule_in_the_configuration_is_named_with_those_there_are(
    cli: Any, tmp_path: Path
) -> None:
    settings = tmp_path / "c.yaml"
    settings.write_text("{apiVersion: apportion.dev/v1alpha1, kind: Configuration, off: [gravity]}")

    result = cli("plan", SMALL, "--config", settings)

    assert result.code == 2
    assert "gravity" in result.err
    assert "topology-spread" in result.err


def test_snapshot_stands_alone(cli: Any, tmp_path: Path) -> None:
    saved = tmp_path / "s.json"
    cli("plan", SMALL, "--snapshot-out", saved)

    beside = cli("plan", saved, "examples/volcano")
    named = cli("plan", saved, "--scheduler-name", "volcano")
    later = cli("plan", saved, "--now", "2026-03-03T00:00:00Z")

    assert (beside.code, named.code, later.code) == (2, 2, 0)
    assert "2026-03-03" in later.out


def test_bad_object_is_listed_and_the_rest_is_planned(cli: Any) -> None:
    objects = document(node(), pod("good"), pod("bad", {"cpu": "1GiB"}), queue("q", weight=-1))

    result = cli("plan", "-", stdin=objects)

    assert result.code == 0
    assert re.search(r"default/good +1 pod", result.out)
    assert "Pod default/bad spec.containers[0].resources.requests.cpu" in result.out
    assert "Queue q spec.weight" in result.out


def test_bug_ends_with_three_and_saves_the_snapshot(
    cli: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def breaks(*_: Any, **__: Any) -> Any:
        raise ZeroDivisionError("half a\nsentence")

    monkeypatch.setattr(entry, "plan", breaks)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    result = cli("plan", SMALL)

    assert result.code == 3
    assert result.err.count("\n") == 1
    assert "ZeroDivisionError: half a sentence" in result.err
    assert "Traceback" not in result.err
    saved = re.search(r"the snapshot is in (\S+)", result.err)
    assert saved is not None
    assert read(Path(saved[1]).read_bytes()).nodes


def test_bug_shows_its_traceback_when_asked(cli: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def breaks(*_: Any, **__: Any) -> Any:
        raise ZeroDivisionError

    monkeypatch.setattr("apportion.adapters.inputs.read_case", breaks)
    monkeypatch.setenv("APPORTION_DEBUG", "1")

    result = cli("plan", SMALL)

    assert result.code == 3
    assert "Traceback" in result.err


def test_reader_that_goes_away_is_no_error(cli: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(*_: Any, **__: Any) -> Any:
        raise BrokenPipeError

    monkeypatch.setattr("apportion.adapters.cli.page.show", gone)
    monkeypatch.setattr(os, "dup2", lambda *_: None)

    result = cli("plan", SMALL)

    assert (result.code, result.err) == (0, "")


def test_progress_line_comes_late_and_goes_away(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setattr(terminal, "PATIENCE_S", 0.0)

    with terminal.progress("planning 3 pods") as line:
        while "planning" not in capsys.readouterr().err:
            assert not line._done.is_set()

    assert capsys.readouterr().err.endswith("\x1b[K")


def test_progress_line_keeps_away_from_pipes(capsys: pytest.CaptureFixture[str]) -> None:
    with terminal.progress("planning"):
        pass

    assert capsys.readouterr().err == ""


def test_gpu_cluster_script_writes_what_plan_reads(cli: Any, tmp_path: Path) -> None:
    script = "examples/gpu-cluster/make.py"
    args = [sys.executable, script, "--nodes", "12", "--pods", "30", "--seed", "3"]
    made = subprocess.run(args, capture_output=True, check=True, text=True).stdout

    result = cli("plan", "-", "-o", "json", stdin=made)

    plan = json.loads(result.out)
    assert result.code == 0
    assert plan["binds"]
    assert not plan["rejected"]
    assert made == subprocess.run(args, capture_output=True, check=True, text=True).stdout


def test_groups_without_pods_are_let_in_or_wait_on_the_page(cli: Any) -> None:
    result = cli("plan", "tests/adapters/cli/tampered.yaml")

    said = " ".join(result.out.split())
    assert "Let in without pods 1 group default/early cpu 2 Waits" in said
    assert (
        "default/late no pods admission: queue later has 2 in use or reserved of its limit of "
        "4 cpu; 3 more are asked for" in said
    )


def test_page_says_how_far_the_work_is_from_its_bound(cli: Any, tmp_path: Path) -> None:
    settings = tmp_path / "config.yaml"
    settings.write_text(
        "{apiVersion: apportion.dev/v1alpha1, kind: Configuration, engine: greedy}\n"
    )
    fits = document(node(), queue("q"), pod("p", {"cpu": "1"}))

    page = cli("plan", "-", "--config", settings, stdin=fits).out

    assert "greedy · feasible · order list proven · work proven ·" in " ".join(page.split())
