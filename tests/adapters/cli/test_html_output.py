"""``apportion plan --output html``: the plan as a page for a browser."""

import json
import re
from typing import Any

import pytest

from kubernetes_objects import node
from reports import parsed


def test_the_command_prints_it(cli: Any) -> None:
    result = cli("plan", "examples/small", "--output", "html", "--deterministic")
    again = cli("plan", "examples/small", "--output", "html", "--deterministic")
    data = json.loads(cli("plan", "examples/small", "-o", "json", "--deterministic").out)

    assert result.code == 0
    assert result.err == ""
    assert result.out == again.out
    assert data["digest"] in parsed(result.out).all("footer")[0].text


def test_a_cluster_without_work_has_a_page_too(cli: Any) -> None:
    result = cli("plan", "-", "-o", "html", "--deterministic", stdin=json.dumps(node()))

    assert result.code == 0
    assert "1 node · 0 pods" in parsed(result.out).all("header")[0].text


@pytest.mark.slow
def test_it_says_what_would_start_those_who_wait(cli: Any) -> None:
    result = cli("plan", "examples/small", "-o", "html", "--explain")

    waits = {row[0]: row[3] for row in parsed(result.out).find("waits").rows()}
    assert re.search(r"limit of queue lab.*\(now", waits["lab/notes"])


def test_explaining_is_for_the_page_alone(cli: Any) -> None:
    result = cli("plan", "examples/small", "--explain")

    assert result.code == 2
    assert "--explain goes with --output html" in result.err


@pytest.mark.parametrize(
    ("args", "heading", "section"),
    [
        (["explain", "research/huge"], "Why research/huge waits in examples/small", "because"),
        (["explain", "batch/sweep", "--no-changes"],
         "batch/sweep does not wait in examples/small", "because"),
        (["whatif", "--add-nodes", "1", "--like", "gpu-a"], "What if in examples/small",
         "difference"),
        (["capacity", "lab/fix", "--like", "cpu-a", "--nodes", "1"], "Capacity for lab/fix",
         "copies"),
        (["drain", "gpu-b"], "Draining", "emptied"),
    ],
)  # fmt: skip
def test_answers_are_pages_too(cli: Any, args: list[str], heading: str, section: str) -> None:
    result = cli(*args, "-f", "examples/small", "--output", "html")

    assert (result.code, result.err) == (0, "")
    page = parsed(result.out)
    assert page.all("h1")[0].text == heading
    assert page.all("section")[0].attributes["id"] == section
