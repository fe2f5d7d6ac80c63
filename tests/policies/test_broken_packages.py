"""A package whose rules cannot be had is one clear sentence, and never a bug of ours."""

from pathlib import Path

import pytest

from apportion.models import Config, InputError
from apportion.models.snapshot import write
from apportion.policies.registry import ALWAYS_ON, built_in, rules_for

from .builders import Members, node, queue, snapshot
from .conftest import Cli, Install
from .packages import NO_FRIDAYS

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
    cluster.write_bytes(write(snapshot(node("n1", 2), queue("q"), Members("g", "q", waiting=1))))

    args = () if command == "rules" else (str(cluster),)
    code, _, err = cli(command, *args)

    assert code == 2
    assert len(err.splitlines()) == 1
    assert "no-fridays" in err
    assert "quiet_days" in err


def test_two_packages_with_one_name_are_one_clear_sentence(install: Install, cli: Cli) -> None:
    install("quiet_days", NO_FRIDAYS, no_fridays="quiet_days:NoFridays")
    install("silent_days", NO_FRIDAYS, no_fridays="silent_days:NoFridays")

    code, _, err = cli("rules")

    assert code == 2
    assert len(err.splitlines()) == 1
    assert "no-fridays" in err


@pytest.mark.parametrize("name", sorted(ALWAYS_ON))
def test_no_package_takes_the_place_of_a_built_in_rule(name: str, install: Install) -> None:
    install("quiet_days", NO_FRIDAYS, **{name: "quiet_days:NoFridays"})

    with pytest.raises(InputError, match=name):
        rules_for(Config())


def test_a_rule_reports_under_the_name_by_which_it_is_turned_off(install: Install) -> None:
    install("quiet_days", NO_FRIDAYS, weekend="quiet_days:NoFridays")

    with pytest.raises(InputError, match="weekend"):
        rules_for(Config())


def test_a_package_without_rules_of_ours_does_not_matter(install: Install) -> None:
    before = [r.name for r in rules_for(Config())]
    install("quiet_days", NO_FRIDAYS)

    assert [r.name for r in rules_for(Config())] == before == list(built_in())
