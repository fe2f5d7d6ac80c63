"""Fill: what still waits goes where it fits, and trades places with others where it nearly does."""

import numpy as np

from .yard import Flags, Ints, Packing, Place


def order_of(packing: Packing, first: int | None = None) -> list[int]:
    """Return the kinds that wait (of the first so many): what must be placed, then by worth."""
    k = packing.yard.kinds
    short = k.least - (k.wanted - packing.waiting)
    weight = k.rows / np.maximum(packing.yard.free.max(axis=0), 1)
    waiting = np.flatnonzero(packing.waiting[:first] > 0)
    return sorted(
        waiting.tolist(),
        key=lambda q: (short[q] <= 0, -int(k.worth[q]), float(weight[q].max())),
    )


def fill(packing: Packing, first: int | None = None) -> int:
    """Put whatever fits where the least is left over; return how many were put."""
    put = 0
    for kind in order_of(packing, first):
        while packing.waiting[kind] > 0 and put_one(packing, kind) is not None:
            put += 1
    return put


def put_one(packing: Packing, kind: int) -> Place | None:
    """Put one more pod of the kind where the least is left over; None where it fits nowhere."""
    k = packing.yard.kinds
    n, parts = int(k.devices[kind]), int(k.parts[kind])
    ok = packing.fits(kind)
    if not ok.any():
        return None
    scale = np.maximum(packing.yard.free.max(axis=0), 1)
    rest = ((packing.free - k.rows[kind]) / scale).min(axis=1)
    if not n:
        # Nodes whose devices are all in use have no better use for their room.
        score = rest + (packing.left > 0).sum(axis=1)
    elif parts < packing.yard.unit:
        tight = np.where(packing.left >= parts, packing.left, 10 * packing.yard.unit)
        score = tight.min(axis=1) + rest
    else:
        score = rest
    v = int(np.where(ok, score, np.inf).argmin())
    devices = packing.devices_for(v, kind)
    assert devices is not None
    packing.put(v, kind, devices)
    return v, kind, devices


def trade(packing: Packing, first: int | None = None) -> int:
    """Make room for what waits where only the node's room is short, by trading equals away.

    A pod of a node trades places with one that takes as much of a device but less of the node: one
    that waits, or one elsewhere where there is room enough. Devices stay as they are.
    """
    k, made = packing.yard.kinds, 0
    alike = (k.devices[:, None] == k.devices[None, :]) & (k.parts[:, None] == k.parts[None, :])
    for kind in order_of(packing, first):
        while packing.waiting[kind] > 0 and _trade_for(packing, kind, alike):
            made += 1
    return made


def _trade_for(packing: Packing, kind: int, alike: Flags) -> bool:
    k = packing.yard.kinds
    ok = k.may[kind] & packing.device_room(kind)
    lack = k.rows[kind] - packing.free
    nodes = np.flatnonzero(ok)
    if not len(nodes):
        return False
    scale = np.maximum(packing.yard.free.max(axis=0), 1)
    nodes = nodes[np.argsort((lack[nodes] / scale).max(axis=1), kind="stable")]
    for v in nodes[:60].tolist():
        need = np.maximum(lack[v], 0)
        for out in np.flatnonzero(packing.count[v] > 0).tolist():
            if _swap(packing, v, kind, out, need, alike[out]):
                return True
    return False


def _swap(packing: Packing, v: int, kind: int, out: int, need: Ints, alike: Flags) -> bool:
    """Trade one pod of kind ``out`` on the node for a lighter one, then put the kind; say if so."""
    k = packing.yard.kinds
    if (k.rows[out] < need).any():
        return False
    room = packing.free[v] - k.rows[kind] + k.rows[out]
    if not k.devices[out]:
        there = packing.fits(out)
        there[v] = False
        if (room >= 0).all() and there.any():
            w = int(np.flatnonzero(there)[0])
            devices = _take(packing, v, out)
            packing.put(w, out, devices)
            packing.put(v, kind, packing.devices_for(v, kind) or ())
            return True
        return False
    lighter = np.flatnonzero(alike & (k.rows <= room).all(axis=1) & k.may[:, v])
    for one in lighter.tolist():
        if packing.waiting[one] > (one == kind) and one != out and k.worth[one] >= k.worth[out]:
            if k.wanted[out] - packing.waiting[out] <= k.least[out]:
                continue  # it has to stay
            devices = _take(packing, v, out)
            packing.put(v, one, devices)
            packing.put(v, kind, packing.devices_for(v, kind) or ())
            return True
        spare = (packing.free + k.rows[one] >= k.rows[out]).all(axis=1)
        others = np.flatnonzero((packing.count[:, one] > 0) & spare & k.may[out])
        others = others[others != v]
        if len(others) and one != out:
            w = int(others[0])
            mine, theirs = _take(packing, v, out), _take(packing, w, one)
            packing.put(w, out, theirs)
            packing.put(v, one, mine)
            packing.put(v, kind, packing.devices_for(v, kind) or ())
            return True
    return False


def _take(packing: Packing, node: int, kind: int) -> tuple[int, ...]:
    devices = next(d for q, d in packing.at[node] if q == kind)
    packing.take(node, kind, devices)
    return devices
