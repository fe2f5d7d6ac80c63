"""The benchmarks: their clusters are what they say, and their figures come out whole."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from benchmarks import catalogue, neighbourhoods
from benchmarks.edges import inside_their_due, near, onto_empty, reclaim
from benchmarks.first_fit import first_fit
from benchmarks.kubectl import write
from benchmarks.large import Large, large
from benchmarks.page import page, slope
from benchmarks.priority_instances import Judge, Small, formulation, places_of, small
from benchmarks.run import lines, slopes
from benchmarks.subjects import SUBJECTS, Row

from apportion.adapters.inputs import Asked, read_case
from apportion.models import Config, NodeName, Snapshot
from apportion.policies.legality import is_legal
from apportion.policies.outcome import Outcome
from apportion.policies.registry import rules_for
from apportion.policies.scene import Scene

CLUSTERS = {
    "large": large(Large(60, 120)),
    "all nodes different": large(Large(60, 120, distinct=True)),
    "inside their due": inside_their_due(6, 2),
    "reclaim": reclaim(6, 3),
    "onto empty nodes": onto_empty(4, 32),
    "near": near(32, 32),
    "priority matters": small(Small(4, 4, 2, 95, 0)),
}


@pytest.mark.parametrize("name", CLUSTERS)
def test_what_the_plain_pass_starts_is_legal(name: str) -> None:
    snapshot = CLUSTERS[name]
    scene = Scene(snapshot, Config(), rules_for(Config()))

    places: Any = first_fit(snapshot)

    assert is_legal(Outcome(scene, places, ()))


@pytest.mark.parametrize("name", CLUSTERS)
def test_what_runs_is_inside_its_node(name: str) -> None:
    snapshot = CLUSTERS[name]
    scene = Scene(snapshot, Config(), rules_for(Config()))

    assert (scene.room_now >= 0).all()


def test_no_neighbourhood_makes_a_plan_worse_inside_entitlements() -> None:
    snapshot = large(Large(40, 160, fill=0.95))

    rows = neighbourhoods.measured(snapshot, 1, 0.5, 1)

    assert [r.name.rpartition(", ")[2] for r in rows] == ["all kinds", "contended only"]
    for row in rows:
        greedy, then = (float(n) for n in re.findall(r"inside ([0-9.]+) %", row.note))
        assert then <= greedy
        assert len(row.seconds) == len(row.cpu) == 1


def test_equal_descriptions_give_equal_clusters() -> None:
    assert large(Large(40, 60)).digest == large(Large(40, 60)).digest
    assert large(Large(40, 60)).digest != large(Large(40, 60, seed=2)).digest


def test_a_large_cluster_is_as_described() -> None:
    snapshot = large(Large(400, 3000))
    waiting: dict[object, int] = {}
    for p in snapshot.pods:
        if p.state == "pending":
            waiting[p.group] = waiting.get(p.group, 0) + 1
    pods = [p for p in snapshot.pods if p.state == "pending"]
    shares = sum(p.spec.share is not None for p in pods) / len(pods)

    assert sum(waiting.values()) == 3000
    assert 0.55 < sum(n for n in waiting.values() if n > 1) / 3000 < 0.7
    assert 0.2 < shares < 0.45
    assert len([q for q in snapshot.queues if q.parent]) == 50


def test_what_is_written_as_kubectl_does_is_read_back(tmp_path: Path) -> None:
    told = large(Large(30, 60))
    path = tmp_path / "objects.json"
    write(told, path)

    snapshot = read_case([str(path)], Asked()).snapshot

    assert snapshot.rejected == ()
    assert _asked(snapshot) == _asked(told)
    assert [n.allocatable for n in snapshot.nodes] == [n.allocatable for n in told.nodes]
    assert [(g.key, g.minimum, g.queue) for g in snapshot.groups] == [
        (g.key, g.minimum, g.queue) for g in told.groups
    ]


def _asked(snapshot: Snapshot) -> list[object]:
    return [(p.key, p.node, p.group, p.state, p.spec.requests["cpu"]) for p in snapshot.pods]


def test_the_formulation_of_the_paper_finds_what_fits() -> None:
    snapshot = small(Small(4, 4, 1, 105, 0))

    found, proven = formulation(snapshot, 10.0)

    assert proven
    assert len(places_of(snapshot, found)) >= len(first_fit(snapshot))


def test_plans_are_compared_by_the_work_that_they_start() -> None:
    snapshot = small(Small(4, 4, 2, 95, 0))
    judge = Judge(snapshot, Config())
    first = {k: NodeName(n) for k, n in first_fit(snapshot).items()}
    fewer = dict(list(first.items())[1:])

    assert not any(judge.work({}))
    assert judge.work(first) > judge.work(fewer) > judge.work({})


def test_a_plan_that_breaks_a_rule_is_not_compared() -> None:
    snapshot = small(Small(4, 4, 1, 105, 0))
    everybody = {p.key: snapshot.nodes[0].name for p in snapshot.pods}

    with pytest.raises(ValueError, match="capacity"):
        Judge(snapshot, Config()).work(everybody)


def test_the_slope_is_told_of_all_sizes_and_of_the_larger_half() -> None:
    sizes = (100, 200, 400, 800)
    rows = [Row("x", nodes=n, seconds=[1.0, n / 100.0, 99.0], plain=[n**2 / 1e4]) for n in sizes]

    assert slopes(rows) == [
        "  slope on log-log, 100 to 800 nodes: time 1.00, plain pass 2.00",
        "  slope on log-log, 400 to 800 nodes: time 1.00, plain pass 2.00",
    ]
    assert slopes(rows[:1]) == []


def test_every_subject_is_registered_with_what_it_is_about() -> None:
    catalogue.load()

    assert {"big", "growth", "cannot run", "reclaim", "empty", "memory"} <= set(SUBJECTS)
    assert {"mixture", "phases", "reading", "priority matters"} <= set(SUBJECTS)
    assert all(s.about for s in SUBJECTS.values())


def test_the_page_needs_nothing_else_and_has_a_table_for_each_plot() -> None:
    rows = [Row(f"{n} <nodes>", n, seconds=[n / 100], plain=[n / 1000]) for n in (100, 1000)]
    subject = {"about": "x", "againstSize": True, "rows": [r.data() for r in rows]}
    results = {"machine": {"cores": 2}, "runs": 1, "subjects": {"growth": subject}}

    text = page(json.loads(json.dumps(results)))

    assert text.count("<svg") == text.count("<table>") == 1
    assert "slope 1.00" in text
    assert "&lt;nodes&gt;" in text
    assert "<nodes>" not in text
    assert "http" not in text
    assert "src=" not in text


def test_the_slope_is_that_of_a_straight_line() -> None:
    assert slope([(10, 1), (100, 100)]) == pytest.approx(2)


def test_what_evictions_cost_is_printed_with_its_bound() -> None:
    tiers = [
        {"name": "entitled", "value": "50", "bound": "50"},
        {"name": "victims", "value": "2000", "bound": "1900"},
        {"name": "lost work", "value": "7", "bound": None},
    ]

    said = lines(Row("x", evicted=3, more={"tiers": tiers}))

    assert "    costs: victims 2,000 (at least 1,900), lost work 7 (no bound)" in said
