"""The measures of memory and of long runs come out whole on a small cluster."""

import pytest
from benchmarks.live.day import SLICES, day, slope
from benchmarks.live.large import large

pytestmark = pytest.mark.usefixtures("started")


def test_what_a_large_cluster_costs_is_measured() -> None:
    figures = large(nodes=3, running=30, come=5, times=2, idle_s=1)

    assert 0 < figures.synced_s <= figures.first_cycle_s
    assert figures.start_cpu_s > 0
    assert 0 < figures.idle_pss_mib <= figures.peak_pss_mib
    assert figures.besides_ms > 0
    assert figures.solve_ms > 0
    assert figures.own_cpu_ms > 0
    assert figures.idle_percent >= 0


def test_gangs_of_a_day_come_and_go() -> None:
    figures = day(nodes=3, pods=90, gang=3, outstanding=30, runs_s=0.1, running=6)

    assert [s.pods for s in figures.slices] == [9] * SLICES
    assert all(0 < s.p50_s <= s.p99_s for s in figures.slices)
    assert all(0 < s.pss_mib <= s.peak_mib for s in figures.slices)


def test_a_slope_is_what_a_straight_line_rises_by() -> None:
    assert slope([1.0, 3.0, 5.0, 7.0]) == pytest.approx(2.0)
    assert slope([5.0, 5.0, 5.0]) == 0.0
    assert slope([5.0]) == 0.0
