"""``apportion status``: how the live scheduler is doing."""

import json
from collections.abc import Iterable
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .options import Context, Kubeconfig, LeaseNamed, LeaseNamespace, SchedulerNames

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

    from ..live.status import Leader, Status

EXAMPLES = """
\b
Examples:
  apportion status
  apportion status --kubeconfig admin.conf --output json
"""


class Output(StrEnum):
    """What the status is printed as."""

    TABLE = "table"
    JSON = "json"


def status(
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    scheduler_name: SchedulerNames = None,
    lease_namespace: LeaseNamespace = "apportion-system",
    lease_name: LeaseNamed = "apportion",
    output: Annotated[
        Output, typer.Option("--output", "-o", help="A page to read, or the same as data.")
    ] = Output.TABLE,
) -> int:
    """Show how the live scheduler is doing.

    Who leads, what the last cycle did, the queues, and the pods that wait, with the reason that
    they were told. Reads the cluster only: Lease, Queues and pods.
    """
    import asyncio
    import dataclasses
    import sys
    import time

    from ...models import InputError
    from ..inputs import DEFAULT_NAMES
    from ..live.access import LostError, RefusedError, opened
    from ..live.lease import LeaseName
    from ..live.status import status_of

    lease = LeaseName(lease_namespace, lease_name, "")

    async def ask() -> "Status":
        async with opened(kubeconfig, context) as access:
            return await status_of(access, lease, tuple(scheduler_name or DEFAULT_NAMES))

    try:
        found = asyncio.run(ask())
    except (LostError, RefusedError) as e:
        raise InputError(f"the cluster could not be asked: {e}") from e
    if output is Output.JSON:
        sys.stdout.write(json.dumps(dataclasses.asdict(found), indent=2) + "\n")
        return 0
    show(found, int(time.time()))
    return 0


def show(found: "Status", now_s: int) -> None:
    """Print the page; ``now_s``: seconds since 1970."""
    from .terminal import print_all

    print_all(_page(found, now_s))


def _page(found: "Status", now_s: int) -> Iterable["Table | Text"]:
    from rich.text import Text

    from .page import grid, title
    from .telling import resource_rank
    from .words import count, plain, resource

    yield from _leader(found.leader, now_s)
    if found.queues:
        yield title("Queues")
        table = grid(30, 8, 12, 12, None)
        for q in found.queues:
            has = ", ".join(
                f"{resource(r)} {_amount(q.allocated[r], r)}"
                for r in sorted(q.allocated, key=resource_rank)
            )
            table.add_row(
                "", plain(q.name), q.state, f"{q.running} run", f"{q.waiting} wait",
                Text(has or "–"),
            )  # fmt: skip
        yield table
    waiting = sum(len(w.pods) for w in found.waiting)
    yield title("Pods", f"{found.running:,} run, {waiting:,} wait")
    table = grid(40, 10, None)
    for w in found.waiting:
        who = f"{w.namespace}/{w.pods[0]}"
        more = f" and {count(len(w.pods) - 1, 'other')}" if len(w.pods) > 1 else ""
        since = "" if w.since_s is None else _ago(now_s - w.since_s)
        said = w.message or w.reason or "nothing has been said of it yet"
        table.add_row("", Text(plain(who + more)), since, Text(plain(said)))
    if found.waiting:
        yield table


def _amount(text: str, name: str) -> str:
    """Return an amount as other pages have it; whoever wrote the status may have erred."""
    from ...models.quantity import parse
    from .words import plain, short

    try:
        return short(parse(text, name), name)
    except ValueError:
        return plain(text)


def _leader(leader: "Leader | None", now_s: int) -> Iterable["Text"]:
    from rich.text import Text

    from .words import count, percent, plain

    if leader is None:
        yield Text("Nobody schedules: there is no Lease; is it installed, and where?")
        return
    holder = plain(leader.holder) or "nobody: the Lease was handed back"
    renewed = "never" if leader.renewed_s is None else f"{_ago(now_s - leader.renewed_s)} ago"
    yield Text(f"Leader      {holder}, renewed {renewed}, {count(leader.changes, 'change')} so far")
    c: dict[str, Any] = leader.cycle
    if not c:
        yield Text("Last cycle  none yet")
        return
    gap = c.get("gap")
    how = f"{c.get('engine')}, {c.get('status')}" + ("" if gap is None else f", gap {percent(gap)}")
    held = count(int(c.get("held", 0)), "group")
    ended = _ago(now_s - int(c.get("endedS", now_s)))
    yield Text(
        f"Last cycle  number {c.get('number'):,}, {ended} ago, in {c.get('seconds')} s: "
        f"{c.get('bound')} bound, {c.get('evicted')} evicted, {held} held ({how})"
    )


def _ago(seconds: int) -> str:
    for unit, size in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds // size} {unit}"
    return f"{max(0, seconds)} s"
