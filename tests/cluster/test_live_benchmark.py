"""The measures of live schedulers come out whole on a small cluster."""

import pytest
from benchmarks.live.contestants import CONTESTANTS
from benchmarks.live.measures import burst, spread, stream
from benchmarks.live.seen import percentile

from cluster.binaries import binaries

pytestmark = pytest.mark.usefixtures("started")


@pytest.mark.parametrize(("scheduler", "gang"), [("apportion", 5), ("kube-scheduler", 1)])
def test_a_burst_is_bound_and_timed(scheduler: str, gang: int) -> None:
    if scheduler == "kube-scheduler" and binaries().missing((scheduler,)):
        pytest.skip("no kube-scheduler here: see `make control-plane`")

    figures = burst(CONTESTANTS[scheduler], nodes=3, pods=60, gang=gang)

    assert figures.bound == 60
    assert figures.per_second > 0
    assert 0 < figures.best_second <= 60
    assert figures.start_s > 0
    assert figures.cpu_s > 0


def test_a_stream_is_timed_from_creation_to_bind() -> None:
    figures = stream(CONTESTANTS["apportion"], nodes=3, pods=60, per_second=100)

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
