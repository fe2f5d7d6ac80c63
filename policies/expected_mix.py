"""The mix that is expected next: kinds of pods that use GPUs, with how often each comes.

Stated in the settings, or else what waits and what came within a day before the snapshot: the most
frequent kinds that make up 95 % of these.
"""

from collections import Counter
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..models import Pod
from ..models.devices import GPU
from .ledger import Matrix
from .scene import Scene

RECENT_S = 86_400
POPULAR_PERCENT = 95
SCALE = 1_000
"""The weights of a mix add up to about this."""
MOST_WORK = 20_000
"""So many devices times kinds are followed at most; beyond, fewer kinds are."""
WHOLE = 1_000


@dataclass(frozen=True)
class Expected:
    """One kind: its weight, devices and thousandths of each, what else it takes, and where."""

    weight: int
    devices: int
    milli: int
    row: Matrix
    """What it takes of a node besides GPUs."""
    may: NDArray[np.bool_]


def mix_of(scene: Scene) -> tuple[Expected, ...]:
    """Return the mix of the scene's settings, or of its pods; () where no pod uses GPUs."""
    if GPU not in scene.ledger.column:
        return ()
    known = scene.memo.get("expected mix")
    if known is None:
        known = scene.memo["expected mix"] = tuple(_stated(scene) or _seen(scene))
    assert isinstance(known, tuple)
    return known


def _stated(scene: Scene) -> list[Expected]:
    stated = scene.config.tiers.mix
    everywhere = np.ones(len(scene.nodes), dtype=np.bool_)
    total = sum(e.weight for e in stated)
    out = []
    for e in stated:
        row = scene.ledger.zero()
        for r, v in (("cpu", e.cpu_milli), ("memory", e.memory_bytes)):
            if r in scene.ledger.column:
                row[scene.ledger.column[r]] = v
        out.append(_kind(e.weight, total, e.gpu_milli, row, everywhere))
    return out


def _seen(scene: Scene) -> list[Expected]:
    """Count pods by what they ask for, and of which nodes."""
    since = scene.snapshot.taken_at_s - RECENT_S
    found: Counter[int] = Counter()
    sample: dict[int, Pod] = {}
    for p in scene.snapshot.pods:
        recent = not p.holds or p.created_s >= since
        if p.ours and recent and p.spec.requests[GPU]:
            found[id(p.spec)] += 1
            sample.setdefault(id(p.spec), p)
    merged: dict[object, tuple[int, Pod]] = {}
    for spec, n in found.items():
        p = sample[spec]
        same = (tuple(p.spec.requests.items()), p.spec.share, scene.mask(p).tobytes())
        merged[same] = (merged.get(same, (0, p))[0] + n, p)
    ranked = sorted(merged.values(), key=lambda f: (-f[0], f[1].key))
    devices = sum(max(1, n.allocatable[GPU] // WHOLE) for n in scene.nodes if n.allocatable[GPU])
    most = max(1, MOST_WORK // max(1, devices))
    chosen: list[tuple[int, Pod]] = []
    total = sum(n for n, _ in ranked)
    for n, p in ranked[:most]:
        if sum(c for c, _ in chosen) * 100 >= POPULAR_PERCENT * total:
            break
        chosen.append((n, p))
    total = sum(n for n, _ in chosen)
    out = []
    for n, p in chosen:
        row = scene.row(p).copy()
        row[scene.ledger.column[GPU]] = 0
        each = p.spec.requests[GPU]
        out.append(_kind(n, total, each, row, scene.mask(p), p))
    return out


def _kind(
    n: int, total: int, gpu_milli: int, row: Matrix, may: NDArray[np.bool_], pod: Pod | None = None
) -> Expected:
    share = None if pod is None else pod.spec.share
    if share is not None:
        devices, milli = share.devices, min(WHOLE, max(1, gpu_milli // share.devices))
    elif gpu_milli < WHOLE:
        devices, milli = 1, gpu_milli
    else:
        devices, milli = gpu_milli // WHOLE, WHOLE
    return Expected(max(1, n * SCALE // total), devices, milli, row, may)
