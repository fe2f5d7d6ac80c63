"""``apportion snapshot``: a cluster as one file."""

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from .options import (
    Context,
    Kubeconfig,
    QueuesFromOption,
    SchedulerNames,
    TopologyLabels,
    asked,
    chosen,
)
from .world import From

if TYPE_CHECKING:
    from ...models import Snapshot
    from ..inputs import Asked

EXAMPLES = """
\b
Examples:
  apportion snapshot > seen.json.gz
  apportion snapshot --kubeconfig admin.conf --out seen.json.gz
  apportion snapshot -f examples/small --mask --mask-key /tmp/key.json --out /tmp/masked.json.gz
"""


def snapshot(
    files: From = None,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    out: Annotated[
        str | None,
        typer.Option(
            "--out", metavar="FILE", help="Where to (.json, .json.gz). [default: standard output]"
        ),
    ] = None,
    mask: Annotated[
        bool, typer.Option("--mask", help="Replace names, labels and sentences by pseudonyms.")
    ] = False,
    mask_key: Annotated[
        str | None,
        typer.Option(
            "--mask-key", metavar="FILE", help="Write what each pseudonym stands for, for unmask."
        ),
    ] = None,
    scheduler_name: SchedulerNames = None,
    queues_from: QueuesFromOption = None,
    topology_labels: TopologyLabels = None,
) -> int:
    """Write a cluster as a snapshot: a live one, read once, or one from files.

    What apportion plan, check and others take as FILE. Needs the rights to list and watch only.
    With --mask nothing in it tells whose it is, and with --deterministic the plan is the same.
    """
    import gzip

    from ...models import InputError
    from ...models.snapshot import write
    from ..plan_file import save
    from .terminal import progress

    if mask_key is not None and not mask:
        raise InputError("--mask-key is the key of a mask; add --mask")
    if files and (kubeconfig is not None or context is not None):
        raise InputError("-f and --kubeconfig are two clusters; leave one of them out")
    picked = chosen(None, None, None, False, topology_labels)
    reading = asked(scheduler_name, queues_from, None, picked)
    if out is None and sys.stdout.isatty():
        raise InputError("the snapshot is no text for a terminal: pass --out FILE, or redirect it")
    with progress("reading the cluster"):
        seen = _seen(files or (), kubeconfig, context, reading)
        data = write(_masked(seen, mask_key) if mask else seen)
    if out is not None:
        save(out, data)
    else:
        sys.stdout.buffer.write(gzip.compress(data, 6, mtime=0))
    return 0


def _seen(
    files: Sequence[str], kubeconfig: str | None, context: str | None, reading: "Asked"
) -> "Snapshot":
    from ..inputs import read_case, read_options

    if files:
        return read_case(files, reading, sys.stdin).snapshot
    import asyncio
    import time

    from ..live.reading import mirror_of

    mirror = asyncio.run(mirror_of(kubeconfig, context, read_options(reading)))
    return mirror.snapshot(int(time.time()))


def _masked(seen: "Snapshot", key: str | None) -> "Snapshot":
    from ..masking.key_file import write_key
    from ..masking.mask import Mask

    mask = Mask([seen])
    masked = mask.of(seen)
    if key is not None:
        write_key(key, mask.key_of_all, masked.digest)
    return masked
