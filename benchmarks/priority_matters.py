"""Priority matters: proofs on small clusters as in arXiv 2511.08373, beside the paper's own.

``python -m benchmarks.priority_matters --keep FILE [--part K/N] [--for SECONDS] [--stretch X]``
measures what the file does not have yet, and prints what is measured so far: the full round of 576
instances takes hours, and can be done in slices. What is proven in 1 s is not run for 10 s.

A run is charged with its own processor time and with that of the solver, divided by the cores. On a
machine with other work the clock may be stretched; a proof counts where no more than the budget is
charged.
"""

import argparse
import json
import os
import resource
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from apportion.models import Config, NodeName
from apportion.policies.levels import TIERS
from apportion.solver.entry import plan
from apportion.solver.process import SolverProcess

from .first_fit import first_fit
from .priority_instances import (
    Judge,
    Small,
    cannot_be_more,
    counts_of,
    formulation,
    instances,
    places_of,
    small,
)
from .subjects import Row, Subject, register

SEEDS, BUDGETS_S = 6, (1.0, 10.0)
WANTED = "80 % proven in 1 s, 95 % in 10 s; never worse"


@dataclass(frozen=True)
class Side:
    """One way to plan an instance: seconds by the clock and charged, and what is proven."""

    seconds: float
    charged_s: float
    proven: bool


@dataclass(frozen=True)
class Trial:
    """What one instance gave with one budget."""

    of: Small
    budget_s: float
    ours: Side
    theirs: Side
    plain_s: float
    started: int
    started_plain: int
    against_theirs: int
    """By work: 1 more than by the paper's formulation, 0 as much, -1 less."""
    against_plain: int
    fewer: bool
    """Fewer pods by priority than by the paper's formulation."""
    fewer_than_plain: bool
    most_pods: bool
    """Proven: no plan starts more pods by priority."""
    load: float


def tried(of: Small, budget_s: float, stretch: float) -> Trial:
    """Plan the instance both ways, and by the plain pass."""
    snapshot, config = small(of), Config(budget_ms=int(1000 * budget_s * stretch))
    judge = Judge(snapshot, config)
    t = time.perf_counter()
    passed = {k: NodeName(n) for k, n in first_fit(snapshot).items()}
    plain_s = time.perf_counter() - t
    cores = len(os.sched_getaffinity(0))
    before = _of_children()
    with SolverProcess(config.memory_limit_mib) as process:
        process.wait()
        assert process.pid is not None
        at_start = _of_process(process.pid)
        t, used = time.perf_counter(), time.process_time()
        made = plan(snapshot, config, process=process)
        seconds, own = time.perf_counter() - t, time.process_time() - used
    charged_s = own + (_of_children() - before - at_start) / cores
    # Not by the gap: it is rounded, and a worth in millions of millions hides a pod in it.
    proven = all(row.value == row.bound for row in made.objective if row.name in TIERS)
    ours = Side(seconds, charged_s, proven and charged_s <= budget_s)
    t, used = time.perf_counter(), time.process_time()
    best, proven = formulation(snapshot, budget_s * stretch)
    charged_s = (time.process_time() - used) / cores
    theirs = Side(time.perf_counter() - t, charged_s, proven and charged_s <= budget_s)
    places = places_of(snapshot, best)
    work, counts = judge.work(made.places), counts_of(snapshot, made.places)
    most = proven and counts == counts_of(snapshot, places)
    return Trial(
        of, budget_s, ours, theirs, plain_s, len(made.places), len(passed),
        _sign(work, judge.work(places)), _sign(work, judge.work(passed)),
        counts < counts_of(snapshot, places), counts < counts_of(snapshot, passed),
        most or cannot_be_more(snapshot, counts), round(os.getloadavg()[0], 1),
    )  # fmt: skip


def _sign(ours: Sequence[int], other: Sequence[int]) -> int:
    return (tuple(ours) > tuple(other)) - (tuple(ours) < tuple(other))


def _of_children() -> float:
    """Return the processor seconds of all children that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _of_process(pid: int) -> float:
    words = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


class Kept:
    """The trials made so far, in a file with one line of JSON each, or in memory."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self.trials: dict[tuple[Small, float], Trial] = {}
        for line in path.read_text(encoding="utf-8").splitlines() if path and path.exists() else ():
            self._take(_trial_of(line, path))

    def add(self, trial: Trial) -> None:
        """Keep a trial."""
        self._take(trial)
        if self._path is not None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(asdict(trial)) + "\n")

    def _take(self, trial: Trial) -> None:
        self.trials[trial.of, trial.budget_s] = trial

    def get(self, of: Small, budget_s: float) -> Trial | None:
        """Return the trial with that budget, or one with a smaller budget that was proven."""
        for (known, budget), trial in self.trials.items():
            if known == of and (budget == budget_s or (budget < budget_s and trial.ours.proven)):
                return trial
        return None


def _trial_of(line: str, path: Path | None) -> Trial:
    try:
        data = json.loads(line)
        of, ours, theirs = (data.pop(k) for k in ("of", "ours", "theirs"))
        return Trial(of=Small(**of), ours=Side(**ours), theirs=Side(**theirs), **data)
    except (ValueError, TypeError, KeyError, AttributeError) as e:
        raise ValueError(f"{path}: a line that is no trial of this version: {line[:80]}") from e


def measure(
    chosen: Sequence[Small], budgets_s: Sequence[float], kept: Kept, stretch: float, until: float
) -> None:
    """Try what has not been tried yet, until that time by the monotonic clock."""
    for of in chosen:
        for budget in budgets_s:
            if time.monotonic() >= until:
                return
            if kept.get(of, budget) is None:
                kept.add(tried(of, budget, stretch))


def rows_of(chosen: Iterable[Small], budgets_s: Sequence[float], kept: Kept) -> list[Row]:
    """Return what is known of the instances, by budget and size."""
    out: list[Row] = []
    all_ = list(chosen)
    for budget in budgets_s:
        for pods in sorted({s.nodes * s.pods_a_node for s in all_}):
            mine = [s for s in all_ if s.nodes * s.pods_a_node == pods]
            known = [t for s in mine if (t := kept.get(s, budget)) is not None]
            if known:
                out.append(_row(known, pods, budget, len(mine)))
        known = [t for s in all_ if (t := kept.get(s, budget)) is not None]
        if known:
            out[-1].note += f". Of all sizes together: {_proofs(known)}"
    return out


def _row(trials: Sequence[Trial], pods: int, budget_s: float, of: int) -> Row:
    row = Row(f"{pods} pods, {budget_s:g} s", max(t.of.nodes for t in trials), pods, pods)
    row.seconds = [t.ours.seconds for t in trials]
    row.cpu = [t.ours.charged_s for t in trials]
    row.plain = [t.plain_s for t in trials]
    row.started = sum(t.started for t in trials)
    row.started_plain = sum(t.started_plain for t in trials)
    row.engine, row.wanted = "exact", WANTED
    sooner = sum(t.budget_s < budget_s for t in trials)
    loads = [t.load for t in trials]
    row.note = (
        f"{len(trials)} of {of} instances"
        + (f", {sooner} of them proven in less time and not run again" if sooner else "")
        + f": {_proofs(trials)}; more work than it in {sum(t.against_theirs > 0 for t in trials)}, "
        f"less in {sum(t.against_theirs < 0 for t in trials)}, less than the plain pass in "
        f"{sum(t.against_plain < 0 for t in trials)}; fewer pods by priority than these in "
        f"{sum(t.fewer for t in trials)} and in {sum(t.fewer_than_plain for t in trials)}; load "
        f"{min(loads):g} to {max(loads):g}"
    )
    row.more = {"trials": [asdict(t) for t in trials]}
    return row


def _proofs(trials: Sequence[Trial]) -> str:
    def part(of: Sequence[bool]) -> str:
        return f"{100 * sum(of) / len(of):.0f} %"

    by_load = ", ".join(
        f"{part([t.ours.proven for t in mine])} at {asked}"
        for asked in sorted({t.of.requested for t in trials})
        for mine in [[t for t in trials if t.of.requested == asked]]
    )
    return (
        f"admission proven in {part([t.ours.proven for t in trials])} ({by_load} % requested), by "
        f"the paper's formulation in {part([t.theirs.proven for t in trials])}; pods by priority "
        f"proven the most in {part([t.most_pods for t in trials])}"
    )


def rows(short: bool, runs: int) -> list[Row]:
    """Measure by number of pods; both budgets in the full round."""
    del runs  # every instance once: there are many
    chosen, budgets = list(instances(1 if short else SEEDS)), BUDGETS_S[: 1 if short else None]
    if short:
        chosen = [s for s in chosen if s.nodes <= 8 and s.requested in (95, 105)]
    kept = Kept(None)
    measure(chosen, budgets, kept, 1.0, float("inf"))
    return rows_of(chosen, budgets, kept)


def part_of(text: str) -> tuple[int, int]:
    """Read K/N."""
    k, _, n = text.partition("/")
    if not (k.isdecimal() and n.isdecimal() and 1 <= int(k) <= int(n)):
        raise argparse.ArgumentTypeError(f"{text} is no part like 2/6")
    return int(k), int(n)


def main(argv: Sequence[str] | None = None) -> int:
    """Measure a slice, and print all that is kept."""
    from .run import lines

    parser = argparse.ArgumentParser(prog="benchmarks.priority_matters", description=__doc__)
    parser.add_argument("--keep", metavar="FILE", help="what has been measured, added to")
    parser.add_argument("--part", type=part_of, default=(1, 1), metavar="K/N", help="every Nth")
    parser.add_argument("--for", type=float, default=float("inf"), dest="for_s", metavar="SECONDS")
    parser.add_argument(
        "--stretch", type=float, default=1.0, help="of the clock, on a busy machine"
    )
    parser.add_argument("--budgets", default="1,10", help="in seconds (1,10)")
    args = parser.parse_args(argv)
    budgets = sorted(float(b) for b in args.budgets.split(","))
    kept, all_ = Kept(Path(args.keep) if args.keep else None), list(instances(SEEDS))
    k, n = args.part
    measure(all_[k - 1 :: n], budgets, kept, args.stretch, time.monotonic() + args.for_s)
    for row in rows_of(all_, budgets, kept):
        print("\n".join(lines(row)))
    return 0


register(
    Subject(
        "priority matters",
        "Small clusters as in arXiv 2511.08373: one row a size, over all its instances.",
        rows,
    )
)

if __name__ == "__main__":
    sys.exit(main())
