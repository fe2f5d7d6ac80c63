"""Ahead: pods that wait go where a packing of the mix that is expected next has room for them.

Beside each kind that waits there is its *guest*: the same pod, expected but not there yet. Guests
are packed like others and hold nobody off: whoever is there may displace them. So what comes now
lies where it leaves the devices in a state that later arrivals can use.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..process import SolverProcess
from .displace import displace
from .fill import fill, order_of, trade
from .pack import pack
from .yard import Ints, Kinds, Packing, Place, Yard

GUEST = 1_000
"""How much more a pod that waits is worth than the same one expected."""


def with_guests(yard: Yard, expected: Ints) -> Yard:
    """Return the yard with a guest kind for every kind, so many of each."""
    k = yard.kinds
    nothing = np.zeros_like(k.least)
    kinds = Kinds(
        rows=np.concatenate([k.rows, k.rows]),
        devices=np.concatenate([k.devices, k.devices]),
        parts=np.concatenate([k.parts, k.parts]),
        wanted=np.concatenate([k.wanted, expected]),
        may=np.concatenate([k.may, k.may]),
        worth=np.concatenate([k.worth * GUEST + 1, k.worth]),
        least=np.concatenate([k.least, nothing]),
    )
    return replace(yard, kinds=kinds)


def expected_for(yard: Yard, mix: Ints) -> Ints:
    """Return how many of each kind are expected: the mix, as often as it goes into what is left."""
    k = yard.kinds
    asked = int((mix * k.devices * k.parts).sum())
    left = int(yard.left.sum())
    return np.zeros_like(mix) if not asked else -(-mix * left * 51 // (asked * 50))


def batch_of(yard: Yard, expected: Ints, guests: Sequence[Place]) -> Packing:
    """Return the yard with guests where they were; they are expected at least as often."""
    n = len(yard.kinds)
    there = np.bincount([k for _, k, _ in guests], minlength=n)
    packing = Packing(with_guests(yard, np.maximum(expected, there)))
    for v, kind, devices in guests:
        packing.put(v, n + kind, devices)
    return packing


def admit(packing: Packing) -> None:
    """Place what waits, guests giving way; then guests again, as far as they still fit."""
    n = len(packing.yard.kinds) // 2
    _kept_places(packing, n)
    fill(packing, n)
    _alike(packing, n)
    displace(packing, n)
    for _ in range(8):
        if not trade(packing, n):
            break
        displace(packing, n)
    fill(packing)
    while trade(packing):
        fill(packing)


def _kept_places(packing: Packing, n: int) -> None:
    """Let pods take the places of their own guests, on the fullest nodes first."""
    for kind in range(n):
        there = np.flatnonzero(packing.count[:, n + kind] > 0)
        there = there[np.argsort(packing.free[there, 0], kind="stable")]
        for v in there.tolist():
            while packing.waiting[kind] > 0 and packing.count[v, n + kind] > 0:
                _step_in(packing, v, kind, n + kind)


def _step_in(packing: Packing, node: int, kind: int, guest: int) -> None:
    devices = next(d for q, d in packing.at[node] if q == guest)
    packing.take(node, guest, devices)
    packing.put(node, kind, devices)


def _alike(packing: Packing, n: int) -> None:
    """Let pods take places of guests that ask for the same of devices and no less of the node."""
    k = packing.yard.kinds
    scale = np.maximum(packing.yard.free.max(axis=0), 1)
    for kind in order_of(packing, n):
        if not k.devices[kind]:
            continue
        same = (k.devices == k.devices[kind]) & (k.parts == k.parts[kind])
        guests = [g for g in np.flatnonzero(same).tolist() if g >= n]
        guests.sort(key=lambda g: float(np.abs((k.rows[g] - k.rows[kind]) / scale).max()))
        for g in guests:
            while packing.waiting[kind] > 0:
                room = (packing.free + k.rows[g] >= k.rows[kind]).all(axis=1)
                ok = np.flatnonzero((packing.count[:, g] > 0) & room & k.may[kind])
                if not len(ok):
                    break
                v = int(ok[np.argmin(packing.free[ok, 0])])
                _step_in(packing, v, kind, g)


def rehearse(
    yard: Yard,
    mix: Ints,
    process: SolverProcess,
    limit_s: float,
    parameters: Mapping[str, Any],
) -> list[Place]:
    """Pack what is expected into the yard; the kinds' own numbers play no part."""
    nothing = np.zeros_like(yard.kinds.least)
    kinds = replace(yard.kinds, wanted=expected_for(yard, mix), least=nothing)
    return pack(replace(yard, kinds=kinds), process, limit_s, parameters, attempts=1).packing.places
