"""The measures of live schedulers come out whole on a small cluster."""

import pytest
from benchmarks.live.contestants import CONTESTANTS
from benchmarks.live.measures import burst, spread, stream
from benchmarks.live.seen import percentile
from benchmarks.live.work import Work, requests_in

from cluster.binaries import binaries

pytestmark = pytest.mark.usefixtures("started")


@pytest.mark.parametrize(("scheduler", "gang"), [("apportion", 5), ("kube-scheduler", 5)])
def test_a_burst_is_bound_and_timed(scheduler: str, gang: int) -> None:
    if scheduler == "kube-scheduler" and binaries().missing((scheduler,)):
        pytest.skip("no kube-scheduler here: see `make control-plane`")

    figures = burst(CONTESTANTS[scheduler], nodes=3, pods=60, gang=gang)

    assert figures.bound == 60
    assert figures.per_second > 0
    assert 0 < figures.best_second <= 60
    assert figures.start_s > 0
    assert figures.cpu_s > 0
    assert figures.work.requests["POST pods/binding"] == 60
    assert figures.settled.requests["POST pods/binding"] == 60
    told = figures.settled.requests.get("PATCH podgroups", 0)
    assert told >= 12 if scheduler == "apportion" else told == 0


def test_a_stream_is_timed_from_creation_to_bind() -> None:
    figures = stream(CONTESTANTS["apportion"], nodes=3, pods=60, per_second=100, held=1)

    assert figures.held == 1
    assert 0 < figures.p50_s <= figures.p99_s <= figures.longest_s


def test_the_binds_of_a_gang_have_a_first_and_a_last() -> None:
    figures = spread(CONTESTANTS["apportion"], nodes=3, gang=60)

    assert figures.gang == 60
    assert figures.spread_s > 0


def test_a_percentile_is_one_of_the_values() -> None:
    values = [float(i) for i in range(1, 101)]

    assert percentile(values, 0.5) == 51.0
    assert percentile(values, 0.99) == 100.0
    assert percentile([], 0.5) == 0.0


def test_requests_are_counted_by_kind_and_refusals_apart() -> None:
    metrics = (
        "# TYPE apiserver_request_total counter\n"
        'apiserver_request_total{code="201",resource="pods",subresource="binding",verb="POST"} 7\n'
        'apiserver_request_total{code="200",resource="pods",subresource="",verb="LIST"} 2\n'
        'apiserver_request_total{code="409",resource="pods",subresource="binding",verb="POST"} 1\n'
        'apiserver_request_duration_seconds_count{verb="POST"} 8\n'
    )

    found = requests_in(metrics)

    assert found == {"POST pods/binding": 7, "LIST pods": 2, "POST pods/binding 409": 1}


def test_work_since_a_moment_leaves_out_what_was_done_before() -> None:
    before = Work({"etcd": 1.0}, {"LIST pods": 3, "POST pods": 5})
    now = Work({"etcd": 2.5, "scheduler": 4.0}, {"LIST pods": 4, "POST pods": 5, "WATCH pods": 2})

    done = now.since(before)

    assert done.cpu_s == {"etcd": 1.5, "scheduler": 4.0}
    assert done.requests == {"WATCH pods": 2, "LIST pods": 1}
