"""``apportion snapshot``: a cluster as one file, masked on request."""

import dataclasses
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from .options import QueuesFromOption, SchedulerNames, TopologyLabels, asked, chosen
from .source import DEFAULT, Source
from .words import count, plain
from .world import of_a_world

if TYPE_CHECKING:
    from ...models import Snapshot

EXAMPLES = """
\b
Examples:
  apportion snapshot > seen.json.gz
  apportion snapshot --kubeconfig admin.conf --out seen.json.gz
  apportion snapshot -f examples/small --mask --mask-key /tmp/key.json --out /tmp/masked.json.gz
"""


@of_a_world
def snapshot(
    source: Source,
    cycles: Annotated[
        str | None,
        typer.Option("--cycles", metavar="DIR", help="Recorded cycles instead; goes with --mask."),
    ] = None,
    out: Annotated[
        str | None,
        typer.Option(
            "--out",
            metavar="FILE",
            help="Where to (.json, .json.gz; of cycles a folder). [default: standard output]",
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
    """Write a cluster as a snapshot: a live one (the default), a scheduler's view, or files.

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
    if cycles is not None:
        _mask_cycles(source, cycles, out, mask, mask_key)
        return 0
    if not source.is_named:
        source = dataclasses.replace(source, kubeconfig=DEFAULT)
    source.checked("")
    picked = chosen(None, None, None, False, topology_labels)
    reading = asked(scheduler_name, queues_from, None, picked)
    if out is None and sys.stdout.isatty():
        raise InputError("the snapshot is no text for a terminal: pass --out FILE, or redirect it")
    with progress(f"reading {source.said}"):
        seen = source.read(reading).snapshot
        data = write(_masked(seen, mask_key) if mask else seen)
    if out is not None:
        save(out, data)
    else:
        sys.stdout.buffer.write(gzip.compress(data, 6, mtime=0))
    return 0


def _mask_cycles(
    source: Source, cycles: str, out: str | None, mask: bool, mask_key: str | None
) -> None:
    from ...models import InputError
    from ..masking.cycles import mask_cycles
    from ..masking.key_file import write_key
    from .terminal import progress

    if source.is_named:
        raise InputError(f"--cycles {cycles} stands alone; leave {source.said} out")
    if not mask or out is None:
        raise InputError("--cycles goes with --mask and --out DIR; to look at cycles: replay")
    with progress(f"masking {cycles}"):
        n, key = mask_cycles(cycles, out)
        if mask_key is not None:
            write_key(mask_key, key)
    print(f"{count(n, 'cycle')} in {plain(out)}")


def _masked(seen: "Snapshot", key: str | None) -> "Snapshot":
    from ..masking.key_file import write_key
    from ..masking.mask import Mask

    mask = Mask([seen])
    masked = mask.of(seen)
    if key is not None:
        write_key(key, mask.key_of_all)
    return masked
