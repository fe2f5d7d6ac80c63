"""A ring of the last cycles on disk: what each saw, with which settings, and what it planned.

One gzipped file a cycle, written beside and then renamed, so that a file is whole or not there. The
same files are read again by ``apportion replay``.
"""

import gzip
import os
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from ..models import Config, InputError, Plan, Snapshot
from ..models import plan as plans
from ..models import snapshot as snapshots
from ..models.value import from_data, to_data, to_json

KIND = "Cycle"
MOST = 100
"""Cycles that are kept where nothing else is said."""
LARGEST_BYTES = 4 << 30
"""What one file may unpack to."""
_NAME = re.compile(r"cycle-(\d{10})\.json\.gz")
_UNFINISHED = ".part"


@dataclass(frozen=True, slots=True)
class Recorded:
    """One cycle, read back."""

    number: int
    snapshot: Snapshot
    config: Config
    plan: Plan
    digest: str | None
    """What the file says that the plan's digest is."""
    source: str


class Recorder:
    """Keeps the last cycles in a folder.

    Raises
    ------
    InputError
        On construction, if the folder cannot be made or written to.
    """

    def __init__(self, folder: str, most: int = MOST) -> None:
        self._folder = Path(folder)
        self._most = most
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            for left in self._folder.glob(f"*{_UNFINISHED}"):
                left.unlink()
        except OSError as e:
            raise InputError(f"--record {folder}: {e.strerror or e}") from e
        if not os.access(self._folder, os.W_OK):
            raise InputError(f"--record {folder}: may not be written to")
        self._next = max((number for number, _ in files_of(self._folder)), default=0) + 1

    def keep(self, snapshot: Snapshot, config: Config, plan: Plan) -> Path:
        """Write a cycle, and take away the oldest beyond the most; return the file.

        Raises
        ------
        OSError
            If it cannot be written.
        """
        path = keep(self._folder, self._next, snapshot, config, plan)
        self._next += 1
        for _, old in files_of(self._folder)[: -self._most]:
            old.unlink(missing_ok=True)
        return path


def keep(folder: Path, number: int, snapshot: Snapshot, config: Config, plan: Plan) -> Path:
    """Write a cycle into a folder; return the file, which is whole or not there.

    Raises
    ------
    OSError
        If it cannot be written.
    """
    body = {
        "apiVersion": snapshots.API_VERSION,
        "kind": KIND,
        "config": to_data(config),
        "plan": plans.to_document(plans.named(plan, snapshot)),
        "snapshot": msgspec.Raw(snapshots.write(snapshot)),
    }
    path = folder / f"cycle-{number:010d}.json.gz"
    part = path.with_name(path.name + _UNFINISHED)
    part.write_bytes(gzip.compress(to_json(body), 3, mtime=0))
    part.replace(path)
    return path


def files_of(folder: Path) -> list[tuple[int, Path]]:
    """Return the cycles of a folder, the oldest first."""
    found = ((m, p) for p in folder.iterdir() if (m := _NAME.fullmatch(p.name)))
    return sorted((int(m[1]), p) for m, p in found)


def recorded(path: str) -> Iterator[Recorded]:
    """Yield the cycles of a folder, the oldest first, or the one of a file.

    Raises
    ------
    InputError
        If there are none, or one cannot be read.
    """
    where = Path(path)
    if where.is_dir():
        files = files_of(where)
    elif where.is_file():
        m = _NAME.fullmatch(where.name)
        files = [(int(m[1]) if m else 0, where)]
    else:
        raise InputError(f"{path}: no such file or folder")
    if not files:
        raise InputError(
            f"{path}: holds no recorded cycles (apportion run --record DIR makes some)"
        )
    for number, file in files:
        yield _read(number, file)


def _read(number: int, file: Path) -> Recorded:
    try:
        with gzip.open(file) as packed:
            data = packed.read(LARGEST_BYTES + 1)
        if len(data) > LARGEST_BYTES:
            raise InputError(f"{file}: unpacks to more than {LARGEST_BYTES >> 30} GiB")
        body = msgspec.json.decode(data, type=dict[str, Any])
        if (body.get("apiVersion"), body.get("kind")) != (snapshots.API_VERSION, KIND):
            raise InputError(f"{file}: is no recorded cycle of this version")
        return Recorded(
            number,
            snapshots.from_document(body["snapshot"]),
            from_data(body["config"], Config),
            plans.from_document(body["plan"]),
            body["plan"].get("digest"),
            str(file),
        )
    except InputError as e:
        raise InputError(str(e) if str(file) in str(e) else f"{file}: {e}") from e
    except (EOFError, zlib.error, gzip.BadGzipFile) as e:
        raise InputError(f"{file}: is damaged, or no recorded cycle; remove it") from e
    except OSError as e:
        raise InputError(f"{file}: cannot be read: {e.strerror or e}") from e
    except (msgspec.MsgspecError, KeyError, TypeError, ValueError, AttributeError) as e:
        raise InputError(f"{file}: is no recorded cycle: {e}") from e
