"""One share of devices for a pod whose containers ask for one each.

HAMi and Volcano choose devices container by container: those of one are distinct, and two
containers may meet on a device. Here a pod has one share, the same part of each of so many distinct
devices, which bears all of them in one of two ways:

* stacked: on as many devices as the widest container has, with the sum of all on each;
* side by side: on as many as all have together, with the largest on each.

Stacked takes less, and is chosen where a device of the cluster could bear the sum.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from ...models import DeviceShare
from ...models.devices import WHOLE_PPM

Steps = Sequence[Sequence[DeviceShare]]
"""What runs at once, one after another: init containers each with the sidecars before it, then the
others. None of them empty."""


class _Part(NamedTuple):
    devices: int
    mib: int
    ppm: int
    cores: int


def joined(steps: Steps, least_mib: int, most_mib: int, held: int = 0) -> DeviceShare:
    """Return the share that bears those of all containers.

    ``least_mib`` and ``most_mib`` are the sizes of the cluster's devices, 0 where nobody says them;
    ``held`` is how many devices a running pod has, which says how it was done.
    """
    beside = _largest(_beside(s) for s in steps)
    stacked = _largest(_stacked(s, least_mib) for s in steps)
    fits = stacked.ppm <= WHOLE_PPM and stacked.cores <= 100
    fits = fits and (not most_mib or stacked.mib <= most_mib)
    one = steps[-1][0]
    wide = one.mode == "mig" or not fits or (held == beside.devices != stacked.devices)
    chosen = beside if wide else stacked
    return replace(
        one,
        devices=chosen.devices,
        per_card=_per_card(steps, one),
        memory_mib=chosen.mib,
        memory_ppm=chosen.ppm,
        cores_percent=chosen.cores,
    )


def _per_card(steps: Steps, one: DeviceShare) -> int:
    """Return how many devices of a card all containers may have, each of them one.

    Where they ask for unequal numbers, one: so that each surely finds cards of its own.
    """
    if not one.per_card:
        return 0
    equal = len(steps) == 1 and len({s.devices for s in steps[0]}) == 1
    return len(steps[0]) if equal else 1


def _beside(step: Sequence[DeviceShare]) -> _Part:
    return _Part(
        sum(s.devices for s in step),
        max(s.memory_mib for s in step),
        max(s.memory_ppm for s in step),
        max(s.cores_percent for s in step),
    )


def _stacked(step: Sequence[DeviceShare], least_mib: int) -> _Part:
    mib, ppm = sum(s.memory_mib for s in step), sum(s.memory_ppm for s in step)
    if mib and ppm:
        # Of a larger device the same MiB are a smaller part, so that none gets too little.
        mib, ppm = 0, ppm + (-(-mib * WHOLE_PPM // least_mib) if least_mib else WHOLE_PPM)
    widest, cores = max(s.devices for s in step), sum(s.cores_percent for s in step)
    return _Part(widest, mib, ppm, cores)


def _largest(parts: Iterable[_Part]) -> _Part:
    return _Part(*map(max, zip(*parts, strict=True)))


def ask_of_several(steps: Sequence[Sequence[object]]) -> bool:
    """Say whether more than one container asks for a share."""
    return sum(map(len, steps)) > 1
