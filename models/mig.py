"""How GPUs can be cut into MIG slices: profiles and where on the device they may start.

Source: NVIDIA Multi-Instance GPU User Guide, "Supported MIG Profiles", and what ``nvidia-smi mig
-lgipp`` lists: starts and sizes are in memory slices (eight, of an A30 four); compute slices are
seven (four). A profile of the same size with media extensions (+me) exists once on a device.
"""

import re
from functools import cache

from msgspec.structs import replace

from .value import Value

PREFIX = "nvidia.com/mig-"


class Profile(Value, frozen=True, order=True):
    """A kind of slice: its compute slices, memory slices, and where it may start."""

    name: str
    compute: int
    memory: int
    starts: tuple[int, ...]
    once: bool = False


class Model(Value, frozen=True):
    """A kind of GPU that can be cut."""

    name: str
    words: tuple[str, ...]
    """Words of the product's name, all of them."""
    compute: int
    profiles: tuple[Profile, ...]
    not_words: tuple[str, ...] = ()
    """Words of other products of this name."""


def _seven(name: str, words: tuple[str, ...], one: int, two: int, four: int, all_: int) -> Model:
    """Return a model of seven compute and eight memory slices; memory in GB as in the names."""
    single = tuple(range(7))
    return Model(
        name,
        words,
        7,
        (
            Profile(f"1g.{one}gb", 1, 1, single),
            Profile(f"1g.{one}gb.me", 1, 1, single, once=True),
            Profile(f"1g.{two}gb", 1, 2, (0, 2, 4, 6)),
            Profile(f"2g.{two}gb", 2, 2, (0, 2, 4)),
            Profile(f"3g.{four}gb", 3, 4, (0, 4)),
            Profile(f"4g.{four}gb", 4, 4, (0,)),
            Profile(f"7g.{all_}gb", 7, 8, (0,)),
        ),
    )


MODELS = (
    _seven("A100 40GB", ("a100", "40gb"), 5, 10, 20, 40),
    _seven("A100 80GB", ("a100", "80gb"), 10, 20, 40, 80),
    replace(_seven("H100 80GB", ("h100",), 10, 20, 40, 80), not_words=("nvl", "94gb", "96gb")),
    _seven("H200", ("h200",), 18, 35, 71, 141),
    _seven("B200", ("b200",), 23, 45, 90, 180),
    Model(
        "A30",
        ("a30",),
        4,
        (
            Profile("1g.6gb", 1, 1, (0, 1, 2, 3)),
            Profile("1g.6gb.me", 1, 1, (0, 1, 2, 3), once=True),
            Profile("2g.12gb", 2, 2, (0, 2)),
            Profile("2g.12gb.me", 2, 2, (0, 2), once=True),
            Profile("4g.24gb", 4, 4, (0,)),
        ),
    ),
)

Geometry = tuple[tuple[str, int], ...]
"""Slices of one device: profile and start, by start."""


def model_of(product: str) -> Model | None:
    """Return the model of a product's name, as ``nvidia.com/gpu.product`` writes it."""
    words = frozenset(re.findall(r"[a-z0-9]+", product.lower()))
    return next(
        (m for m in MODELS if words.issuperset(m.words) and words.isdisjoint(m.not_words)), None
    )


@cache
def cuts(model: Model) -> dict[tuple[str, ...], Geometry]:
    """Return every multiset of profiles that one device can be cut into, with one way to do it."""
    out: dict[tuple[str, ...], Geometry] = {(): ()}

    def extend(at: int, used: int, compute: int, chosen: list[tuple[str, int]]) -> None:
        key = tuple(sorted(name for name, _ in chosen))
        out.setdefault(key, tuple(sorted(chosen, key=lambda s: s[1])))
        for k in range(at, len(model.profiles)):
            p = model.profiles[k]
            if compute + p.compute > model.compute:
                continue
            if p.once and any(name.endswith(".me") for name, _ in chosen):
                continue
            # Of one profile later slices start later, so that each set is met once.
            after = max((s for name, s in chosen if name == p.name), default=-1)
            for start in p.starts:
                mask = ((1 << p.memory) - 1) << start
                if start > after and not used & mask:
                    extend(k, used | mask, compute + p.compute, [*chosen, (p.name, start)])

    extend(0, 0, 0, [])
    return out


def cut(model: Model, wanted: tuple[str, ...], devices: int) -> tuple[Geometry, ...] | None:
    """Return how to cut so many devices for these profiles, as few as can be; None: not at all."""
    possible = cuts(model)
    failed: set[tuple[tuple[str, ...], int]] = set()

    def cover(left: tuple[str, ...], n: int) -> tuple[Geometry, ...] | None:
        if not left:
            return ()
        if n == 0 or (left, n) in failed:
            return None
        for some in _parts(left, possible):
            rest = list(left)
            for name in some:
                rest.remove(name)
            found = cover(tuple(rest), n - 1)
            if found is not None:
                return (possible[some], *found)
        failed.add((left, n))
        return None

    for n in range(devices + 1):
        found = cover(tuple(sorted(wanted)), n)
        if found is not None:
            return found
    return None


def _parts(
    left: tuple[str, ...], possible: dict[tuple[str, ...], Geometry]
) -> list[tuple[str, ...]]:
    """Return the cuts that serve the first profile that is left and no other, large first."""
    counts = {name: left.count(name) for name in left}
    out = [
        some
        for some in possible
        if left[0] in some and all(some.count(name) <= counts.get(name, 0) for name in some)
    ]
    return sorted(out, key=lambda some: (-len(some), some))


def even_cuts(model: Model) -> tuple[tuple[str, ...], ...]:
    """Return the geometries that vGPU plug-ins cut a device into, as they list them by default.

    Small slices only; twos with one small one beside them; halves; the whole device. Source: the
    list of known geometries in the device configuration of HAMi and Volcano's vGPU plug-in.
    """
    plain = [p for p in model.profiles if not p.once]
    one = next(p for p in plain if p.compute == 1 and p.memory == 1)
    two = next(p for p in plain if p.compute == 2)
    whole = plain[-1]
    half = next((p for p in plain if 2 * p.memory == whole.memory and p is not two), None)
    beside = 1 if model.compute % 2 else 0
    out = [
        (one.name,) * model.compute,
        (*(two.name,) * (model.compute // 2), *(one.name,) * beside),
    ]
    if half is not None:
        out.append((half.name,) * 2)
    return (*out, (whole.name,))
