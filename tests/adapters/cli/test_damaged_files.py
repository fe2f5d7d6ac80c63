"""A thousand damaged objects, and damaged text, through the command line: never a traceback."""

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[3]
SCENARIO = ROOT / "tests/adapters/cli/tampered.yaml"
JUNK: tuple[Any, ...] = (
    None, True, -1, 0, 1.5, 1 << 70, "", " ", "x", "-5", "1e999", "9" * 400, [], {}, [[]], [None],
    {"a": {"b": []}}, "\u202e\x1b[2J", "a/b", {"": None}, "root", "100%", "n0",
)  # fmt: skip
SCRAPS = (
    b"",
    b"{",
    b"]",
    b": ",
    b"\n",
    b"\t",
    b"- ",
    b"&a ",
    b"*a",
    b"!x ",
    b"'",
    b"\xff",
    b"9",
    b"<<",
)
GREEDY = "{apiVersion: apportion.dev/v1alpha1, kind: Configuration, engine: greedy, budget: 1s}"


def sound() -> list[Any]:
    files = [*(ROOT / "examples/small").glob("*.yaml"), *(ROOT / "examples/volcano").glob("*.yaml")]
    files.append(ROOT / "examples/kubectl-dump/dump.yaml")
    objects: list[Any] = []
    for path in sorted(files):
        for one in yaml.safe_load_all(path.read_text()):
            objects += one["items"] if one.get("kind") == "List" else [one]
    return objects


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    pairs = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in list(pairs):
        yield value, key
        if isinstance(inner, dict | list):
            yield from places(inner)


def damage(value: Any, dice: random.Random) -> None:
    spots = list(places(value))
    if not spots:
        return
    inside, key = dice.choice(spots)
    if isinstance(inside, dict) and dice.random() < 0.3:
        del inside[key]
    else:
        inside[key] = json.loads(json.dumps(dice.choice(JUNK)))


@pytest.fixture
def greedy(tmp_path: Path) -> Path:
    path = tmp_path / "greedy.yaml"
    path.write_text(GREEDY)
    return path


def assert_calm(result: Any, *codes: int) -> None:
    assert result.code in codes, result.err
    assert "Traceback" not in result.err
    assert result.err.count("\n") <= 1
    assert "\x1b" not in result.out + result.err


@pytest.mark.parametrize("seed", range(5))
def test_thousand_damaged_objects_end_in_a_plan(cli: Any, greedy: Path, seed: int) -> None:
    dice = random.Random(seed)
    rejected = 0

    for _ in range(8):
        objects = json.loads(json.dumps(sound(), default=str))
        for one in dice.sample(objects, 25):
            damage(one, dice)
        names = ("--scheduler-name", "apportion", "--scheduler-name", "volcano")
        result = cli(
            "plan", "-", "--config", greedy, *names, "-o", "json", stdin=json.dumps(objects)
        )

        assert_calm(result, 0)
        plan = json.loads(result.out)
        rejected += len(plan["rejected"])
        assert all(r["object"] and r["message"] for r in plan["rejected"])

    assert rejected > 20


@pytest.mark.parametrize("seed", range(3))
def test_damaged_text_is_planned_or_refused_in_one_sentence(
    cli: Any, greedy: Path, seed: int
) -> None:
    dice = random.Random(seed)
    texts = [json.dumps(sound(), default=str).encode(), SCENARIO.read_bytes()]
    codes = set()

    for _ in range(40):
        data = bytearray(dice.choice(texts))
        for _ in range(dice.randint(1, 3)):
            at = dice.randrange(len(data))
            data[at : at + dice.randint(0, 3)] = dice.choice(SCRAPS)
        result = cli("plan", "-", "--config", greedy, stdin=bytes(data))

        assert_calm(result, 0, 2)
        codes.add(result.code)

    assert codes == {0, 2}


@pytest.mark.parametrize("seed", range(4))
def test_damaged_scenario_is_planned_or_refused_with_its_path(
    cli: Any, greedy: Path, seed: int
) -> None:
    dice = random.Random(seed)
    whole = yaml.safe_load(SCENARIO.read_text())
    whole["expect"] = [{"group": "gang", "is": "placed"}, {"running_count": {"gang": [1, 3]}}]
    whole["config"] = {"budget": "1s", "queues": {"lab": {"capability": {"cpu": "50%"}}}}

    for _ in range(40):
        bad = json.loads(json.dumps(whole))
        damage(bad, dice)
        result = cli("plan", "-", "--config", greedy, stdin=json.dumps(bad))

        assert_calm(result, 0, 2)
        if result.code == 2:
            assert "standard input" in result.err


@pytest.mark.parametrize("seed", range(3))
def test_damaged_configuration_is_used_or_refused(cli: Any, tmp_path: Path, seed: int) -> None:
    dice = random.Random(seed)
    ours = {
        "apiVersion": "apportion.dev/v1alpha1", "kind": "Configuration", "budget": "1s", "seed": 1,
        "engine": "greedy", "workers": 1, "memoryLimit": "1Gi", "off": ["taints"],
        "options": {"gang": {}}, "tiers": {"slices": 4, "packing": "spread"},
        "queues": {"batch": {"within": "users", "deserved": {"cpu": "10%"}, "namespaces": ["a"]}},
        "grace": "1m", "overcommit": "150%",
    }  # fmt: skip
    volcano = yaml.safe_load(
        yaml.safe_load(
            (ROOT / "examples/volcano/config/volcano-scheduler-configmap.yaml").read_text()
        )["data"]["volcano-scheduler.conf"]
    )
    path = tmp_path / "c.json"

    for _ in range(40):
        bad = json.loads(json.dumps(dice.choice((ours, ours, volcano))))
        damage(bad, dice)
        path.write_text(json.dumps(bad))
        result = cli("plan", "examples/small/nodes.yaml", "--config", path)

        assert_calm(result, 0, 2)


@pytest.mark.parametrize("seed", range(3))
def test_damaged_plan_is_verified_or_refused(cli: Any, tmp_path: Path, seed: int) -> None:
    dice = random.Random(seed)
    made = json.loads(cli("plan", SCENARIO, "-o", "json").out)
    path = tmp_path / "plan.json"

    for _ in range(40):
        bad = json.loads(json.dumps(made))
        damage(bad, dice)
        path.write_text(json.dumps(bad))
        result = cli("check", "--plan", path, "--in", SCENARIO)

        assert_calm(result, 0, 1, 2)
