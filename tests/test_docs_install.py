"""The pages for operators say what is: rights, metrics, reasons, objects and values."""

import re
from pathlib import Path

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from apportion.adapters.live.metrics import Metrics
from apportion.adapters.live.rights import IN_OWN_NAMESPACE, WRITING
from apportion.policies.admission import NAME as ADMISSION
from apportion.policies.registry import built_in
from cycle_reports import busy_cluster, report_of

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
RUNBOOK, SECURITY, INSTALL = (
    (DOCS / name).read_text() for name in ("runbook.md", "security.md", "install.md")
)
BY_THE_LOOP = {"cluster"}
"""Reasons that no rule gives: the cluster refused what the plan gave."""


def served() -> set[str]:
    metrics = Metrics()
    metrics.cycle(report_of(*busy_cluster()))
    metrics.watch_restarted("pods")
    families = text_string_to_metric_families(metrics.text().decode())
    return {f.name + ("_total" if f.type == "counter" else "") for f in families}


@pytest.mark.parametrize(
    "page", [RUNBOOK, SECURITY, INSTALL], ids=["runbook", "security", "install"]
)
def test_metrics_that_a_page_names_are_served(page: str) -> None:
    assert set(re.findall(r"\b(?:apportion|volcano)_\w+", page)) <= served()


def test_reasons_of_the_runbook_are_names_that_reasons_have() -> None:
    table = RUNBOOK.partition("| a reason on that page begins with |")[2].partition("\n\n")[0]
    named = {
        name
        for row in re.findall(r"^\| (`.*?) \|", table, re.MULTILINE)
        for name in re.findall(r"`([\w-]+)`", row)
    }

    assert len(named) > 5
    assert named <= {*built_in(), ADMISSION, *BY_THE_LOOP}


def test_every_right_to_write_is_told_with_its_reason() -> None:
    rows = re.findall(r"^\| (`.*) \| (.*) \| (.*) \|$", SECURITY, re.MULTILINE)
    told = [
        (set(re.findall(r"`([\w/]+)`", what)), tuple(verbs.split(", ")), why)
        for what, verbs, why in rows
    ]

    assert told == [(set(r.resources), r.verbs, r.why) for r in WRITING]
    for what, _, _ in rows:
        group = what.partition(" of ")[2]
        assert group in {r.group for r in WRITING}


def test_the_right_to_the_lease_is_told() -> None:
    (lease,) = IN_OWN_NAMESPACE

    assert lease.resources == ("leases",)
    assert "gets, creates and updates the Lease" in SECURITY
    assert lease.verbs == ("get", "create", "update")


def test_every_object_of_the_manifest_is_told() -> None:
    things = [t for t in yaml.safe_load_all((ROOT / "deploy/apportion.yaml").read_text()) if t]
    table = INSTALL.partition("| object | for |")[2].partition("\n\n")[0]

    for thing in things:
        kind, name = thing["kind"], thing["metadata"]["name"]
        row = [r for r in table.splitlines() if re.search(rf"\b{kind}s?\b", r) and f"`{name}`" in r]
        assert row, f"{kind} {name}"


def test_files_that_the_page_names_are_there() -> None:
    named = set(re.findall(r"\bdeploy/[\w./-]*\w", INSTALL))

    assert len(named) > 4
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_words_of_the_log_that_pages_quote_are_logged() -> None:
    code = "".join(p.read_text() for p in (ROOT / "adapters" / "live").rglob("*.py"))
    quoted = re.findall(r"`([^`]+)`[^|`]* in the log", RUNBOOK)
    quoted += re.findall(r"the log has why, under `([^`]+)`", RUNBOOK)
    quoted += re.findall(r"\| grep (\w+)", INSTALL)

    assert {"not carried out", "some kinds cannot be read", "synced"} <= set(quoted)
    assert [words for words in quoted if f'"{words}' not in code] == []
