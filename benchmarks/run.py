"""Run the benchmarks: ``python -m benchmarks.run [--short] [SUBJECT...]``; prints what it measured.

Beside the text, ``--json FILE`` keeps the figures with the machine that they come from.
"""

import argparse
import json
import os
import platform
import sys
from collections.abc import Callable, Sequence

from . import mixture

SUBJECTS: dict[str, Callable[[bool], tuple[list[str], object]]] = {"mixture": mixture.report}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the subjects named, or all of them."""
    parser = argparse.ArgumentParser(prog="benchmarks.run", description=__doc__)
    parser.add_argument("subjects", nargs="*", metavar="SUBJECT", help=", ".join(SUBJECTS))
    parser.add_argument("--short", action="store_true", help="one run of each instance")
    parser.add_argument("--json", metavar="FILE", help="also write the figures as JSON")
    args = parser.parse_args(argv)
    unknown = [s for s in args.subjects if s not in SUBJECTS]
    if unknown:
        parser.error(f"no such subject: {', '.join(unknown)}; there are {', '.join(SUBJECTS)}")
    machine = {
        "python": platform.python_version(),
        "system": platform.system(),
        "cores": os.cpu_count(),
        "load": os.getloadavg()[0],
    }
    print(", ".join(f"{k} {v}" for k, v in machine.items()))
    figures: dict[str, object] = {"machine": machine}
    for name in args.subjects or SUBJECTS:
        lines, figures[name] = SUBJECTS[name](args.short)
        print("\n".join(lines))
    if args.json:
        with open(args.json, "w", encoding="utf-8") as out:
            json.dump(figures, out, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
