"""Displace: who comes first takes the place of guests, which give way where it costs the least.

The first half of a packing's kinds come first; the other half, the same kinds, are guests.
"""

import time
from dataclasses import replace

import numpy as np

from .fill import fill, order_of, trade
from .yard import Ints, Kinds, Packing, Yard


def displace(packing: Packing, n: int) -> None:
    """Let pods of the first n kinds go where they displace the fewest parts of the others."""
    k = packing.yard.kinds
    guests = packing.count[:, n:]
    bare = packing.free + guests @ k.rows[n:]
    idle = packing.left.copy()
    for v in np.flatnonzero(guests.any(axis=1)).tolist():
        for q, devices in packing.at[v]:
            if q >= n:
                idle[v, list(devices)] += k.parts[q]
    scale = np.maximum(packing.yard.free.max(axis=0), 1)
    for kind in order_of(packing, n):
        while packing.waiting[kind] > 0:
            v, devices = _cheapest(packing, kind, bare, idle, scale)
            if v < 0:
                break
            _clear(packing, v, kind, devices, n)
            packing.put(v, kind, devices)
            bare[v] -= k.rows[kind]
            idle[v, list(devices)] -= k.parts[kind]


def _cheapest(
    packing: Packing, kind: int, bare: Ints, idle: Ints, scale: Ints
) -> tuple[int, tuple[int, ...]]:
    """Return where the kind displaces least, with the devices; (-1, ()) where it fits nowhere."""
    k, unit = packing.yard.kinds, packing.yard.unit
    number, parts = int(k.devices[kind]), int(k.parts[kind])
    able = idle >= parts
    ok = k.may[kind] & (bare >= k.rows[kind]).all(axis=1)
    lack = np.maximum(0, k.rows[kind] - packing.free)
    # A whole node's room weighs as much as a device for each that it has.
    cost = (lack / scale).max(axis=1) * unit * 8
    if not number:
        cost = cost + (packing.left > 0).sum(axis=1) / 100
        return (int(np.where(ok, cost, np.inf).argmin()) if ok.any() else -1), ()
    ok &= able.sum(axis=1) >= number
    if not ok.any():
        return -1, ()
    loss = np.where(able, np.maximum(0, parts - packing.left), 1 << 40)
    loss = loss * 4096 + np.where(able, np.maximum(0, packing.left - parts), 0)
    first = np.argsort(loss, axis=1, kind="stable")[:, :number]
    cost = cost + np.take_along_axis(loss, first, axis=1).sum(axis=1) / 4096
    v = int(np.where(ok, cost, np.inf).argmin())
    return v, tuple(int(d) for d in first[v])


def _clear(packing: Packing, v: int, kind: int, devices: tuple[int, ...], n: int) -> None:
    """Send guests off the devices, then off the node, until the kind fits; least worth first."""
    k = packing.yard.kinds

    def guests(on: int | None) -> list[tuple[int, tuple[int, ...]]]:
        mine = [(q, d) for q, d in packing.at[v] if q >= n and (on is None or on in d)]
        return sorted(mine, key=lambda g: (int(k.worth[g[0]]), -int(k.rows[g[0]][0])))

    for d in devices:
        while packing.left[v, d] < k.parts[kind]:
            lack = k.parts[kind] - packing.left[v, d]
            here = guests(d)
            enough = [g for g in here if k.parts[g[0]] >= lack]
            packing.take(v, *(enough or here)[0])
    while (packing.free[v] < k.rows[kind]).any():
        short = int(np.argmax(k.rows[kind] - packing.free[v]))
        useful = [g for g in guests(None) if k.rows[g[0]][short] > 0]
        packing.take(v, *useful[0])


def insist(packing: Packing) -> Packing:
    """Return a packing in which what must be placed displaces what need not, as far as it can."""
    yard, k = packing.yard, packing.yard.kinds
    n = len(k)
    twice = Kinds(
        rows=np.concatenate([k.rows, k.rows]),
        devices=np.concatenate([k.devices, k.devices]),
        parts=np.concatenate([k.parts, k.parts]),
        wanted=np.concatenate([k.least, k.wanted - k.least]),
        may=np.concatenate([k.may, k.may]),
        worth=np.concatenate([k.worth, k.worth]),
        least=np.concatenate([k.least, np.zeros_like(k.least)]),
    )
    out = Packing(replace(yard, kinds=twice))
    for v, kind, devices in packing.places:
        out.put(v, kind if out.waiting[kind] > 0 else kind + n, devices)
    while out.short:
        before = out.short
        displace(out, n)
        trade(out, n)
        if out.short >= before:
            break
    fill(out)
    while trade(out):
        fill(out)
    made = Packing(yard)
    for v, kind, devices in out.places:
        made.put(v, kind % n, devices)
    return made


def press(packing: Packing, enough: float, until: float | None = None) -> Packing:
    """Insist on one more of each kind that waits for devices, and keep what is worth more."""
    yard, k = packing.yard, packing.yard.kinds
    best = packing
    for kind in np.argsort(-k.worth, kind="stable").tolist():
        while best.waiting[kind] > 0 and k.devices[kind] and best.worth < enough:
            if until is not None and time.monotonic() >= until:
                return best
            least = k.least.copy()
            least[kind] = max(int(least[kind]), int(k.wanted[kind] - best.waiting[kind]) + 1)
            made = insist(_over(best, replace(yard, kinds=replace(k, least=least))))
            if made.short or made.worth <= best.worth:
                break
            best = _over(made, yard)
    return best


def _over(packing: Packing, yard: Yard) -> Packing:
    """Return the same places in another yard of the same kinds."""
    out = Packing(yard)
    for v, kind, devices in packing.places:
        out.put(v, kind, devices)
    return out
