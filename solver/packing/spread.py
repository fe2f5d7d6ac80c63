"""Spread: from numbers per class to nodes and devices, large things first, each where room is even.

Shares that are cut from one device go as one bundle. What finds no node stays waiting.
"""

from collections import defaultdict

import numpy as np

from .aggregate import Class, Whole
from .yard import Ints, Packing


def spread(packing: Packing, whole: Whole) -> None:
    """Put the pods of a solution onto nodes, as far as they fit."""
    for j, c in enumerate(whole.classes):
        pods = {k: n for (i, k), n in whole.pods.items() if i == j}
        cuts = [(level, p, n) for (i, level, p), n in whole.cuts.items() if i == j]
        if pods:
            _class(packing, whole, c, pods, cuts)


def _class(
    packing: Packing,
    whole: Whole,
    c: Class,
    pods: dict[int, int],
    cuts: list[tuple[int, tuple[int, ...], int]],
) -> None:
    k, shared = packing.yard.kinds, packing.yard.shared
    scale = np.maximum(c.free, 1).astype(float)
    heavy = {kind: float((k.rows[kind] / scale).max()) for kind in pods}
    waiting: dict[int, list[int]] = {}
    for i, s in enumerate(whole.sizes):
        mine = [kind for kind in pods if shared[kind] and k.parts[kind] == s]
        mine.sort(key=lambda kind: -heavy[kind])
        waiting[i] = [kind for kind in mine for _ in range(pods[kind])]
    things: list[tuple[int, tuple[int, ...]]] = _bundles(cuts, waiting, heavy)
    for kind, n in pods.items():
        if not shared[kind]:
            things += [(packing.yard.unit, (kind,))] * n
    rows = {kinds: k.rows[list(kinds)].sum(axis=0) for _, kinds in things}
    slots = {kinds: sum(int(k.devices[q]) for q in kinds) if len(kinds) == 1 else 1
             for _, kinds in things}  # fmt: skip
    # What takes several devices, or much of a node, first.
    things.sort(key=lambda t: (-max(slots[t[1]], 1), -float((rows[t[1]] / scale).max()), t[1]))
    nodes = np.array(c.nodes)
    for level, kinds in things:
        _place(packing, nodes, level, kinds, rows[kinds], slots[kinds], scale)


def _bundles(
    cuts: list[tuple[int, tuple[int, ...], int]],
    waiting: dict[int, list[int]],
    heavy: dict[int, float],
) -> list[tuple[int, tuple[int, ...]]]:
    """Share the pods of each size out over the devices that are cut for them, evenly by weight."""
    bins: list[tuple[int, list[int]]] = []
    load: list[float] = []
    slots: dict[int, list[int]] = defaultdict(list)
    for level, pattern, n in cuts:
        for _ in range(n):
            for i, m in enumerate(pattern):
                slots[i] += [len(bins)] * m
            bins.append((level, []))
            load.append(0.0)
    for i in sorted(slots):
        slots[i].sort(key=lambda b: load[b])
        for b, kind in zip(slots[i], waiting[i], strict=False):
            bins[b][1].append(kind)
            load[b] += heavy[kind]
    return [(level, tuple(sorted(kinds))) for level, kinds in bins if kinds]


def _place(
    packing: Packing,
    nodes: Ints,
    level: int,
    kinds: tuple[int, ...],
    row: Ints,
    slots: int,
    scale: "np.ndarray[tuple[int], np.dtype[np.float64]]",
) -> None:
    """Put a bundle onto the node where most would be left for each device that is still idle."""
    k = packing.yard.kinds
    ok = k.may[list(kinds)][:, nodes].all(axis=0) & (packing.free[nodes] >= row).all(axis=1)
    here = packing.left[nodes]
    idle = (here == level).sum(axis=1) if slots else np.zeros(len(nodes))
    ok &= idle >= slots
    if not ok.any():
        return
    after = ((packing.free[nodes] - row) / scale).min(axis=1)
    open_ = (here > 0).sum(axis=1) - slots
    score = after / np.maximum(open_ + 1.0, 1.0) if slots else after - open_ / max(1, here.shape[1])
    if slots > 1:
        score = score - 10.0 * open_
    v = int(nodes[int(np.where(ok, score, -np.inf).argmax())])
    at = np.flatnonzero(packing.left[v] == level)[: max(slots, 0)]
    devices = tuple(int(d) for d in at)
    for kind in kinds:
        packing.put(v, kind, devices if k.devices[kind] else ())
