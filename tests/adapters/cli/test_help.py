"""Help answers at once, and its examples do what they show."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer

from apportion import __version__
from apportion.adapters.cli import (
    app,
    capacity,
    check,
    crds,
    drain,
    explain,
    plan,
    rules,
    run,
    schema,
    ui,
    version,
    whatif,
)  # fmt: skip

HEAVY = ("ortools", "numpy", "networkx", "pydantic", "rich", "yaml", "kubernetes")
KUBECTL = "examples/kubectl-dump/dump.yaml"


def examples() -> list[str]:
    pages = (plan, check, explain, whatif, ui, capacity, drain, rules, run, schema, crds, version)
    texts = (app.TOUR, *(page.EXAMPLES for page in pages))
    lines = [line.strip() for text in texts for line in text.splitlines()]
    return [ln for ln in lines if ln.startswith(("apportion ", "kubectl "))]


def test_help_loads_nothing_heavy() -> None:
    code = (
        "import sys; from apportion.adapters.cli.app import run; "
        f"assert run(['--help']) == 0; print([m for m in {HEAVY} if m in sys.modules])"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.splitlines()[-1] == "[]"


def test_a_shell_completes_commands_and_options() -> None:
    def completed(words: str) -> set[str]:
        env = {
            **os.environ, "_APPORTION_COMPLETE": "complete_bash", "COMP_WORDS": words,
            "COMP_CWORD": str(len(words.split()) - 1),
        }  # fmt: skip
        command = [sys.executable, "-m", "apportion"]
        done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
        return set(done.stdout.split())

    assert completed("apportion ex") == {"explain"}
    assert completed("apportion whatif --dra") == {"--drain"}


@pytest.mark.parametrize("args", [(), ("--help",), ("-h",)])
def test_help_is_the_tour(cli: Any, args: tuple[str, ...]) -> None:
    result = cli(*args)

    assert result.code == 0
    for word in ("plan", "check", "rules", "version", "kubectl get", "docs/cli.md"):
        assert word in result.out


@pytest.mark.parametrize(
    "command",
    [
        "plan", "check", "explain", "whatif", "ui", "capacity", "drain", "rules", "run",
        "status", "replay", "snapshot", "unmask", "schema", "crds", "version",
    ],
)  # fmt: skip
def test_every_command_has_examples(cli: Any, command: str) -> None:
    result = cli(command, "--help")

    assert result.code == 0
    assert re.search(rf"Examples?:\n +(apportion {command}|kubectl)", result.out)


@pytest.mark.parametrize("line", examples())
def test_example_does_what_it_shows(cli: Any, line: str, tmp_path: Path) -> None:
    if line == "apportion check tests/scenarios":
        pytest.skip("runs as tests/scenarios/test_scenarios.py")
    if line.startswith(("apportion run", "apportion status", "apportion snapshot")):
        pytest.skip("needs a cluster: tests/cluster")
    if line.startswith("apportion ui"):
        pytest.skip("serves until it is ended: test_ui_command.py")
    if "--plan /tmp/plan.json" in line:
        made = cli("plan", "examples/small", "-o", "json")
        (tmp_path / "plan.json").write_text(made.out)
    words = shlex.split(line.replace("/tmp/", f"{tmp_path}/"))
    stdin = ""
    if words[0] == "kubectl":
        words = words[words.index("|") + 1 :]
        stdin = Path(KUBECTL).read_text()
    for end in (">", "|"):
        if end in words:
            words = words[: words.index(end)]

    result = cli(*words[1:], stdin=stdin)

    assert result.code == 0, result.err
    assert result.out or "--help" in line


def test_rules_are_listed_with_what_they_say(cli: Any) -> None:
    result = cli("rules")

    assert result.code == 0
    assert "gang  (always on)" in result.out
    assert "topology-spread\n    " in result.out


def test_version_names_the_solver_too(cli: Any) -> None:
    result = cli("version")

    assert re.fullmatch(rf"apportion {__version__} \(Python \S+, OR-Tools \S+\)\n", result.out)


def test_usage_errors_are_known_by_the_name_that_typer_gives_them() -> None:
    assert issubclass(typer.BadParameter, app._USAGE)
    assert app._USAGE.__name__ == "ClickException"
