"""Rules of installed packages: a distribution on the path is enough, the tree stays as it is."""

import base64
import hashlib
import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from textwrap import dedent

import pytest

from apportion.adapters.cli import app, plan
from apportion.models import Config, InputError, Snapshot
from apportion.models.snapshot import write
from apportion.policies.registry import ALWAYS_ON, built_in, rules_for
from apportion.policies.testing import accepts, held, refuses
from apportion.solver.process import SolverProcess

from .builders import Members, after, node, placed, queue, reasons, replace, snapshot
from .conftest import Solve

NO_FRIDAYS = '''
"""No fridays: nothing starts on one day of the week."""

from dataclasses import dataclass

from apportion.models import Reason, Violation

DAY_S = 24 * 3600


@dataclass(frozen=True, slots=True)
class NoFridays:
    """No group starts on the day (0 is Monday) on which the snapshot was taken, if it is that."""

    name: str = "no-fridays"
    day: int = 4

    def _is_today(self, outcome):
        # 1 January 1970 was a Thursday.
        return (outcome.scene.snapshot.taken_at_s // DAY_S + 3) % 7 == self.day

    def hold(self, outcome, group):
        if self._is_today(outcome):
            yield Reason(self.name, f"group {group}", "nothing starts on day 4 of the week")

    def check(self, outcome):
        for group in sorted(outcome.started) if self._is_today(outcome) else ():
            yield Violation(self.name, f"group {group}", "starts on a Friday")

    def constrain(self, board):
        """Held groups never reach the board."""
'''
WITHOUT = """
apiVersion: apportion.dev/v1alpha1
kind: Configuration
off: [no-fridays]
"""
FRIDAY_S, SATURDAY_S = 1 * 24 * 3600 + 5, 2 * 24 * 3600 + 5
Install = Callable[..., None]
Cli = Callable[..., tuple[int, str, str]]


def metadata(name: str) -> str:
    return f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n"


def entry_points(**rules: str) -> str:
    lines = [f"{k.replace('_', '-')} = {v}" for k, v in rules.items()]
    return "\n".join(["[apportion.rules]", *lines, ""])


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Return ``install(name, module text, rule=...)``: a distribution in a folder on the path."""
    loaded = set(sys.modules)

    def installed(name: str, text: str | None, **rules: str) -> None:
        site = tmp_path / name
        info = site / f"{name}-1.0.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(metadata(name))
        (info / "entry_points.txt").write_text(entry_points(**rules))
        if text is not None:
            (site / f"{name}.py").write_text(dedent(text))
        monkeypatch.syspath_prepend(site)

    yield installed
    for module in set(sys.modules) - loaded:
        if getattr(sys.modules[module], "__file__", None) is not None and str(tmp_path) in str(
            sys.modules[module].__file__
        ):
            del sys.modules[module]


@pytest.fixture
def no_fridays(install: Install) -> None:
    install("quiet_days", NO_FRIDAYS, no_fridays="quiet_days:NoFridays")


def world_at(taken_at_s: int) -> Snapshot:
    world = snapshot(node("n1", 2), queue("q"), Members("g", "q", waiting=1, created_s=0))
    return replace(world, taken_at_s=taken_at_s)


@pytest.fixture
def cli(
    process: SolverProcess, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Cli:
    """Return ``cli(*args)``: the exit code, and what was said on either stream."""
    monkeypatch.setattr(plan, "solver_for", lambda *_: process)

    def run(*args: str | Path) -> tuple[int, str, str]:
        capsys.readouterr()
        code = app.run([str(a) for a in args])
        said = capsys.readouterr()
        return code, said.out, said.err

    return run


# One rule, from outside


@pytest.mark.usefixtures("no_fridays")
def test_an_installed_rule_is_listed_with_its_option(cli: Cli) -> None:
    code, out, _ = cli("rules")

    assert code == 0
    assert "no-fridays  (installed)" in out
    assert "No group starts on the day" in out
    assert "option day: int (default 4)" in out


def test_without_the_package_there_is_no_such_rule(cli: Cli) -> None:
    assert "no-fridays" not in cli("rules")[1]
    with pytest.raises(InputError, match="there is no rule 'no-fridays'"):
        rules_for(Config(off=("no-fridays",)))


@pytest.mark.usefixtures("no_fridays")
def test_a_plan_obeys_it_and_says_so(solve: Solve) -> None:
    friday, saturday = solve(world_at(FRIDAY_S)), solve(world_at(SATURDAY_S))

    assert placed(friday) == {}
    [reason] = reasons(friday, "g")
    assert (reason.rule, reason.about) == ("no-fridays", "group x/g")
    assert placed(saturday) == {"g0": "n1"}


@pytest.mark.usefixtures("no_fridays")
def test_the_kit_tests_it_like_any_other() -> None:
    rule = next(r for r in rules_for(Config()) if r.name == "no-fridays")

    assert accepts(rule, after(world_at(SATURDAY_S), "g0@n1"))
    assert refuses(rule, after(world_at(FRIDAY_S), "g0@n1"), "group x/g", "on a Friday")
    assert accepts(rule, after(world_at(FRIDAY_S)))
    assert [r.about for r in held(rule, after(world_at(FRIDAY_S)), "x/g")] == ["group x/g"]


@pytest.mark.usefixtures("no_fridays")
def test_off_and_options_reach_it(solve: Solve) -> None:
    assert placed(solve(world_at(FRIDAY_S), off=("no-fridays",))) == {"g0": "n1"}
    saturdays = {"no-fridays": {"day": 5}}
    assert placed(solve(world_at(FRIDAY_S), options=saturdays)) == {"g0": "n1"}
    assert placed(solve(world_at(SATURDAY_S), options=saturdays)) == {}


@pytest.mark.usefixtures("no_fridays")
def test_an_option_that_it_does_not_have_is_said() -> None:
    said = "rule 'no-fridays' has no option 'days'; it has: day"
    with pytest.raises(InputError, match=said):
        rules_for(Config(options={"no-fridays": {"days": 5}}))


@pytest.mark.usefixtures("no_fridays")
def test_the_commands_know_it(tmp_path: Path, cli: Cli) -> None:
    """A plan made without the rule is found out by ``check``, unless it is off there too."""
    cluster, made, off = tmp_path / "s.json", tmp_path / "p.json", tmp_path / "off.yaml"
    cluster.write_bytes(write(world_at(FRIDAY_S)))
    off.write_text(WITHOUT)

    code, out, err = cli("plan", cluster, "--config", off, "-o", "json")
    assert (code, err) == (0, "")
    made.write_text(out)
    assert [b["pod"] for b in json.loads(out)["binds"]] == ["x/g0"]

    asked = ("check", "--plan", made, "--in", cluster)
    code, out, _ = cli(*asked)
    assert code == 1
    assert "no-fridays: group x/g: starts on a Friday" in out
    assert cli(*asked, "--config", off)[0] == 0


# What goes wrong


BROKEN = [
    pytest.param("import nothing_of_that_name\n", "quiet_days:NoFridays", id="does not import"),
    pytest.param("x = 1 +\n", "quiet_days:NoFridays", id="is no Python"),
    pytest.param(NO_FRIDAYS, "quiet_days:NoSuchRule", id="has no such class"),
    pytest.param(None, "quiet_days:NoFridays", id="has no module"),
    pytest.param("NoFridays = 5\n", "quiet_days:NoFridays", id="is no class"),
    pytest.param(
        "class NoFridays:\n    name = 'no-fridays'\n", "quiet_days:NoFridays", id="has no halves"
    ),
]


@pytest.mark.xfail(strict=True, reason="what an entry point raises is reported as a bug of ours")
@pytest.mark.parametrize(("text", "target"), BROKEN)
@pytest.mark.parametrize("command", ["rules", "plan"])
def test_a_broken_package_is_one_clear_sentence(
    text: str | None,
    target: str,
    command: str,
    install: Install,
    tmp_path: Path,
    cli: Cli,
) -> None:
    install("quiet_days", text, no_fridays=target)
    cluster = tmp_path / "s.json"
    cluster.write_bytes(write(world_at(FRIDAY_S)))

    args = () if command == "rules" else (str(cluster),)
    code, _, err = cli(command, *args)

    assert code == 2
    assert len(err.splitlines()) == 1
    assert "no-fridays" in err
    assert "quiet_days" in err


@pytest.mark.xfail(strict=True, reason="of two packages with one rule name one wins silently")
def test_two_packages_with_one_name_are_one_clear_sentence(install: Install, cli: Cli) -> None:
    install("quiet_days", NO_FRIDAYS, no_fridays="quiet_days:NoFridays")
    install("silent_days", NO_FRIDAYS, no_fridays="silent_days:NoFridays")

    code, _, err = cli("rules")

    assert code == 2
    assert len(err.splitlines()) == 1
    assert "no-fridays" in err


@pytest.mark.xfail(strict=True, reason="an installed rule replaces a built-in one silently")
@pytest.mark.parametrize("name", sorted(ALWAYS_ON))
def test_no_package_takes_the_place_of_a_built_in_rule(name: str, install: Install) -> None:
    install("quiet_days", NO_FRIDAYS, **{name: "quiet_days:NoFridays"})

    with pytest.raises(InputError, match=name):
        rules_for(Config())


@pytest.mark.xfail(
    strict=True, reason="a rule is turned off by its entry point, and reports under its own name"
)
def test_a_rule_reports_under_the_name_by_which_it_is_turned_off(install: Install) -> None:
    install("quiet_days", NO_FRIDAYS, weekend="quiet_days:NoFridays")

    with pytest.raises(InputError, match="weekend"):
        rules_for(Config())


def test_a_package_without_rules_of_ours_does_not_matter(install: Install) -> None:
    before = [r.name for r in rules_for(Config())]
    install("quiet_days", NO_FRIDAYS)

    assert [r.name for r in rules_for(Config())] == before == list(built_in())


# The configuration names rules


@pytest.mark.parametrize("name", sorted(ALWAYS_ON))
def test_rules_that_keep_from_harm_stay_on(name: str) -> None:
    with pytest.raises(InputError, match=f"rule '{name}' cannot be turned off"):
        rules_for(Config(off=(name,)))


def test_an_unknown_rule_is_said_with_all_that_there_are() -> None:
    with pytest.raises(InputError, match=r"no rule 'taint'; rules are: budget, .*, taints"):
        rules_for(Config(options={"taint": {}}))


# A real wheel


WHEEL = """\
Wheel-Version: 1.0
Generator: hand
Root-Is-Purelib: true
Tag: py3-none-any
"""


def wheel(folder: Path) -> Path:
    """Write a wheel with the rule; return its path."""
    info = "quiet_days-1.0.dist-info"
    files = {
        "quiet_days.py": NO_FRIDAYS,
        f"{info}/METADATA": metadata("quiet-days"),
        f"{info}/WHEEL": WHEEL,
        f"{info}/entry_points.txt": entry_points(no_fridays="quiet_days:NoFridays"),
    }
    record = []
    for name, text in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=")
        record.append(f"{name},sha256={digest.decode()},{len(text.encode())}")
    files[f"{info}/RECORD"] = "\n".join([*record, f"{info}/RECORD,,", ""])
    path = folder / "quiet_days-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return path


@pytest.mark.slow
def test_a_wheel_that_pip_installs_is_enough(tmp_path: Path) -> None:
    site = tmp_path / "site"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    pip += ["--no-index", "--no-deps", "--target", str(site), str(wheel(tmp_path))]

    subprocess.run(pip, check=True, capture_output=True)
    done = subprocess.run(
        [sys.executable, "-m", "apportion", "rules"],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(site)},
    )

    assert "no-fridays  (installed)" in done.stdout
