"""The HTML page says what the plan says, on its own, and so that everybody can read it."""

import re
from itertools import pairwise
from pathlib import Path

import pytest

from apportion.adapters.inputs import Asked, read_case
from apportion.adapters.report.page import Report, written
from apportion.adapters.report.timeline import moment
from apportion.adapters.settle import settle
from apportion.models import Config, GroupKey
from apportion.solver.entry import plan
from reports import Element, parsed

ROOT = Path(__file__).resolve().parents[3]
CONFIG = Config(deterministic=True, engine="greedy")


@pytest.fixture(scope="module")
def report() -> Report:
    """Return a settled run of the small example."""
    snapshot = read_case([str(ROOT / "examples" / "small")], Asked()).snapshot
    moments = []
    made = settle(snapshot, CONFIG, 8, watch=lambda *of: moments.append(moment(*of)))
    return Report(
        made,
        snapshot,
        CONFIG,
        "examples/small",
        moments,
        {GroupKey("lab/notes"): ["2 cpu more at queue lab"]},
    )


@pytest.fixture(scope="module")
def page(report: Report) -> Element:
    return parsed(written(report))


def test_it_says_who_starts_who_is_promised_who_goes_and_who_waits(
    page: Element, report: Report
) -> None:
    starts = {row[0].lstrip("0123456789"): row[2] for row in page.find("starts").rows()}
    victims = {row[0].lstrip("0123456789"): row[3:5] for row in page.find("evicted").rows()}
    waits = {row[0].lstrip("0123456789"): row[2:] for row in page.find("waits").rows()}

    assert starts == {str(b.group): str(b.node) for b in report.plan.binds}
    assert "research/train" in page.find("promised").text
    assert victims["batch/sweep"] == ["research/train", "is beyond what queue batch is entitled to"]
    assert waits["lab/notes"] == [
        "quota: queue lab is at 6 of its limit of 6 cpu; 2 more are asked for",
        "2 cpu more at queue lab",
    ]


def test_nodes_are_in_their_domains_and_tell_who_has_their_devices(page: Element) -> None:
    zones = [d for d in page.find("map").all("details") if d.attributes.get("class") == "domain"]

    heads = [z.all("summary")[0].text for z in zones]
    assert heads == ["zone a 2 nodes · 8 of 8 gpu", "zone b 2 nodes · 8 of 8 gpu"]
    [gpu_a] = [t.text for t in zones[0].all("title") if t.text.startswith("gpu-a:")]
    assert gpu_a.startswith("gpu-a: 8 of 8 gpu in use; ")
    assert "batch/sweep runs" in gpu_a
    assert "research/train is promised" in gpu_a


def test_queues_show_use_due_borrowed_and_limit(page: Element) -> None:
    rows = {row[0]: row[1:] for row in page.find("queues").rows()}

    assert rows["research"][1:3] == ["gpu 12, cpu 8", "gpu 12"]
    assert rows["lab"][4] == "cpu 6"


def test_the_settled_run_is_drawn_cycle_by_cycle(page: Element, report: Report) -> None:
    rows = page.find("timeline").rows()

    assert [row[0] for row in rows] == [str(m.cycle) for m in report.moments]
    assert rows[0][1:] == ["13", "5", "5", "5", "7"]
    assert page.find("timeline").text.count("Settled after 7 cycles") == 1


def test_tiers_come_with_value_and_bound(page: Element, report: Report) -> None:
    shown = {row[0]: row[2:4] for row in page.find("tiers").rows()}

    for t in report.plan.objective:
        if t.value:
            assert shown[t.name] == [f"{t.value:,}", "–" if t.bound is None else f"{t.bound:,}"]


def test_nothing_is_loaded_and_nothing_runs(page: Element) -> None:
    names = {e.name for e in page.walk()}
    links = {v for e in page.walk() for k, v in e.attributes.items() if k in ("href", "src")}
    [policy] = [e for e in page.all("meta") if e.attributes.get("http-equiv")]

    assert not names & {"script", "link", "img", "iframe", "object", "embed", "form", "base"}
    assert all(link.startswith("#") for link in links)
    assert re.match("default-src 'none'; style-src 'sha256-[^']+'; ", policy.attributes["content"])
    assert not any("style" in e.attributes for e in page.walk())
    assert not any(k.startswith("on") for e in page.walk() for k in e.attributes)


def test_everybody_can_read_it(page: Element) -> None:
    ids = [e.attributes["id"] for e in page.walk() if "id" in e.attributes]
    levels = [int(e.name[1]) for e in page.walk() if re.fullmatch("h[1-6]", e.name)]

    assert len(ids) == len(set(ids))
    assert {e.attributes["href"][1:] for e in page.all("a")} <= set(ids)
    assert page.all("html")[0].attributes["lang"] == "en"
    assert levels[0] == 1
    assert all(b <= a + 1 for a, b in pairwise(levels))
    for picture in page.all("svg"):
        hidden = picture.attributes.get("aria-hidden") == "true"
        named = picture.attributes.get("role") == "img" and picture.all("title")[0].text
        assert hidden or named
    for table in page.all("table"):
        assert table.all("caption")[0].text
        assert {th.attributes.get("scope") for th in table.all("th")} == {"col", "row"}
    assert all(
        e.attributes.get("aria-label")
        for e in page.walk()
        if "tabindex" in e.attributes and e.name == "div"
    )


def test_the_same_plan_gives_the_same_page(report: Report) -> None:
    assert written(report) == written(report)


def test_long_tables_are_cut_and_say_by_how_much() -> None:
    from apportion.adapters.report.tables import MOST_ROWS, table

    cut = parsed(table("Many", ("a", "b"), [[str(i), "x"] for i in range(MOST_ROWS + 7)]).markup)

    assert len(cut.rows()) == MOST_ROWS
    assert "7 more rows left out; --output json has all." in cut.text


def test_a_plan_of_nothing_waits_for_nobody() -> None:
    snapshot = read_case([str(ROOT / "examples" / "volcano")], Asked()).snapshot

    page = parsed(written(Report(plan(snapshot, CONFIG), snapshot, CONFIG)))

    assert page.find("waits").text == "WaitsNobody."
