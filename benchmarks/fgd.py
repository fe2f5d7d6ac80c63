"""FGD one by one, as its authors' simulator does it: each pod where fragmentation grows least.

Written from the published description and the behaviour of the simulator (Weng et al., "Beware of
Fragmentation", USENIX ATC 2023), to be run beside this scheduler on the same arrivals. Floating
point sums run in the simulator's order, since scores are cut to whole numbers near their middle.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from apportion.solver.packing.yard import Flags, Ints

Floats = NDArray[np.float64]
Spec = tuple[int, int, int, int, tuple[str, ...]]
"""Milli-CPU, MiB, GPUs, thousandths of each, GPU models that will do (none: any)."""
POPULAR = 0.95
WHOLE = 1000


@dataclass(frozen=True)
class Machine:
    """A node as the list has it."""

    name: str
    cpu: int
    mib: int
    gpus: int
    model: str


class Typical:
    """The most frequent specs that make up 95 % of the pods, with their shares."""

    def __init__(self, pods: Sequence[Spec], models: Sequence[str]) -> None:
        found = Counter((cpu, milli, gpus, "|".join(of)) for cpu, _, gpus, milli, of in pods)
        ranked = sorted(found.items(), key=lambda f: (f[1], f[0]), reverse=True)
        chosen, seen = [], 0.0
        for spec, n in ranked:
            if seen >= POPULAR * 100.0 * len(pods) / 100.0:
                break
            chosen.append((spec, n))
            seen += n
        share = np.array([float(n) for _, n in chosen]) / len(pods)
        self.share = share / (seen / len(pods)) if len(chosen) < len(ranked) else share
        specs = [s for s, _ in chosen]
        self.cpu = np.array([s[0] for s in specs])
        self.milli = np.array([s[1] for s in specs])
        self.gpus = np.maximum(1, np.array([s[2] for s in specs]))
        self.takes = np.array([[not s[3] or m in s[3].split("|") for m in models] for s in specs])

    def fragments(self, nodes: Ints, cpu: Ints, left: Ints) -> Floats:
        """Return the expected fragment, in thousandths of a GPU, of each node in a given state."""
        enough = left[None] >= self.milli[:, None, None]
        hosts = enough.sum(axis=2) >= self.gpus[:, None]
        small = np.where(enough, 0, left[None]).sum(axis=2)
        all_idle = left.sum(axis=1)[None].astype(float)
        runs_cpu = cpu[None] >= self.cpu[:, None]
        asks, takes = (self.milli > 0)[:, None], self.takes[:, nodes]
        lost = self.share[:, None] * all_idle
        part = self.share[:, None] * small
        zero = np.zeros_like(lost)
        fit = asks & takes & hosts
        bad = asks & takes & ~hosts
        parts = (
            np.where(bad & ~runs_cpu, lost, zero),
            np.where(fit & runs_cpu, part, np.where(bad & runs_cpu, lost, zero)),
            np.where(fit & ~runs_cpu, lost, zero),
            np.where(~asks & runs_cpu, lost, zero),
            np.where(~asks & ~runs_cpu, lost, zero),
            np.where(asks & ~takes, lost, zero),
        )
        out = np.zeros(left.shape[0])
        for p in parts:
            out = out + p.cumsum(axis=0)[-1]
        return out


class OneByOne:
    """The cluster while pods arrive; nobody leaves, and who does not fit is refused."""

    def __init__(self, machines: Sequence[Machine], pods: Sequence[Spec], rank: Sequence[int]):
        order = sorted(range(len(machines)), key=lambda i: rank[i])
        self.machines = [machines[i] for i in order]
        self.number = np.array(order)
        """By place in the order: which machine of the list."""
        devices = max(m.gpus for m in machines)
        self.cpu = np.array([m.cpu for m in self.machines])
        self.mib = np.array([m.mib for m in self.machines])
        self.left = np.array(
            [[WHOLE * (d < m.gpus) for d in range(devices)] for m in self.machines]
        )
        self.typical = Typical(pods, [m.model for m in self.machines])
        everywhere = np.arange(len(machines))
        self.now = self.typical.fragments(everywhere, self.cpu, self.left)
        self._changed = np.zeros(len(machines), dtype=np.int64)
        self._kinds: dict[Spec, _Scores] = {}
        self.used = 0

    def place(self, spec: Spec) -> tuple[int, tuple[int, ...]] | None:
        """Place one pod; return the machine of the list and the GPUs, None if it is refused."""
        if spec not in self._kinds:
            self._kinds[spec] = _Scores(self, spec)
        scores = self._kinds[spec]
        scores.refresh(self)
        best = int(np.where(scores.fits, scores.score, -1).argmax())
        if not scores.fits[best]:
            return None
        cpu, mib, gpus, milli, _ = spec
        if gpus == 1 and milli < WHOLE:
            on: tuple[int, ...] = (int(scores.gpu[best]),)
        else:
            on = tuple(int(d) for d in np.flatnonzero(self.left[best] == WHOLE)[:gpus])
        self.cpu[best] -= cpu
        self.mib[best] -= mib
        self.left[best, list(on)] -= milli
        self.used += gpus * milli
        self._changed[best] += 1
        one = np.array([best])
        self.now[best] = self.typical.fragments(one, self.cpu[one], self.left[one])[0]
        return int(self.number[best]), on

    @property
    def changed(self) -> Ints:
        return self._changed


class _Scores:
    """What each node scores for one spec, kept up to date."""

    def __init__(self, world: OneByOne, spec: Spec) -> None:
        n = len(world.cpu)
        self.spec = spec
        self.seen = np.full(n, -1, dtype=np.int64)
        self.fits: Flags = np.zeros(n, dtype=np.bool_)
        self.score = np.zeros(n, dtype=np.int64)
        self.gpu = np.zeros(n, dtype=np.int64)
        models = spec[4]
        self.takes = np.array([not models or m.model in models for m in world.machines])

    def refresh(self, world: OneByOne) -> None:
        old = np.flatnonzero(self.seen != world.changed)
        if not len(old):
            return
        cpu, mib, gpus, milli, _ = self.spec
        ok = self.takes[old] & (world.cpu[old] >= cpu) & (world.mib[old] >= mib)
        if gpus:
            ok &= (world.left[old] >= milli).sum(axis=1) >= gpus
        self.fits[old] = ok
        self.seen[old] = world.changed[old]
        nodes = old[ok]
        if not len(nodes):
            return
        if gpus == 1 and milli < WHOLE:
            self._share(world, nodes)
        else:
            left = world.left[nodes]
            idle = left == WHOLE
            after = np.where(idle & (idle.cumsum(axis=1) <= gpus), 0, left) if gpus else left
            self.score[nodes] = self._scored(world, nodes, after)

    def _share(self, world: OneByOne, nodes: Ints) -> None:
        """Try each different GPU of each node."""
        milli = self.spec[3]
        tried: list[tuple[int, int, int]] = []
        for i, v in enumerate(nodes.tolist()):
            levels: dict[int, int] = {}
            for d, level in enumerate(world.left[v].tolist()):
                if level >= milli:
                    levels.setdefault(level, d)
            tried += [(i, v, d) for d in sorted(levels.values())]
        row = np.array([t[0] for t in tried])
        at = np.array([t[1] for t in tried])
        gpu = np.array([t[2] for t in tried])
        after = world.left[at].copy()
        after[np.arange(len(at)), gpu] -= milli
        scored = self._scored(world, at, after)
        best = np.full((len(nodes), after.shape[1]), -1, dtype=np.int64)
        best[row, gpu] = scored
        self.gpu[nodes] = best.argmax(axis=1)
        self.score[nodes] = best.max(axis=1)

    def _scored(self, world: OneByOne, nodes: Ints, after: Ints) -> Ints:
        then = world.typical.fragments(nodes, world.cpu[nodes] - self.spec[0], after)
        gain = (world.now[nodes] - then) / 1000
        score: Ints = (1.0 / (1.0 + np.exp(-gain)) * 100.0).astype(np.int64)
        return score
