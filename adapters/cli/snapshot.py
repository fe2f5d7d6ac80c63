"""``apportion snapshot``: a cluster as one file."""

import sys
from typing import Annotated

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

EXAMPLES = """
\b
Examples:
  apportion snapshot > seen.json.gz
  apportion snapshot --kubeconfig admin.conf --out seen.json.gz
"""


def snapshot(
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    out: Annotated[
        str | None,
        typer.Option(
            "--out", metavar="FILE", help="Where to (.json, .json.gz). [default: standard output]"
        ),
    ] = None,
    scheduler_name: SchedulerNames = None,
    queues_from: QueuesFromOption = None,
    topology_labels: TopologyLabels = None,
) -> int:
    """Read a live cluster once, and write it as a snapshot.

    What apportion plan, check and others take as FILE. Needs the rights to list and watch only.
    """
    import asyncio
    import gzip
    import time

    from ...models import InputError
    from ...models.snapshot import write
    from ..inputs import read_options
    from ..live.reading import mirror_of
    from ..plan_file import save
    from .terminal import progress

    picked = chosen(None, None, None, False, topology_labels)
    reading = asked(scheduler_name, queues_from, None, picked)
    if out is None and sys.stdout.isatty():
        raise InputError("the snapshot is no text for a terminal: pass --out FILE, or redirect it")
    with progress("reading the cluster"):
        mirror = asyncio.run(mirror_of(kubeconfig, context, read_options(reading)))
        data = write(mirror.snapshot(int(time.time())))
    if out is not None:
        save(out, data)
    else:
        sys.stdout.buffer.write(gzip.compress(data, 6, mtime=0))
    return 0
