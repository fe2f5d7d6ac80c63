"""``apportion check``: scenarios that hold or not, and plans of whoever made them."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

SMALL = "examples/small"


def scenario(expect: list[Any], **more: Any) -> str:
    return json.dumps(
        {
            "apiVersion": "apportion.dev/v1alpha1",
            "kind": "Scenario",
            "metadata": {"name": "one"},
            "cluster": {"nodes": [{"name": "n", "capacity": {"cpu": 4}}]},
            "groups": [{"name": "g", "pods": 2, "requests": {"cpu": 1}}],
            "expect": expect,
            **more,
        }
    )


def test_scenario_that_holds_is_one_line(cli: Any, tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(scenario([{"group": "g", "is": "placed"}]))

    result = cli("check", tmp_path)

    assert result.code == 0
    assert result.out == "holds  one\n"


def test_scenario_that_fails_says_why(cli: Any, tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(
        scenario([{"group": "g", "is": "placed"}, {"running_count": {"g": 1}}, {"pending": ["x"]}])
    )

    result = cli("check", tmp_path / "a.yaml")

    assert result.code == 1
    assert "FAILS  one" in result.out
    assert "expect[1]: group g: 2 run, expected 1" in result.out
    assert "expect[2]: there is no pod x" in result.out
    assert "0 of 1 scenario hold" in result.out


def test_other_objects_beside_scenarios_are_passed_over(cli: Any, tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(scenario([{"bound_total": 2}]))
    (tmp_path / "node.yaml").write_text("{apiVersion: v1, kind: Node, metadata: {name: x}}")

    assert cli("check", tmp_path).code == 0


@pytest.mark.parametrize(
    ("args", "says"),
    [
        pytest.param((), "name scenario files", id="nothing named"),
        pytest.param((SMALL,), "no Scenario", id="no scenario inside"),
        pytest.param(("--order", "tests/scenarios/gang"), "--plan", id="order without a plan"),
        pytest.param(("--plan", "x.json"), "--in FILE", id="plan without a cluster"),
        pytest.param(("--plan", "x.json", "--in", SMALL), "no such file", id="no such plan"),
        pytest.param(("--plan", "LICENSE", "--in", SMALL), "apportion", id="no plan at all"),
        pytest.param(
            ("--plan", "examples/small/queues.yaml", "--in", SMALL), "a plan is one document",
            id="other objects",
        ),
    ],
)  # fmt: skip
def test_unusable_input_ends_with_two(cli: Any, args: tuple[str, ...], says: str) -> None:
    result = cli("check", *args)

    assert result.code == 2
    assert says in result.err
    assert result.err.count("\n") == 1


@pytest.mark.parametrize("form", ["json", "yaml"])
def test_plan_read_back_passes(cli: Any, tmp_path: Path, form: str) -> None:
    path = tmp_path / f"plan.{form}"
    path.write_text(cli("plan", SMALL, "-o", form).out)

    result = cli("check", "--plan", path, "--in", SMALL, "--order")

    assert result.code == 0, result.out
    assert "every rule and the order list hold: 10 starts, 7 evictions" in result.out


def test_plan_from_standard_input_and_cluster_in_several_files(cli: Any) -> None:
    made = cli("plan", SMALL, "-o", "json").out
    files = [f"{SMALL}/{n}.yaml" for n in ("nodes", "queues", "running", "waiting")]

    result = cli("check", "--plan", "-", "--in", files[0], "--in", files[1], *files[2:], stdin=made)

    assert result.code == 0, result.out


def test_plan_of_another_maker_needs_places_only(cli: Any, tmp_path: Path) -> None:
    made = json.loads(cli("plan", SMALL, "-o", "json").out)
    bare = {
        "binds": [{"pod": b["pod"], "node": b["node"]} for b in made["binds"]],
        "nominations": [{"pod": n["pod"], "node": n["node"]} for n in made["nominations"]],
        "evictions": [{"pod": e["pod"]} for e in made["evictions"]],
    }
    path = tmp_path / "bare.json"
    path.write_text(json.dumps(bare))

    result = cli("check", "--plan", path, "--in", SMALL)

    assert result.code == 0, result.out


def test_empty_plan_is_legal_and_out_of_order(cli: Any, tmp_path: Path) -> None:
    path = tmp_path / "idle.yaml"
    path.write_text("{binds: [], evictions: [], nominations: []}")

    legal = cli("check", "--plan", path, "--in", SMALL)
    ordered = cli("check", "--plan", path, "--in", SMALL, "--order")

    assert legal.code == 0
    assert ordered.code == 1
    assert "order: group default/web-0: item 7 (idle capacity)" in ordered.out


@pytest.mark.parametrize(
    ("plan", "says"),
    [
        pytest.param([], "a plan is one document", id="a list"),
        pytest.param({"pods": []}, "none of binds", id="no plan"),
        pytest.param({"binds": 7}, "binds", id="no list"),
        pytest.param({"binds": [{"pod": 7, "node": "n"}]}, "pod", id="no text"),
        pytest.param({"binds": [{"node": "n"}]}, "pod", id="no pod"),
        pytest.param({"binds": [None]}, "binds", id="nothing"),
        pytest.param({"binds": [], "digest": 7}, "digest", id="digest"),
        pytest.param({"binds": [], "objective": [{"tier": 1}]}, "objective", id="half a tier"),
    ],
)
def test_plan_that_cannot_be_understood_ends_with_two(
    cli: Any, plan: Any, says: str, tmp_path: Path
) -> None:
    path = tmp_path / "plan.yaml"
    path.write_text(yaml.safe_dump(plan))

    result = cli("check", "--plan", path, "--in", SMALL)

    assert result.code == 2
    assert says in result.err
    assert result.err.count("\n") == 1


def test_plan_made_with_other_settings_draws_a_note(cli: Any, tmp_path: Path) -> None:
    settings = tmp_path / "c.yaml"
    settings.write_text(
        "{apiVersion: apportion.dev/v1alpha1, kind: Configuration, tiers: {packing: spread}}"
    )
    path = tmp_path / "plan.json"
    path.write_text(cli("plan", SMALL, "--config", settings, "-o", "json").out)

    alone = cli("check", "--plan", path, "--in", SMALL)
    same = cli("check", "--plan", path, "--in", SMALL, "--config", settings)

    assert alone.code == 1
    assert "objective: tier spread" in alone.out
    assert "note: the plan was made with other settings" in alone.out
    assert same.code == 0, same.out
