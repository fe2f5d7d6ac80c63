"""Every rule and goal has its paragraph, every word its line, every verb of make its target."""

import dataclasses
import re
from pathlib import Path
from typing import Any, get_args

import pytest
from msgspec.structs import replace

from apportion.models import Config
from apportion.models.config import Packing
from apportion.policies.goals import goals_for
from apportion.policies.objection import ITEMS
from apportion.policies.registry import ALWAYS_ON, built_in

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
RULE = ("Formula", "Source", "Reason", "Not done")
GOAL = ("Formula", "Not done")


def paragraphs() -> dict[str, str]:
    parts = re.split(r"^### ", (DOCS / "policies.md").read_text(), flags=re.MULTILINE)[1:]
    texts = (re.split(r"^## ", p, flags=re.MULTILINE)[0] for p in parts)
    return {t.split("\n", 1)[0]: t.split("\n", 1)[1].strip() for t in texts}


def goals() -> list[str]:
    c = Config()
    each = (replace(c, tiers=replace(c.tiers, packing=p)) for p in get_args(Packing))
    return list(dict.fromkeys(g.name for config in each for g in goals_for(config)))


@pytest.mark.parametrize("name", built_in())
def test_every_rule_has_a_paragraph(name: str) -> None:
    text = paragraphs()[name]

    assert "\n\n" not in text, "one paragraph each"
    for label in RULE:
        assert re.search(rf"\b{label}(, [^:`]*)?:\s", text), f"{name} does not say its {label}"
    assert ("*Always on.*" in text) == (name in ALWAYS_ON)


@pytest.mark.parametrize("name", built_in())
def test_every_option_of_a_rule_is_named(name: str) -> None:
    rule: Any = built_in()[name]()
    options = [f.name for f in dataclasses.fields(rule) if f.name != "name"]

    assert [o for o in options if f"`{o}`" not in paragraphs()[name]] == []


@pytest.mark.parametrize("name", goals())
def test_every_goal_has_a_paragraph(name: str) -> None:
    text = paragraphs()[name]

    assert "\n\n" not in text, "one paragraph each"
    for label in GOAL:
        assert re.search(rf"\b{label}(, [^:`]*)?:\s", text), f"{name} does not say its {label}"


def test_every_paragraph_is_of_a_rule_or_a_goal() -> None:
    assert set(paragraphs()) == {*built_in(), *goals()}


def test_the_tiers_stand_in_their_order() -> None:
    told = [name for name in paragraphs() if name in goals()]
    work = [name for name in goals() if goals().index(name) < goals().index("seniority")]

    assert [name for name in told if name in work] == work


def test_every_item_of_the_order_list_is_in_the_contract() -> None:
    text = (DOCS / "design" / "order.md").read_text()
    told = re.findall(r"^(\d)\. \*\*(.+?)\.\*\*", text, re.MULTILINE)

    assert {int(n): name.lower() for n, name in told} == ITEMS


def test_words_are_in_alphabetical_order_a_line_each() -> None:
    lines = (DOCS / "glossary.md").read_text().split("\n\n")[-1].strip().splitlines()
    words = [re.match(r"\* \*\*(.+?)\*\*: \S", line) for line in lines]

    assert None not in words
    names = [w[1].lower() for w in words if w is not None]
    assert names == sorted(names)
    assert len(names) == len(set(names))


@pytest.mark.parametrize(
    "word",
    [
        "cluster", "node", "device", "domain", "queue", "group", "role", "pod set", "gang",
        "elastic member", "admitted", "nominated", "held", "victim", "eviction", "snapshot",
        "instance", "board", "answer", "plan", "cycle", "tier", "gap", "in, out", "due",
        "entitlement (e)", "bound (of a pod)", "bound (of a tier)", "level (of work)",
        "level (of the tree)", "cell",
    ],
)  # fmt: skip
def test_words_of_the_trade_are_explained(word: str) -> None:
    assert f"\n* **{word}**: " in (DOCS / "glossary.md").read_text()


@pytest.mark.parametrize(
    ("word", "where"), [("cell", "board"), ("slice", "levels"), ("unit", "parts")]
)
def test_words_of_the_model_are_words_of_the_code(word: str, where: str) -> None:
    assert re.search(
        rf"\b{word}s?\b", (ROOT / "policies" / f"{where}.py").read_text(), re.IGNORECASE
    )


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md"])
def test_verbs_of_make_exist(page: str) -> None:
    verbs = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    told = re.findall(r"\bmake ([a-z-]+)", " ".join(re.findall(
        r"```sh\n.*?```|`[^`\n]+`", (ROOT / page).read_text(), re.DOTALL
    )))  # fmt: skip

    assert told
    assert set(told) <= set(verbs)


def test_changes_are_told_in_the_usual_form() -> None:
    text = (ROOT / "CHANGELOG.md").read_text()
    kinds = re.findall(r"^### (.+)$", text, re.MULTILINE)

    assert text.startswith("# Changelog\n")
    assert re.findall(r"^## (.+)$", text, re.MULTILINE)[0] == "[Unreleased]"
    assert set(kinds) <= {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}
