"""Every query of every dashboard is PromQL, and asks for what /metrics serves."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import promql_parser
import pytest
from prometheus_client.parser import text_string_to_metric_families

from apportion.adapters.live.metrics import Metrics
from cycle_reports import busy_cluster, report_of

PAGES = sorted((Path(__file__).resolve().parents[2] / "deploy/chart/dashboards").glob("*.json"))
GIVEN = {"job", "instance"}
"""Labels that Prometheus adds to what it scrapes."""
EVERY_LABEL = {
    "apportion_queue_guarantee": {"queue", "resource"},
    "apportion_watch_restarts_total": {"resource"},
    "apportion_plan_gap": set[str](),
}
"""Of metrics that have no sample in these tests."""


@pytest.fixture(scope="module")
def labels_by_metric() -> dict[str, set[str]]:
    metrics = Metrics()
    metrics.cycle(report_of(*busy_cluster()))
    out: dict[str, set[str]] = {name: set(labels) for name, labels in EVERY_LABEL.items()}
    for family in text_string_to_metric_families(metrics.text().decode()):
        for sample in family.samples:
            out.setdefault(sample.name, set()).update(sample.labels)
    return out


def pages() -> Iterator[Any]:
    return (json.loads(p.read_text()) for p in PAGES)


def queries() -> list[Any]:
    return [
        pytest.param(t["expr"], t["legendFormat"], id=f"{page['uid']}:{p['title']}:{t['refId']}")
        for page in pages()
        for p in page["panels"]
        for t in p["targets"]
    ]


def selectors(query: str) -> list[Any]:
    """Return what a query asks Prometheus for."""
    found = []

    def visit(node: Any) -> bool:
        match node:
            case promql_parser.VectorSelector():
                found.append(node)
            case promql_parser.MatrixSelector():
                found.append(node.vector_selector)
            case _:
                pass
        return True

    promql_parser.walk(promql_parser.parse(query), visit)
    return [one for i, one in enumerate(found) if one.prettify() not in
            {o.prettify() for o in found[:i]}]  # fmt: skip


def grouped(query: str) -> set[str]:
    """Return the labels that an outermost aggregation, or both sides of a division, keep."""
    kept: set[str] = set()

    def visit(node: Any) -> bool:
        if isinstance(node, promql_parser.AggregateExpr) and node.modifier is not None:
            kept.update(node.modifier.labels)
        return True

    promql_parser.walk(promql_parser.parse(query), visit)
    return kept


def test_there_are_the_four() -> None:
    assert [page["uid"] for page in pages()] == [
        "apportion-namespaces", "apportion-overview", "apportion-queues", "apportion-solver",
    ]  # fmt: skip


def alerts() -> list[str]:
    """Return the expressions that the page on metrics advises to watch."""
    page = (Path(__file__).resolve().parents[2] / "docs" / "metrics.md").read_text()
    table = page.partition("| expression | says |")[2].partition("\n\n")[0]
    return re.findall(r"^\| `(.*?)` \|", table, re.MULTILINE)


@pytest.mark.parametrize("query", alerts())
def test_alert_asks_for_what_is_served(query: str, labels_by_metric: dict[str, set[str]]) -> None:
    asked = selectors(query)

    assert asked
    assert {one.name for one in asked} <= set(labels_by_metric)


@pytest.mark.parametrize(("query", "legend"), queries())
def test_query_asks_for_what_is_served(
    query: str, legend: str, labels_by_metric: dict[str, set[str]]
) -> None:
    asked = selectors(query)

    assert asked
    for one in asked:
        assert one.name in labels_by_metric
        named = {matcher.name for matcher in one.matchers.matchers}
        assert named <= labels_by_metric[one.name] | GIVEN
    known = set().union(*(labels_by_metric[one.name] for one in asked))
    assert grouped(query) <= known
    shown = {part.split("}}")[0] for part in legend.split("{{")[1:]}
    assert shown <= (grouped(query) or known | GIVEN)


def test_variables_offer_labels_that_are_served(labels_by_metric: dict[str, set[str]]) -> None:
    for page in pages():
        for variable in page["templating"]["list"]:
            if variable["type"] == "query":
                inside = variable["query"]["query"].removeprefix("label_values(").rstrip(")")
                metric, label = inside.split(", ")

                assert label in labels_by_metric[metric]
                assert label == variable["name"]


def test_no_two_panels_lie_on_each_other() -> None:
    for page in pages():
        cells = [
            (x, y)
            for at in (panel["gridPos"] for panel in page["panels"])
            for x in range(at["x"], at["x"] + at["w"])
            for y in range(at["y"], at["y"] + at["h"])
        ]

        assert len(cells) == len(set(cells))
        assert max(x for x, _ in cells) < 24


def test_every_panel_says_what_it_shows() -> None:
    for page in pages():
        assert len({panel["id"] for panel in page["panels"]}) == len(page["panels"])
        assert all(panel["description"] and panel["title"] for panel in page["panels"])
