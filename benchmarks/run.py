"""Run the benchmarks: ``python -m benchmarks.run [--short] [SUBJECT...]``; prints what it measured.

Figures go, with the machine that they come from, to ``--out FOLDER`` as results.json and as one
page with plots (index.html) that needs nothing else.
"""

import argparse
import json
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from apportion.policies.goals import EVICTION_COSTS

from . import catalogue
from .machine import machine
from .page import page, slope
from .subjects import SUBJECTS, Row

RUNS, SHORT_RUNS = 5, 1


def main(argv: Sequence[str] | None = None) -> int:
    """Run the subjects named, or all of them."""
    catalogue.load()
    parser = argparse.ArgumentParser(prog="benchmarks.run", description=__doc__)
    parser.add_argument("subjects", nargs="*", metavar="SUBJECT", help=", ".join(SUBJECTS))
    parser.add_argument("--short", action="store_true", help="small instances, one run of each")
    parser.add_argument("--runs", type=int, help="runs of each instance")
    parser.add_argument("--out", metavar="FOLDER", help="write results.json and index.html there")
    args = parser.parse_args(argv)
    unknown = [s for s in args.subjects if s not in SUBJECTS]
    if unknown:
        parser.error(f"no such subject: {', '.join(unknown)}; there are {', '.join(SUBJECTS)}")
    runs = args.runs or (SHORT_RUNS if args.short else RUNS)
    of = machine()
    print(", ".join(f"{k} {v}" for k, v in of.items()), flush=True)
    results: dict[str, Any] = {"machine": of, "runs": runs, "subjects": {}}
    for name in args.subjects or SUBJECTS:
        subject = SUBJECTS[name]
        print(f"\n{name}: {subject.about}", flush=True)
        rows = subject.rows(args.short, runs)
        for row in rows:
            print("\n".join(lines(row)), flush=True)
        if subject.against_size:
            print("\n".join(slopes(rows)), flush=True)
        results["subjects"][name] = {
            "about": subject.about, "againstSize": subject.against_size,
            "rows": [row.data() for row in rows],
        }  # fmt: skip
        if args.out:
            _write(Path(args.out), results)
    return 0


def _write(folder: Path, results: dict[str, Any]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "results.json").write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    (folder / "index.html").write_text(page(results), encoding="utf-8")


def lines(row: Row) -> list[str]:
    """Return the figures of an instance as text."""
    out = [f"  {row.name}: {row.nodes:,} nodes, {row.pods:,} pods, {row.waiting:,} of them waiting"]
    if row.seconds:
        out.append(
            f"    {_spread(row.seconds)}; plain pass {_spread(row.plain)}"
            + (f"; {row.engine}" if row.engine else "")
        )
    done = []
    if row.cpu:
        done.append(f"{statistics.median(row.cpu):.2f} s of one processor")
    if row.started is not None:
        done.append(f"{row.started:,} start ({row.started_plain or 0:,} by the plain pass)")
    if row.evicted is not None:
        done.append(f"{row.evicted:,} leave")
    if row.evicted is not None:
        done.append("no bound" if row.gap is None else f"gap {100 * row.gap:.2f} %")
    if row.memory_mib:
        done.append(f"{row.memory_mib:,.0f} MiB")
    out.append("    " + ", ".join(done)) if done else None
    if row.evicted and (costs := _costs(row)):
        out.append("    costs: " + ", ".join(costs))
    if row.wanted:
        out.append(f"    wanted: {row.wanted}")
    if row.note:
        out.append(f"    {row.note}")
    return out


def slopes(rows: Sequence[Row]) -> list[str]:
    """Return how time grows with the number of nodes: slopes on log-log paper, as text.

    Small clusters are searched until the budget ends, so the larger half is told apart.
    """
    known = sorted((r for r in rows if r.nodes and r.seconds), key=lambda r: r.nodes)
    out = []
    for some in (known, known[len(known) // 2 :]):
        if len({r.nodes for r in some}) > 1:
            of = {"time": [(r.nodes, r.seconds) for r in some],
                  "processor time": [(r.nodes, r.cpu) for r in some if r.cpu],
                  "plain pass": [(r.nodes, r.plain) for r in some if r.plain]}  # fmt: skip
            told = [
                f"{name} {slope([(n, statistics.median(v)) for n, v in points]):.2f}"
                for name, points in of.items()
                if len(points) > 1
            ]
            sizes = f"{some[0].nodes:,} to {some[-1].nodes:,} nodes"
            out.append(f"  slope on log-log, {sizes}: {', '.join(told)}")
    return out


def _costs(row: Row) -> list[str]:
    """Return what evictions cost, each with what it is at least."""
    names = {e.name for e in EVICTION_COSTS}
    out = []
    tiers = row.more.get("tiers", ())
    for t in tiers if isinstance(tiers, list) else ():  # others tell of tiers in their own words
        if t["name"] in names and int(t["value"]):
            least = "no bound" if t["bound"] is None else f"at least {int(t['bound']):,}"
            out.append(f"{t['name']} {int(t['value']):,} ({least})")
    return out


def _spread(seconds: Sequence[float]) -> str:
    if not seconds:
        return "not measured"
    if len(seconds) == 1:
        return f"{seconds[0]:.2f} s"
    middle = statistics.median(seconds)
    return f"{middle:.2f} s ({min(seconds):.2f} to {max(seconds):.2f}, {len(seconds)} runs)"


if __name__ == "__main__":
    sys.exit(main())
