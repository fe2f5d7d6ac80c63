"""The image: built in one stage and run in another, as nobody, with nothing to write to."""

import json
import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "deploy" / "Dockerfile").read_text()
IGNORED = (ROOT / "deploy" / "Dockerfile.dockerignore").read_text()
Step = tuple[str, str]


def steps() -> list[Step]:
    joined = TEXT.replace("\\\n", " ")
    lines = [ln for ln in joined.splitlines() if ln and not ln.startswith("#")]
    return [(ln.split(" ", 1)[0], ln.split(" ", 1)[1].strip()) for ln in lines]


def last_stage() -> list[Step]:
    made = steps()
    start = max(i for i, (word, _) in enumerate(made) if word == "FROM")
    return made[start:]


def test_what_builds_is_not_what_runs() -> None:
    stages = [rest for word, rest in steps() if word == "FROM"]

    assert len(stages) == 2
    assert [word for word, _ in last_stage() if word == "RUN"] == []
    copied = [rest for word, rest in last_stage() if word == "COPY"]
    assert copied == ["--from=build /app /app", "--from=build /ours /app"]


def test_what_it_needs_is_installed_before_our_own_is_copied() -> None:
    """So that a change of ours makes no new layer of what others wrote."""
    made = [(word, rest) for word, rest in steps() if word in ("COPY", "RUN")]

    assert made[0] == ("COPY", "pyproject.toml .")
    assert "install --requirement dependencies.txt" in made[1][1]
    assert made[2] == ("COPY", ". .")
    assert "install --no-deps --prefix /ours ." in made[3][1]


def test_bases_are_slim_and_of_a_version() -> None:
    (default,) = [rest for word, rest in steps() if word == "ARG"]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

    name, _, version = default.partition("=")
    assert name == "PYTHON"
    assert f"Programming Language :: Python :: {version}" in project["classifiers"]
    assert all("-slim" in rest for word, rest in steps() if word == "FROM")


def test_it_runs_as_nobody_and_without_a_shell() -> None:
    stage = dict(last_stage())

    user, _, group = stage["USER"].partition(":")
    assert int(user) > 0
    assert int(group) > 0
    assert json.loads(stage["ENTRYPOINT"]) == ["/app/bin/apportion"]
    assert json.loads(stage["CMD"]) == ["--help"]


def test_nobody_has_a_home_directory_that_can_be_written_to() -> None:
    assert "HOME=/tmp" in dict(last_stage())["ENV"].split()


def test_python_writes_nothing_at_run_time() -> None:
    assert "PYTHONDONTWRITEBYTECODE=1" in dict(last_stage())["ENV"]
    assert not any("--no-compile" in rest for word, rest in steps() if word == "RUN")


def test_what_is_copied_is_what_a_wheel_is_made_of() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    wheel = project["tool"]["hatch"]["build"]["targets"]["wheel"]["only-include"]
    taken = set(re.findall(r"^!(\S+)$", IGNORED, re.MULTILINE))

    assert "*" in IGNORED.splitlines()
    assert taken == {
        "pyproject.toml", project["project"]["readme"], *project["project"]["license-files"],
        *(path.split("/")[0] for path in wheel),
    }  # fmt: skip
