"""Nothing a user can write is undocumented: commands, options, settings, rules, scenarios."""

import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
import typer

from apportion.adapters.cli.app import app
from apportion.adapters.configuration import QueueSettings, Settings, Tiers
from apportion.adapters.durations import show_ms
from apportion.adapters.expectations import Expectation
from apportion.adapters.scenario import (
    Cluster,
    NodeTaint,
    Scenario,
    ScenarioNode,
    ScenarioQueue,
)
from apportion.adapters.scenario_group import Role, ScenarioGroup
from apportion.models import Config, QueueShare, TierSettings

DOCS = Path(__file__).resolve().parents[1] / "docs"
CLI = (DOCS / "cli.md").read_text()
CONFIGURATION = (DOCS / "configuration.md").read_text()
HEAD = {"apiVersion", "kind", "metadata"}


def sections(text: str) -> dict[str, str]:
    parts = re.split(r"^## ", text, flags=re.MULTILINE)[1:]
    return {p.split("\n", 1)[0].strip(): p for p in parts}


def commands() -> dict[str, Any]:
    group: Any = typer.main.get_command(app())
    return dict(group.commands)


def options() -> list[tuple[str, str]]:
    out = []
    for name, command in commands().items():
        for param in command.params:
            out += [(name, o) for o in param.opts if o.startswith("--") and o != "--help"]
    return out


def camel(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(w.title() for w in rest)


SETTING_OF = {
    "budget_ms": "budget", "memory_limit_mib": "memoryLimit", "grace_s": "grace",
    "ready_within_s": "readyWithin", "polish_ms": "polish",
    "overcommit_percent": "overcommit", "capability_percent": "capability",
    "deserved_percent": "deserved", "guarantee_percent": "guarantee",
}  # fmt: skip
"""Settings whose unit is in the name of the field, and in the value of the file."""


def setting_of(field: str) -> str:
    return SETTING_OF.get(field, camel(field))


def default_of(key: str) -> str | None:
    found = re.search(
        rf"^`{re.escape(key)}` \(default:? (?:`([^`]+)`)?", CONFIGURATION, re.MULTILINE
    )
    assert found is not None, f"docs/configuration.md has no paragraph on {key}"
    return found[1]


@pytest.mark.parametrize("name", list(commands()))
def test_every_command_has_a_section(name: str) -> None:
    assert f"apportion {name}" in sections(CLI)


@pytest.mark.parametrize(("command", "option"), options())
def test_every_option_has_a_paragraph(command: str, option: str) -> None:
    section = sections(CLI)[f"apportion {command}"]

    assert re.search(rf"^`--.*`{option}\b|^`{option}\b", section, re.MULTILINE)


@pytest.mark.parametrize("settings", [(Settings, ""), (Tiers, "tiers."), (QueueSettings, "")])
def test_every_setting_has_a_paragraph(settings: tuple[Any, str]) -> None:
    model, prefix = settings
    for name, field in model.model_fields.items():
        key = prefix + (field.alias or name)
        if key == "tiers":
            continue
        if key == "queues":
            assert "`queues.<name>`" in CONFIGURATION
            continue
        default_of(key)


@pytest.mark.parametrize(
    ("fields", "model"),
    [(Config, Settings), (TierSettings, Tiers), (QueueShare, QueueSettings)],
)
def test_every_field_of_the_config_is_a_setting(fields: Any, model: Any) -> None:
    keys = {f.alias for f in model.model_fields.values()}

    assert keys == {setting_of(f) for f in fields.__struct_fields__}


def test_documented_defaults_are_the_defaults() -> None:
    c = Config()
    want = {
        "budget": show_ms(c.budget_ms), "seed": str(c.seed), "engine": c.engine,
        "evictions": c.evictions, "moves": str(c.moves),
        "deterministic": str(c.deterministic).lower(), "workers": str(c.workers),
        "memoryLimit": f"{c.memory_limit_mib // 1024}Gi", "tiers.slices": str(c.tiers.slices),
        "tiers.packing": c.tiers.packing, "grace": f"{c.grace_s}s",
        "readyWithin": f"{c.ready_within_s}s", "unready": c.unready,
        "priorityEverywhere": str(c.priority_everywhere).lower(),
        "literalDeserved": str(c.literal_deserved).lower(),
        "overcommit": f"{c.overcommit_percent}%", "within": QueueShare().within,
    }  # fmt: skip

    assert {key: default_of(key) for key in want} == want


def test_example_of_the_configuration_page_is_valid() -> None:
    import yaml

    from apportion.adapters.configuration import Configuration

    block = re.search(r"```yaml\n(.*?)```", CONFIGURATION, re.DOTALL)
    assert block is not None

    assert Configuration.model_validate(yaml.safe_load(block[1])).changes()


def test_example_of_a_scenario_is_valid() -> None:
    import yaml

    block = re.search(r"```yaml\n(.*?)```", CLI, re.DOTALL)
    assert block is not None

    assert Scenario.model_validate(yaml.safe_load(block[1])).expect


@pytest.mark.parametrize(
    "model",
    [Scenario, Cluster, ScenarioNode, NodeTaint, ScenarioQueue, ScenarioGroup, Role, Expectation],
)
def test_every_key_of_a_scenario_is_named(model: Any) -> None:
    section = sections(CLI)["A scenario file"]
    for name, field in model.model_fields.items():
        key = field.alias or name
        if key not in HEAD:
            assert re.search(rf"`{key}[`:]", section), key


def test_config_has_no_field_without_a_default() -> None:
    assert all(
        d is not msgspec.NODEFAULT or f is not msgspec.NODEFAULT
        for kind in (Config, TierSettings, QueueShare)
        for d, f in ((x.default, x.default_factory) for x in msgspec.structs.fields(kind))
    )
