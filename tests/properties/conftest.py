"""One solver process for all trials of a test process, and the summary of what was tried."""

from collections import Counter
from collections.abc import Callable, Iterator

import pytest
from _pytest.terminal import TerminalReporter

from apportion.solver.process import SolverProcess
from properties.trials import ALWAYS, CLUSTERS, MILLISECONDS, Tally


@pytest.fixture(scope="session")
def solver() -> Iterator[SolverProcess]:
    with SolverProcess() as process:
        yield process


@pytest.fixture
def tally(record_property: Callable[[str, object], None]) -> Iterator[Tally]:
    made = Tally()
    yield made
    record_property("tried", dict(made.counts))
    record_property("largest gap", made.largest_gap)


def pytest_terminal_summary(terminalreporter: TerminalReporter) -> None:
    counts: Counter[str] = Counter()
    gaps = [0.0]
    for report in (r for rs in terminalreporter.stats.values() for r in rs):
        if getattr(report, "when", "") == "teardown":
            for name, value in report.user_properties:
                if name == "tried":
                    counts.update(value)
                elif name == "largest gap":
                    gaps.append(value)
    if not counts[CLUSTERS]:
        return
    seconds = counts.pop(MILLISECONDS) / 1000
    clusters = counts.pop(CLUSTERS)
    each = 1000 * seconds / clusters
    terminalreporter.section("random clusters")
    terminalreporter.line(f"{clusters:>8,} clusters in {seconds:.0f} s of work, {each:.0f} ms each")
    for name in (*ALWAYS, *sorted(counts.keys() - set(ALWAYS))):
        terminalreporter.line(f"{counts[name]:>8,} {name}")
    terminalreporter.line(f"{max(gaps):>8.4f} largest gap")
