"""Measure live schedulers on a real control plane: ``python -m benchmarks.live burst ...``.

Each run has a control plane of its own, with nodes that nobody plays: pods are bound and no more.
"""

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path

from ..machine import machine
from .contestants import CONTESTANTS, Contestant
from .day import Day, day
from .large import Large, large
from .measures import Burst, Spread, Stream, burst, spread, stream


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="benchmarks.live", description=__doc__)
    parser.add_argument("measure", choices=("burst", "stream", "spread", "large", "day"))
    parser.add_argument("--nodes", type=int, default=500)
    parser.add_argument("--pods", type=int, default=3000)
    parser.add_argument("--gang", type=int, default=1, help="pods of a gang; 1: single pods")
    parser.add_argument("--per-second", type=float, default=100, help="of a stream")
    parser.add_argument("--held", type=int, default=0, help="gangs that wait during a stream")
    parser.add_argument("--running", type=int, default=0, help="pods that were there before")
    parser.add_argument("--idle", type=float, default=60, help="seconds without any change")
    parser.add_argument("--outstanding", type=int, default=200, help="waiting pods of a day")
    parser.add_argument("--lasts", type=float, default=1, help="seconds that a pod of a day runs")
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--out", type=Path, help="add the figures to this file, a line for each")
    parser.add_argument("--schedulers", nargs="+", default=list(CONTESTANTS), choices=CONTESTANTS)
    return parser.parse_args()


def measured(asked: argparse.Namespace, one: Contestant) -> Burst | Stream | Spread | Large | Day:
    match asked.measure:
        case "burst":
            return burst(one, asked.nodes, asked.pods, asked.gang)
        case "stream":
            return stream(one, asked.nodes, asked.pods, asked.per_second, asked.held)
        case "spread":
            return spread(one, asked.nodes, asked.gang)
        case "large":
            return large(asked.nodes, asked.running, idle_s=asked.idle)
        case _:
            return day(
                asked.nodes, asked.pods, asked.gang, asked.outstanding, asked.lasts, asked.running
            )


def main() -> int:
    """Run what was asked for, scheduler after scheduler, and print the figures."""
    asked = arguments()
    print(", ".join(f"{k} {v}" for k, v in machine().items()), flush=True)
    # The others are told by our own log, and of no other scheduler.
    compared = asked.measure in ("burst", "stream", "spread")
    for _ in range(asked.runs):
        for name in asked.schedulers if compared else ("apportion",):
            found = asdict(measured(asked, CONTESTANTS[name]))
            print(", ".join(f"{k} {v}" for k, v in found.items()), flush=True)
            if asked.out:
                row = {"measure": asked.measure, **machine(), **found}
                with asked.out.open("a") as file:
                    file.write(json.dumps(row) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
