"""Measure live schedulers on a real control plane: ``python -m benchmarks.live burst ...``.

Each run has a control plane of its own, with nodes that nobody plays: pods are bound and no more.
"""

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path

from ..machine import machine
from .contestants import CONTESTANTS
from .measures import burst, spread, stream


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="benchmarks.live", description=__doc__)
    parser.add_argument("measure", choices=("burst", "stream", "spread"))
    parser.add_argument("--nodes", type=int, default=500)
    parser.add_argument("--pods", type=int, default=3000)
    parser.add_argument("--gang", type=int, default=1, help="pods of a gang; 1: single pods")
    parser.add_argument("--per-second", type=float, default=100, help="of a stream")
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--out", type=Path, help="add the figures to this file, a line for each")
    parser.add_argument("--schedulers", nargs="+", default=list(CONTESTANTS), choices=CONTESTANTS)
    return parser.parse_args()


def main() -> int:
    """Run what was asked for, scheduler after scheduler, and print the figures."""
    asked = arguments()
    print(", ".join(f"{k} {v}" for k, v in machine().items()), flush=True)
    for _ in range(asked.runs):
        for name in asked.schedulers:
            one = CONTESTANTS[name]
            match asked.measure:
                case "burst":
                    found = asdict(burst(one, asked.nodes, asked.pods, asked.gang))
                case "stream":
                    found = asdict(stream(one, asked.nodes, asked.pods, asked.per_second))
                case _:
                    found = asdict(spread(one, asked.nodes, asked.gang))
            print(", ".join(f"{k} {v}" for k, v in found.items()), flush=True)
            if asked.out:
                row = {"measure": asked.measure, **machine(), **found}
                with asked.out.open("a") as file:
                    file.write(json.dumps(row) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
