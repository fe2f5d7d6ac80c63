"""Answers as pages: what they show, and that every picture has its table."""

import pytest

from apportion.adapters.ask.capacity import Capacity, Fit, PerNode
from apportion.adapters.ask.drain import Blocker, Draining, Emptied, Kept
from apportion.adapters.report.capacity import capacity_page
from apportion.adapters.report.draining import draining_page
from apportion.models import GroupKey, NodeName, PodKey
from hostile import answers_of
from reports import Element, parsed

FITS = Capacity(
    GroupKey("team/train"), Fit(2, 5, True),
    (PerNode("a", 1, Fit(4, 7, True)), PerNode("a", 2, Fit(4096, 9000, False))),
)  # fmt: skip
DRAINED = Draining(
    (
        Emptied(NodeName("a"), 3, 2, 1),
        Emptied(NodeName("b"), 2, 1, 0, (PodKey("x/p"),)),
        Emptied(NodeName("c"), 0, 0, 0),
    ),
    (Kept(NodeName("d"), (Blocker(PodKey("x/q"), "is critical"),)),),
)


def pictures(page: Element) -> list[str]:
    """Return what pictures are called, for those who do not see them."""
    return [
        e.all("title")[0].text for e in page.walk()
        if e.name == "svg" and e.attributes.get("role") == "img"
    ]  # fmt: skip


def test_capacity_is_shown_as_bars_and_as_a_table() -> None:
    page = parsed(capacity_page(FITS, "files"))

    assert page.all("h1")[0].text == "Capacity for team/train"
    assert page.find("copies").rows() == [
        ["as it is", "2", "–", "5", "yes"],
        ["1 node more like a", "4", "2.00", "7", "yes"],
        ["2 nodes more like a", "4,096", "2047.00", "9,000", "more may fit"],
    ]
    assert pictures(page) == [
        "now: 2", "1 node more like a: 4", "2 nodes more like a: at least 4,096",
    ]  # fmt: skip


def test_draining_is_shown_as_bars_and_as_tables() -> None:
    page = parsed(draining_page(DRAINED, "files"))

    assert page.find("emptied").rows() == [
        ["a", "1", "3", "2", "1", "nobody"],
        ["b", "2", "2", "1", "0", "x/p"],
        ["c", "3", "0", "0", "0", "nobody"],
    ]
    assert page.find("kept").rows() == [["d", "x/q", "is critical"]]
    assert pictures(page) == [
        "a: 3 pods to stop: 2 start elsewhere at once, 1 start once others have left",
        "b: 2 pods to stop: 1 start elsewhere at once, 1 would run no more",
        "c: none of our pods runs there",
    ]


def test_where_nothing_can_be_emptied_there_is_only_what_keeps_it() -> None:
    page = parsed(draining_page(Draining((), DRAINED.kept), ""))

    assert [e.attributes["id"] for e in page.all("section")] == ["kept"]
    assert [a.text for a in page.all("nav")[0].all("a")] == ["Kept"]


@pytest.mark.parametrize(
    ("command", "heading", "first"),
    [
        ("explain", "Why w/w waits in w", "because"),
        ("whatif", "What if in w", "difference"),
        ("capacity", "Capacity for w/w", "copies"),
        ("drain", "Draining", "emptied"),
    ],
)
def test_the_answer_comes_before_all_else(command: str, heading: str, first: str) -> None:
    page = parsed(answers_of("w")[command])

    assert page.all("h1")[0].text == heading
    assert page.all("section")[0].attributes["id"] == first
    assert page.all("nav")[0].all("a")[0].attributes["href"] == f"#{first}"
    (policy,) = [
        e.attributes["content"] for e in page.all("meta") if "http-equiv" in e.attributes
    ]  # fmt: skip
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert page.all("script") == []
