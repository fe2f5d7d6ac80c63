"""However the objects change, the mirror's snapshot is that of a fresh reading."""

import json
from typing import Any

import msgspec
import pytest

from apportion.adapters.files import Document
from apportion.adapters.kubernetes import ReadOptions, snapshot_from
from apportion.adapters.live.mirror import SOURCE, Mirror
from apportion.models import Snapshot
from apportion.models.snapshot import write

from .changing import Changing

OPTIONS = ReadOptions(topology_labels=("rack",))
KUEUE = ReadOptions(queues_from="kueue")
KINDS_OF_SHARES: tuple[dict[str, Any], ...] = (
    {"shares": 0.0},
    {"shares": 0.2},
    {"shares": 0.3, "mig": True},
    {"shares": 0.5, "grouped": False},
)
START_S = 1767614400


def follow(
    world: Changing, steps: int, moves: bool = True, options: ReadOptions = OPTIONS
) -> Mirror:
    """Change the world step by step, and compare after each."""
    mirror = Mirror(options)
    for i, changes in enumerate(world.steps(steps)):
        for kind, namespace, name, one in changes:
            if one is None:
                mirror.remove(kind, namespace, name)
            else:
                mirror.put(kind, json.dumps(one).encode())
        now_s = START_S + (97 * i if moves else 5000)
        same(mirror.snapshot(now_s), mirror.fresh(now_s), f"step {i}: {changes}")
    return mirror


def same(got: Snapshot, want: Snapshot, about: str) -> None:
    if write(got) == write(want):
        assert got == want, about
        return
    for field in want.__struct_fields__:
        one, other = getattr(got, field), getattr(want, field)
        if one == other or not isinstance(one, tuple):
            assert one == other, f"{field}; {about}"
            continue
        diff = {"only mirrored": [x for x in one if x not in other],
                "only read anew": [x for x in other if x not in one]}  # fmt: skip
        raise AssertionError(f"{field}: {diff}; {about}")
    raise AssertionError(about)


@pytest.mark.parametrize("seed", range(12))
def test_what_changes_at_random_is_as_if_read_anew(seed: int) -> None:
    follow(Changing(seed, **KINDS_OF_SHARES[seed % 4]), 40, moves=seed % 3 == 0)


def test_with_queues_of_kueue_it_is_so_too() -> None:
    follow(Changing(77, 0.1, kueue=True), 60, options=KUEUE)


def test_the_snapshot_is_that_of_the_documents() -> None:
    world = Changing(99, 0.2)
    mirror = follow(world, 30)

    order = {kind: i for i, kind in enumerate(mirror.readable)}
    sorted_there = sorted(world.there.items(), key=lambda kv: (order[kv[0][0]], *kv[0][1:]))
    raws = [msgspec.Raw(json.dumps(one).encode()) for _, one in sorted_there]
    documents = [Document(SOURCE, i, raw=raw) for i, raw in enumerate(raws)]
    got = mirror.snapshot(START_S)
    want = snapshot_from(documents, ReadOptions(
        topology_labels=("rack",), live=True, now_s=got.taken_at_s
    ))  # fmt: skip

    same(got, want, "the documents read anew")


def test_nothing_that_is_kept_is_made_anew() -> None:
    mirror = follow(Changing(7, 0.1), 40)
    before, after = mirror.snapshot(START_S), mirror.snapshot(START_S + 1)

    dated: Any = {p.key for p in before.pods if p.created_s < before.taken_at_s}
    kept = [a is b for a, b in zip(before.pods, after.pods, strict=True) if a.key in dated]
    assert len(kept) > 3
    assert all(kept)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1000, 1040))
def test_what_changes_at_random_is_as_if_read_anew_at_length(seed: int) -> None:
    at_length(seed)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(2000, 3000))
def test_what_changes_at_random_is_as_if_read_anew_a_thousand_times(seed: int) -> None:
    at_length(seed)


def at_length(seed: int) -> None:
    kueue = seed % 5 == 0
    options = KUEUE if kueue else OPTIONS
    world = Changing(seed, **KINDS_OF_SHARES[seed % 4], kueue=kueue)
    follow(world, 60, moves=seed % 3 == 0, options=options)
