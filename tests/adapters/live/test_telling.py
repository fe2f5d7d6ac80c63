"""A cycle as the log and the metrics have it."""

import logging

import pytest

from apportion.adapters.live.carry import Carried
from apportion.adapters.live.loop import Cycle
from apportion.adapters.live.metrics import Metrics
from apportion.adapters.live.telling import count_cycle, log_cycle, report_of
from apportion.models import GroupKey
from oracle.build import NOW, Members, node, queue, snapshot

from .worlds import GREEDY, planned

WORLD = snapshot(node("n1", 4), queue("q"), Members("g", "q", waiting=2, minimum=2))
SECONDS = {"snapshot": 0.5, "solve": 2.0, "recheck": 0.25, "apply": 1.0}


def cycle(carried: Carried | None = None) -> Cycle:
    plan = planned(WORLD)
    bound = Carried(bound=[b.pod for b in plan.binds])
    return Cycle(7, WORLD, GREEDY, plan, carried if carried is not None else bound, SECONDS, 3)


def test_a_report_has_the_phases_in_three() -> None:
    report = report_of(cycle(), NOW)

    assert report.seconds_by_phase == {"snapshot": 0.75, "solve": 2.0, "apply": 1.0}
    assert report.started_s == NOW - 3.75
    assert (report.bound, report.refused, report.changed_objects) == (2, 0, 3)


def test_waiting_times_are_counted_from_the_creation() -> None:
    metrics = Metrics()

    count_cycle(metrics, cycle(), NOW)

    text = metrics.text().decode()
    assert "apportion_bind_wait_seconds_sum 200.0" in text
    assert "apportion_bind_wait_seconds_count 2.0" in text
    assert "volcano_e2e_job_scheduling_latency_milliseconds_count 1.0" in text


def test_a_cycle_is_one_line_and_each_refusal_another(caplog: pytest.LogCaptureFixture) -> None:
    done = Carried(refused={GroupKey("x/g"): "by policy"})

    with caplog.at_level(logging.INFO, "apportion"):
        log_cycle(cycle(done))

    events = [(r.getMessage(), r.__dict__["fields"]) for r in caplog.records]
    assert [e for e, _ in events] == ["cycle", "not carried out"]
    assert events[0][1]["refused"] == 1
    assert events[1][1] == {"group": "x/g", "why": "by policy"}
