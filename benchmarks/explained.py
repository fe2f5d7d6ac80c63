"""Explained: what is said of 1,000 random held groups, each judged beside how it was found.

``PYTHONPATH=tests python -m benchmarks.explained --keep FILE [--part K/N] [--for SECONDS]`` judges
clusters that the file does not have yet until enough groups are, and prints what is known so far;
``--again`` asks anew about clusters of which not all was right, ``--sizes`` leaves others out.

Small clusters are those of the property tests: there every smaller change of a kind is planned as
well, and a brute force tries every exchange. Those of 40 nodes are too large for that.
"""

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import count
from pathlib import Path

from apportion.policies.holds import holds
from apportion.solver.entry import plan
from apportion.solver.process import SolverProcess
from properties.clusters import SMALL, Size, cluster
from properties.configs import config
from properties.explanations import Case, Judged, Told, judged

from .explain import PLANNED, world
from .priority_matters import part_of

GROUPS = 1000
EACH = 6
"""Groups of one cluster."""
FIRST_SEED = 971_000
MIDDLE = Size(nodes=5, queues=4, groups=9, pods=24, foreign=2, members=6)
SIZES = {"3 nodes": SMALL, "5 nodes": MIDDLE}
LARGE_NODES, LARGE_WAITING = 40, 160
LARGE = f"{LARGE_NODES} nodes"
ROUND = 40
"""Of so many clusters one is large, and every third of the others of middle size."""


@dataclass(frozen=True)
class Of:
    """A cluster: its size in words, and its seed."""

    size: str
    seed: int


@dataclass(frozen=True)
class Trial:
    """What was said of the groups that one cluster holds, by rules or by the order."""

    of: Of
    groups: tuple[Judged, ...]

    @property
    def faults(self) -> list[str]:
        return [
            f"{self.of.size}, seed {self.of.seed}: {g.group}: {says}"
            for g in self.groups
            for says in (*g.conflict_faults, *g.order_faults, *g.change_faults)
        ]

    @property
    def is_wrong(self) -> bool:
        """Say whether something is wrong, or a change is told that is not the smallest."""
        return bool(self.faults) or any(c.smaller for g in self.groups for c in g.changes)


def clusters() -> Iterator[Of]:
    """Yield clusters without an end, the mixture of sizes the same all along."""
    for n in count():
        size = LARGE if n % ROUND == ROUND - 1 else "5 nodes" if n % 3 == 2 else "3 nodes"
        yield Of(size, FIRST_SEED + n)


def tried(of: Of, process: SolverProcess) -> Trial:
    """Make the cluster and its plan, and judge what is said of the groups that it holds."""
    if of.size == LARGE:
        made = world(LARGE_NODES, LARGE_WAITING, of.seed, process)
        case = Case(made.snapshot, PLANNED, made.plan, process, is_small=False)
    else:
        snapshot, settings = cluster(of.seed, SIZES[of.size]), config(of.seed)
        case = Case(snapshot, settings, plan(snapshot, settings, process=process), process)
    scene = case.outcome.scene
    held = [
        h.group for h in case.plan.held
        if scene.roster[h.group].pending and next(iter(holds(scene, h.group)), None) is None
    ]  # fmt: skip
    return Trial(of, tuple(judged(case, key) for key in held[:EACH]))


class Kept:
    """The trials made so far, in a file with one line of JSON each, or in memory."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self.trials: dict[Of, Trial] = {}
        for line in path.read_text(encoding="utf-8").splitlines() if path and path.exists() else ():
            trial = _trial_of(line, path)
            self.trials[trial.of] = trial

    @property
    def groups(self) -> int:
        return sum(len(t.groups) for t in self.trials.values())

    def add(self, trial: Trial) -> None:
        """Keep a trial, in the stead of one of the same cluster."""
        self.trials[trial.of] = trial
        if self._path is not None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(asdict(trial)) + "\n")


def _trial_of(line: str, path: Path | None) -> Trial:
    try:
        data = json.loads(line)
        groups = tuple(_judged(g) for g in data["groups"])
        return Trial(Of(**data["of"]), groups)
    except (ValueError, TypeError, KeyError, AttributeError) as e:
        raise ValueError(f"{path}: a line that is no trial of this version: {line[:80]}") from e


def _judged(data: Mapping[str, object]) -> Judged:
    changes = data["changes"]
    assert isinstance(changes, list)
    lists = {k: tuple(v) for k, v in data.items() if isinstance(v, list)}
    return Judged(**{**data, **lists, "changes": tuple(Told(**c) for c in changes)})  # type: ignore[arg-type]  # as it was written


def measure(
    chosen: Iterator[Of], kept: Kept, groups: int, until: float, process: SolverProcess
) -> None:
    """Try what has not been tried yet, until so many groups or that time by the monotonic clock."""
    for of in chosen:
        if kept.groups >= groups or time.monotonic() >= until:
            return
        if of not in kept.trials:
            kept.add(tried(of, process))


def told(trials: Sequence[Trial]) -> list[str]:
    """Return what is known, in lines."""
    groups = [g for t in trials for g in t.groups]
    rules = [g for g in groups if g.held_by == "rules"]
    order = [g for g in groups if g.held_by == "order"]
    changes = [c for g in groups for c in g.changes]
    bad = {id(c) for g in groups for c in g.changes if not c.starts}
    ways, kinds = Counter(g.exchange for g in order), Counter(c.kind for c in changes)
    sizes = Counter(t.of.size for t in trials for _ in t.groups)
    proven = [c for c in changes if c.enumerated and not c.smaller]
    said = [c for c in changes if c.smallest]
    return [
        f"{len(groups)} held groups of {len(trials)} clusters ({_counted(sizes)})",
        f"held by rules {len(rules)}: conflict minimal in "
        f"{sum(not g.conflict_faults for g in rules)}",
        f"held by the order {len(order)} ({_counted(ways)}): as said in "
        f"{sum(not g.order_faults for g in order)}, of {sum(g.by_brute_force for g in order)} "
        "every exchange tried by brute force",
        f"groups with a change {sum(bool(g.changes) for g in groups)} (by rules "
        f"{sum(bool(g.changes) for g in rules)}, by the order "
        f"{sum(bool(g.changes) for g in order)}), some kind left out in "
        f"{sum(bool(g.left_out) for g in groups)}",
        f"changes told {len(changes)} ({_counted(kinds)}): start the group in "
        f"{len(changes) - len(bad)}",
        f"smallest of their kind: said of {len(said)}; all smaller ones tried for "
        f"{sum(c.enumerated for c in changes)}, none of them does for {len(proven)}, said and "
        f"wrong {sum(bool(c.smaller) for c in said)}",
        *(f"wrong: {says}" for t in trials for says in t.faults),
    ]


def _counted(of: Counter[str]) -> str:
    return ", ".join(f"{k} {n}" for k, n in of.most_common())


def main(argv: Sequence[str] | None = None) -> int:
    """Judge a slice, and print all that is kept."""
    parser = argparse.ArgumentParser(prog="benchmarks.explained", description=__doc__)
    parser.add_argument("--keep", metavar="FILE", help="what has been judged, added to")
    parser.add_argument("--part", type=part_of, default=(1, 1), metavar="K/N", help="every Nth")
    parser.add_argument("--for", type=float, default=float("inf"), dest="for_s", metavar="SECONDS")
    parser.add_argument("--sizes", default=",".join((*SIZES, LARGE)), help="3 nodes,5 nodes,...")
    parser.add_argument("--groups", type=int, default=GROUPS, help=f"until so many ({GROUPS})")
    parser.add_argument("--again", action="store_true", help="first where not all was right")
    args = parser.parse_args(argv)
    kept = Kept(Path(args.keep) if args.keep else None)
    k, n = args.part
    until = time.monotonic() + args.for_s
    with SolverProcess() as process:
        process.wait()
        for trial in list(kept.trials.values()) if args.again else ():
            if trial.is_wrong and time.monotonic() < until:
                kept.add(tried(trial.of, process))
        sizes = args.sizes.split(",")
        chosen = (of for i, of in enumerate(clusters()) if i % n == k - 1 and of.size in sizes)
        measure(chosen, kept, args.groups, until, process)
    print("\n".join(told(list(kept.trials.values()))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
