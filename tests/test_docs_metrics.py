"""The page on metrics names every metric that is served, with type and labels, and no other."""

import re
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

from apportion.adapters.live.metrics import Metrics
from cycle_reports import busy_cluster, report_of

PAGE = (Path(__file__).resolve().parents[1] / "docs" / "metrics.md").read_text()
ROW = re.compile(r"^\| `(\w+)` \| (\w+) \|(.*?)\|.*\|$", re.MULTILINE)
OF_THE_FORMAT = {"le"}
"""Labels that say which bucket a sample is of."""


def served() -> dict[str, tuple[str, frozenset[str]]]:
    metrics = Metrics()
    metrics.cycle(report_of(*busy_cluster()))
    metrics.watch_restarted("pods")
    out = {}
    for family in text_string_to_metric_families(metrics.text().decode()):
        # The parser takes the ending off that the text has.
        name = family.name + ("_total" if family.type == "counter" else "")
        labels = frozenset(label for s in family.samples for label in s.labels) - OF_THE_FORMAT
        out[name] = (family.type, labels)
    return out


def told() -> dict[str, tuple[str, frozenset[str]]]:
    return {
        name: (kind, frozenset(re.findall(r"`(\w+)`", labels)))
        for name, kind, labels in ROW.findall(PAGE)
    }


def test_every_metric_is_told_with_type_and_labels() -> None:
    page = told()

    # A gauge without a sample shows no labels: the page is to say them all the same.
    assert {
        name: (kind, labels or page.get(name, ("", labels))[1])
        for name, (kind, labels) in served().items()
    } == page


def test_little_is_without_a_sample_in_these_tests() -> None:
    metrics = Metrics()
    metrics.cycle(report_of(*busy_cluster()))

    silent = {
        f.name for f in text_string_to_metric_families(metrics.text().decode()) if not f.samples
    }

    assert silent <= {
        "apportion_plan_gap", "apportion_watch_restarts", "apportion_queue_guarantee",
        "volcano_queue_capacity_memory_bytes", "volcano_queue_capacity_scalar_resources",
        "volcano_queue_deserved_scalar_resources", "volcano_queue_inqueue_scalar_resources",
    }  # fmt: skip
