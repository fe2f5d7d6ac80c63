"""openb: the public list of GPU pods, all at once and in arrival batches, beside FGD one by one.

``python -m benchmarks.openb --nodes FILE --pods FILE`` reads the user's own copy of the published
CSVs; nothing of them is in this tree. ``--arrivals`` and ``--ranks`` give the order of arrivals and
of the nodes in a published run; without them both are drawn from the seed, by the same law. Every
packing is counted anew in plain Python, and judged by the product's checker.
"""

import argparse
import csv
import os
import random
import sys
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from msgspec.structs import replace as changed

from apportion.adapters.openb import MODEL, POD_COLUMNS, read_openb
from apportion.models import (
    Config,
    GroupKey,
    NodeName,
    Pod,
    PodKey,
    Snapshot,
    snapshot_of,
)
from apportion.models.devices import GPU
from apportion.policies.legality import verify
from apportion.policies.outcome import Outcome
from apportion.policies.registry import rules_for
from apportion.policies.scene import Scene
from apportion.solver.packing.ahead import admit, batch_of, expected_for, rehearse
from apportion.solver.packing.pack import pack
from apportion.solver.packing.yard import Ints, Kinds, Yard
from apportion.solver.process import SolverProcess

from .fgd import WHOLE, Machine, OneByOne, Spec

CLASSES = ("CPU only", "shares", "1 GPU", "2 GPUs", "4 GPUs", "8 GPUs", "other")
Placed = list[tuple[int, int, tuple[int, ...]]]
"""Arrival, machine, GPUs."""
MEMORY_MIB = 8192


@dataclass
class Trace:
    """Machines, pods, and the order in which they arrive."""

    snapshot: Snapshot
    machines: list[Machine]
    specs: list[Spec]
    """By pod of the list."""
    arrivals: list[int]
    rank: list[int]
    gpus: int = field(init=False)

    def __post_init__(self) -> None:
        self.gpus = sum(m.gpus for m in self.machines)

    def until(self, percent: int) -> list[int]:
        """Return the arrivals until they ask for so much of all GPUs, as the protocol counts."""
        out, asked = [], 0
        for pod in self.arrivals:
            asked += self.specs[pod][2] * self.specs[pod][3]
            if asked * 100 > percent * self.gpus * WHOLE:
                break
            out.append(pod)
        return out

    def percent(self, milli: int) -> float:
        return 100 * milli / (self.gpus * WHOLE)


def spec_of(pod: Pod) -> Spec:
    ask, share = pod.spec.requests, pod.spec.share
    gpus = share.devices if share else ask[GPU] // WHOLE
    models = tuple(
        v for term in pod.spec.node_affinity or () for r in term.labels for v in r.values
    )
    return (ask["cpu"], ask["memory"] >> 20, gpus, ask[GPU] // gpus if gpus else 0, models)


def trace_of(args: argparse.Namespace) -> Trace:
    snapshot = read_openb(args.nodes, args.pods)
    machines = [
        Machine(
            n.name, n.allocatable["cpu"], n.allocatable["memory"] >> 20, len(n.devices),
            n.labels.get(MODEL, ""),
        )
        for n in snapshot.nodes if n.devices
    ]  # fmt: skip
    specs = [spec_of(p) for p in snapshot.pods]
    gpus = sum(m.gpus for m in machines)
    rng = random.Random(args.seed)
    if args.arrivals:
        rows = [r for r in _table(args.arrivals) if r["seed"] == str(args.seed)]
        arrivals = [int(r["pod"]) for r in sorted(rows, key=lambda r: int(r["pos"]))]
    else:
        arrivals = drawn(specs, int(1.3 * gpus * WHOLE), rng)
    rank = list(range(len(machines)))
    if args.ranks:
        known = {r["sn"]: int(r[f"s{args.seed}"]) for r in _table(args.ranks)}
        rank = [known[m.name] for m in machines]
    else:
        rng.shuffle(rank)
    return Trace(snapshot, machines, specs, arrivals, rank)


def _table(file: str) -> list[dict[str, str]]:
    with open(file, encoding="utf-8", newline="") as f:
        return list(csv.DictReader(f))


def drawn(specs: Sequence[Spec], most: int, rng: random.Random) -> list[int]:
    """Shuffle the list, then draw from it until the GPUs asked for reach the mark."""
    out = list(range(len(specs)))
    rng.shuffle(out)
    asked = sum(s[2] * s[3] for s in specs)
    while True:
        pod = rng.randrange(len(specs))
        if asked + specs[pod][3] > most:
            return out
        asked += specs[pod][2] * specs[pod][3]
        out.append(pod)


# The lists as a yard


class Yards:
    """Makes yards of the machines, with what is left on them."""

    def __init__(self, trace: Trace) -> None:
        self.specs = sorted(set(trace.specs))
        self.number = {s: i for i, s in enumerate(self.specs)}
        most = max(m.gpus for m in trace.machines)
        self.free: Ints = np.array([[m.cpu, m.mib] for m in trace.machines])
        self.left: Ints = np.array(
            [[WHOLE * (d < m.gpus) for d in range(most)] for m in trace.machines]
        )
        self.rows: Ints = np.array([s[:2] for s in self.specs])
        self.devices: Ints = np.array([s[2] for s in self.specs])
        self.parts: Ints = np.array([s[3] for s in self.specs])
        self.may = np.array([[not s[4] or m.model in s[4] for m in trace.machines]
                             for s in self.specs])  # fmt: skip

    def count(self, specs: Iterable[Spec]) -> Ints:
        return np.bincount([self.number[s] for s in specs], minlength=len(self.specs))

    def yard(self, wanted: Ints, every_cpu_only: bool = False) -> Yard:
        least = np.where((self.devices == 0) & every_cpu_only, wanted, 0)
        kinds = Kinds(
            self.rows, self.devices, self.parts, wanted, self.may, self.devices * self.parts, least
        )
        return Yard(self.free, self.left, WHOLE, kinds)

    def use(self, machine: int, kind: int, gpus: tuple[int, ...]) -> None:
        self.free[machine] -= self.rows[kind]
        for d in gpus:
            self.left[machine, d] -= self.parts[kind]


# What the benchmark compares


def fgd(trace: Trace, arrivals: Sequence[int]) -> Placed:
    world = OneByOne(trace.machines, trace.specs, trace.rank)
    out: Placed = []
    for i, pod in enumerate(arrivals):
        at = world.place(trace.specs[pod])
        if at is not None:
            out.append((i, *at))
    return out


def offline(
    trace: Trace, arrivals: Sequence[int], seconds: float, workers: int
) -> tuple[Placed, float | None]:
    """Place all that has arrived at once, every CPU-only pod included; and the bound."""
    yards = Yards(trace)
    yard = yards.yard(yards.count(trace.specs[p] for p in arrivals), every_cpu_only=True)
    with SolverProcess(MEMORY_MIB) as process:
        process.wait()
        packed = pack(yard, process, seconds, _parameters(workers))
    if packed.packing.short:
        print(f"  {packed.packing.short} pods that must be placed are not")
    everybody = range(len(arrivals))
    return _assigned(trace, yards, arrivals, everybody, packed.packing.places), packed.bound


def batches(
    trace: Trace, arrivals: Sequence[int], size: int, recent: bool, seconds: float, workers: int
) -> Placed:
    """Place batch by batch; what is placed stays, what is refused is dropped, as in the protocol.

    Expected is the mix of the whole list (what FGD's typical pods are taken from), or of what has
    arrived so far.
    """
    yards = Yards(trace)
    mix = yards.count(trace.specs)
    seen = np.zeros_like(mix)
    guests: list[tuple[int, int, tuple[int, ...]]] = []
    out: Placed = []
    rehearsed = 0
    with SolverProcess(MEMORY_MIB) as process:
        process.wait()
        for start in range(0, len(arrivals), size):
            batch = range(start, min(start + size, len(arrivals)))
            wanted = yards.count(trace.specs[arrivals[i]] for i in batch)
            seen += wanted
            yard = yards.yard(wanted)
            now = seen if recent else mix
            if not start or (recent and start >= 2 * rehearsed):
                guests = rehearse(yard, now, process, seconds, _parameters(workers))
                rehearsed = max(start, size)
            packing = batch_of(yard, expected_for(yard, now), guests)
            admit(packing)
            n = len(yards.specs)
            here = [p for p in packing.places if p[1] < n]
            guests = [(v, k - n, d) for v, k, d in packing.places if k >= n]
            for v, k, d in here:
                yards.use(v, k, d)
            out += _assigned(trace, yards, arrivals, batch, here)
    return out


def _parameters(workers: int) -> dict[str, object]:
    return {"num_workers": workers, "relative_gap_limit": 1e-5, "random_seed": 1}


def _assigned(
    trace: Trace,
    yards: Yards,
    arrivals: Sequence[int],
    batch: Iterable[int],
    places: Iterable[tuple[int, int, tuple[int, ...]]],
) -> Placed:
    """Give the places of each kind to the pods of that kind, the earlier first."""
    queue: dict[int, list[int]] = {}
    for i in batch:
        queue.setdefault(yards.number[trace.specs[arrivals[i]]], []).append(i)
    return [(queue[kind].pop(0), v, gpus) for v, kind, gpus in places]


# Is it true?


def counted(trace: Trace, arrivals: Sequence[int], placed: Placed) -> int:
    """Count everything anew; return the GPU thousandths in use.

    Raises
    ------
    AssertionError
        Where anything is placed twice, in a place it may not have, or beyond what is there.
    """
    cpu = [m.cpu for m in trace.machines]
    mib = [m.mib for m in trace.machines]
    gpu = [[WHOLE] * m.gpus for m in trace.machines]
    assert len({i for i, _, _ in placed}) == len(placed), "a pod is placed twice"
    used = 0
    for i, v, on in placed:
        c, m, n, milli, models = trace.specs[arrivals[i]]
        assert not models or trace.machines[v].model in models, "a GPU of another model"
        assert len(set(on)) == len(on) == n, "another number of GPUs than asked for"
        cpu[v] -= c
        mib[v] -= m
        for d in on:
            gpu[v][d] -= milli
        used += n * milli
    assert min(cpu) >= 0, "a machine has more CPU in use than it has"
    assert min(mib) >= 0, "a machine has more memory in use than it has"
    assert all(left >= 0 for of in gpu for left in of), "a GPU is cut into more than there is"
    return used


def checked(trace: Trace, arrivals: Sequence[int], placed: Placed) -> list[str]:
    """Return what the product's checker objects to, device by device."""
    pods, groups = [], []
    by_key = {g.key: g for g in trace.snapshot.groups}
    for i, number in enumerate(arrivals):
        p = trace.snapshot.pods[number]
        name = f"a{i:06d}-{p.name}"
        group = changed(by_key[p.group or GroupKey("")], name=name)
        groups.append(group)
        pods.append(changed(p, name=name, group=group.key))
    snapshot = snapshot_of(
        nodes=trace.snapshot.nodes, queues=trace.snapshot.queues, pods=pods, groups=groups
    )
    config = Config()
    scene = Scene(snapshot, config, rules_for(config))
    places = {pods[i].key: NodeName(trace.machines[v].name) for i, v, _ in placed}
    devices: dict[PodKey, tuple[int, ...]] = {
        pods[i].key: on for i, _, on in placed if pods[i].spec.share is not None
    }
    return [str(v) for v in verify(Outcome(scene, places, devices=devices))]


def classes_of(specs: Iterable[Spec]) -> Counter[str]:
    out: Counter[str] = Counter()
    for _, _, gpus, milli, _ in specs:
        if not gpus:
            out["CPU only"] += 1
        elif milli < WHOLE:
            out["shares"] += 1
        else:
            name = "1 GPU" if gpus == 1 else f"{gpus} GPUs"
            out[name if name in CLASSES else "other"] += 1
    return out


def line(trace: Trace, arrivals: Sequence[int], placed: Placed, seconds: float) -> str:
    used = counted(trace, arrivals, placed)
    asked = classes_of(trace.specs[p] for p in arrivals)
    got = classes_of(trace.specs[arrivals[i]] for i, _, _ in placed)
    kinds = ", ".join(f"{c} {got[c]} of {asked[c]}" for c in CLASSES if asked[c])
    return (
        f"{trace.percent(used):.3f} % of {trace.gpus} GPUs, {len(placed)} of {len(arrivals)} pods "
        f"({kinds}), {seconds:.1f} s"
    )


def compare(trace: Trace, args: argparse.Namespace) -> bool:
    """Run what is asked for; say whether everything that was placed was placed rightly."""
    sound = True
    for part in args.parts.split(","):
        kind, _, number = part.partition("-")
        if kind == "list":
            arrivals = list(range(len(trace.specs)))
        else:
            arrivals = trace.until(100) if kind == "offline" else trace.arrivals
        print(f"{part}: {len(arrivals)} arrivals", flush=True)
        begun = time.perf_counter()
        base = fgd(trace, arrivals)
        print(f"  FGD one by one: {line(trace, arrivals, base, time.perf_counter() - begun)}")
        begun = time.perf_counter()
        bound = None
        if kind == "batches":
            placed = batches(
                trace, arrivals, int(number), args.mix == "recent", args.seconds, args.workers
            )
        else:
            placed, bound = offline(trace, arrivals, args.seconds, args.workers)
        print(f"  Apportion:      {line(trace, arrivals, placed, time.perf_counter() - begun)}")
        if bound is not None:
            print(f"  no placement reaches more than {trace.percent(int(bound)):.3f} %")
        objections = checked(trace, arrivals, placed)
        said = f"objects: {objections[0]}" if objections else "has no objection"
        print(f"  the checker {said}", flush=True)
        sound = sound and not objections
    return sound


def written(trace: Trace, file: str) -> None:
    """Write the arrivals up to 100 % as a list of its own, in their order; times are places."""
    arrivals = trace.until(100)
    with open(file, "w", encoding="utf-8", newline="") as f:
        out = csv.writer(f)
        out.writerow([*POD_COLUMNS, "gpu_spec", "creation_time"])
        for i, pod in enumerate(arrivals):
            cpu, mib, gpus, milli, models = trace.specs[pod]
            name = f"arrival-{i:06d}"
            out.writerow([name, cpu, mib, gpus, milli, "|".join(models), i])
    print(f"{file}: {len(arrivals)} pods")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(
        prog="benchmarks.openb", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument(
        "--nodes", required=True, metavar="FILE", help="openb_node_list_gpu_node.csv"
    )
    parser.add_argument("--pods", required=True, metavar="FILE", help="openb_pod_list_default.csv")
    parser.add_argument("--arrivals", metavar="FILE", help="columns seed, pos, pod (row by name)")
    parser.add_argument("--ranks", metavar="FILE", help="columns sn, s<seed>: which node wins ties")
    parser.add_argument("--seed", type=int, default=42)
    parser.add_argument(
        "--parts", default="offline,list,batches-200,batches-1000", help="[default: %(default)s]"
    )
    parser.add_argument(
        "--mix", choices=("list", "recent"), default="list",
        help="what is expected: the list's mix, as for FGD, or that of arrivals",
    )  # fmt: skip
    parser.add_argument("--seconds", type=float, default=90.0, help="for each packing")
    parser.add_argument("--workers", type=int, default=8)
    parser.add_argument(
        "--write", metavar="FILE",
        help="write the offline arrivals as a pod list for `apportion plan --trace openb`, and end",
    )  # fmt: skip
    args = parser.parse_args(argv)
    for file in (args.nodes, args.pods, args.arrivals, args.ranks):
        if file and not os.path.isfile(file):
            print(f"no file {file}: give your own copy of the list; nothing was run")
            return 2
    if args.write:
        written(trace_of(args), args.write)
        return 0
    print(f"cores {os.cpu_count()}, load {os.getloadavg()[0]:.1f}, seed {args.seed}")
    return 0 if compare(trace_of(args), args) else 1


if __name__ == "__main__":
    sys.exit(main())
