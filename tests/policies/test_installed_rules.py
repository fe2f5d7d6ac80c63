"""Rules of installed packages: a distribution on the path is enough, the tree stays as it is."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from apportion.models import Config, InputError, Snapshot
from apportion.models.snapshot import write
from apportion.policies.registry import ALWAYS_ON, rules_for
from apportion.policies.testing import accepts, held, refuses

from .builders import Members, after, node, placed, queue, reasons, replace, snapshot
from .conftest import Cli, Install, Solve
from .packages import NO_FRIDAYS, NORTHERN, wheel

WITHOUT = """
apiVersion: apportion.dev/v1alpha1
kind: Configuration
off: [no-fridays]
"""
FRIDAY_S, SATURDAY_S = 1 * 24 * 3600 + 5, 2 * 24 * 3600 + 5


@pytest.fixture
def no_fridays(install: Install) -> None:
    install("quiet_days", NO_FRIDAYS, no_fridays="quiet_days:NoFridays")


def world_at(taken_at_s: int) -> Snapshot:
    world = snapshot(node("n1", 2), queue("q"), Members("g", "q", waiting=1, created_s=0))
    return replace(world, taken_at_s=taken_at_s)


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
def test_a_value_that_it_refuses_is_said_in_its_words() -> None:
    with pytest.raises(InputError, match="rule 'no-fridays': day must be 0 to 6, got 9"):
        rules_for(Config(options={"no-fridays": {"day": 9}}))


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


def test_an_installed_goal_decides_where_no_earlier_tier_does(
    install: Install, solve: Solve
) -> None:
    install("compass", NORTHERN, northern="compass:Northern")
    world = snapshot(
        node("n1", 2),
        node("n2", 2, labels={"side": "north"}),
        queue("q"),
        Members("old", "q", on=["n1"]),
        Members("g", "q", waiting=1),
    )

    plan, without = solve(world), solve(world, off=("northern",))

    # Packing comes last: by that alone the node in use would be filled.
    assert (placed(plan), placed(without)) == ({"g0": "n2"}, {"g0": "n1"})
    [row] = [t for t in plan.objective if t.name == "northern"]
    assert (row.unit, row.sense, row.value, row.bound) == ("pods", "max", 1, 1)
    assert "northern" not in {t.name for t in without.objective}


# The configuration names rules


@pytest.mark.parametrize("name", sorted(ALWAYS_ON))
def test_rules_that_keep_from_harm_stay_on(name: str) -> None:
    with pytest.raises(InputError, match=f"rule '{name}' cannot be turned off"):
        rules_for(Config(off=(name,)))


def test_an_unknown_rule_is_said_with_all_that_there_are() -> None:
    with pytest.raises(InputError, match=r"no rule 'taint'; rules are: attach-limits, .*, taints"):
        rules_for(Config(options={"taint": {}}))


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
