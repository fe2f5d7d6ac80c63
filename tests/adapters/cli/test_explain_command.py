"""``apportion explain``: a page and data for groups held by rules or by order, and for others."""

import json
from typing import Any

import pytest


def test_a_conflict_is_told_with_what_would_start_the_group(cli: Any) -> None:
    result = cli("explain", "huge", "-f", "examples/small")

    assert result.code == 0, result.err
    assert result.out.startswith("research/huge  queue research\nwaits: it could not start if")
    for said in (
        "gang      group research/huge  starts with 3 members or not at all; at most 2 fit\n",
        "2 nodes like cpu-a   0 of 0 nvidia.com/gpu free each; a pod asks for 8: none fits\n",
        "2 nodes like gpu-a   8 of 8 nvidia.com/gpu free each; a pod asks for 8: 2 fit in all\n",
        "more nodes",
    ):
        assert said in result.out


def test_rivals_are_told(cli: Any) -> None:
    result = cli("explain", "batch/more", "-f", "examples/small", "--no-changes")

    assert "waits: it could start alone" in result.out
    assert (
        "research/train  starting, 4 pods  is inside what queue research is entitled" in result.out
    )
    assert "Would start it" not in result.out


def test_what_is_lacking_is_told_beside_the_rivals(cli: Any) -> None:
    result = cli("explain", "notes", "-f", "examples/small", "--no-changes")

    assert "Stands before it" in result.out
    assert "Missing while they are there\n  quota" in result.out
    assert "queue lab is at " in result.out


def test_a_group_that_starts_needs_no_explanation(cli: Any) -> None:
    result = cli("explain", "web-0", "-f", "examples/small")

    assert result.out == "default/web-0  queue default\nstarts now\n"


def test_data_has_what_the_page_says(cli: Any) -> None:
    result = cli("explain", "notes-0", "-f", "examples/small", "--no-changes", "-o", "json")

    said = json.loads(result.out)
    assert (said["kind"], said["group"], said["heldBy"]) == ("Explanation", "lab/notes", "order")
    assert said["order"]["rivals"]
    assert said["changes"] == []


@pytest.mark.parametrize(
    ("args", "want"),
    [
        (["nobody", "-f", "examples/small"], "there is no group nobody"),
        (["notes"], "-f FILE"),
    ],
)
def test_what_cannot_be_is_one_sentence(cli: Any, args: list[str], want: str) -> None:
    result = cli("explain", *args)

    assert (result.code, result.out) == (2, "")
    assert want in result.err
