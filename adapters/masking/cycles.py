"""Masking a folder of recorded cycles: one mask for all of them, and settings and plans with it."""

from collections.abc import Iterator
from pathlib import Path

from ...models import InputError, Plan, Snapshot
from ..recording import files_of, keep, recorded
from .mask import Mask, MaskKey


def mask_cycles(source: str, target: str) -> tuple[int, MaskKey]:
    """Write the cycles of a folder, or of one file, masked into another folder, by their numbers.

    Return how many, and the key. They are read twice, so that only one is in memory at a time.

    Raises
    ------
    InputError
        If there are none, one cannot be read or is masked already, or the other folder has cycles
        or cannot be written to.
    """
    folder = Path(target)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if files_of(folder):
            raise InputError(f"{target}: has cycles in it; name another folder")
        mask = Mask(_seen(source))
        n = 0
        for one in recorded(source):
            snapshot, config = mask.of(one.snapshot), mask.of_settings(one.config)
            keep(folder, one.number, snapshot, config, mask.of_plan(one.plan, snapshot, config))
            n += 1
    except OSError as e:
        raise InputError(f"{target}: cannot be written: {e.strerror or e}") from e
    return n, mask.key_of_all


def _seen(source: str) -> Iterator[Snapshot | Plan]:
    for one in recorded(source):
        yield one.snapshot
        yield one.plan
