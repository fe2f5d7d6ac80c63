"""The numbers of the page: what queues have and are due, and how good the plan is."""

from collections.abc import Iterable, Sequence

from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from ...models import Plan, QueueRow, TierRow
from .name import Name
from .telling import matters, resource_rank, telling_rows
from .words import amounts, count, number, percent, plain

BAR = 10
MOST_QUEUES = 60


def bar(part: float) -> str:
    """Return a bar of ten for a part of one."""
    full = max(0, min(BAR, round(part * BAR)))
    return "█" * full + "░" * (BAR - full)


def queue_table(rows: Sequence[QueueRow]) -> Iterable[Table | Text]:
    """Yield the queues as a tree: use, due, entitlement, dominant share."""
    shown = telling_rows(rows)
    if not shown:
        return
    from .page import title

    yield title("Queues", "after the plan")
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("", width=0)
    table.add_column("queue", overflow="fold")
    for heading in ("used", "due", "entitled to"):
        table.add_column(heading, overflow="fold")
    table.add_column("share", no_wrap=True)
    for depth, row in shown[:MOST_QUEUES]:
        asked = [r for r in row.entitlement if r != "pods"]
        names = sorted({*row.allocated, *row.deserved, *asked} - {"pods"}, key=resource_rank)
        table.add_row(
            "",
            Padding(Name(plain(row.name)), (0, 0, 0, 2 * depth)),
            Text(amounts(row.allocated, names)),
            Text(amounts(row.deserved, names)),
            Text(amounts(row.entitlement, names)),
            Text(f"{bar(row.dominant_share)} {percent(row.dominant_share)}"),
        )
    yield table
    if len(shown) > MOST_QUEUES:
        yield Text(f"  and {len(shown) - MOST_QUEUES:,} more; --output json has all", style="dim")


def objective_table(plan: Plan) -> Iterable[Table | Text]:
    """Yield the tiers that say something: value, bound and gap."""
    rows = [t for t in plan.objective if matters(t)]
    if not rows:
        return
    from .page import title

    left = len(plan.objective) - len(rows)
    yield title("Objective", f"{count(left, 'tier')} at 0 left out" if left else "")
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("", width=0)
    table.add_column("tier", overflow="fold")
    for heading in ("value", "bound", "gap"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("", overflow="fold")
    for t in rows:
        goal = "as much as can be" if t.sense == "max" else "as little as can be"
        proven = t.value == t.bound
        how = Text(_how_good(t), style="green" if proven else "yellow")
        table.add_row(
            "",
            plain(t.name),
            number(t.value),
            "–" if t.bound is None else number(t.bound),
            "–" if t.gap is None else percent(t.gap),
            Text.assemble(how, (f"  {plain(t.unit)}, {goal}", "dim")),
        )
    yield table


def _how_good(t: TierRow) -> str:
    """Say how far the value is from the best at most."""
    if t.bound is None or t.gap is None:
        return "bound unknown"
    if t.value == t.bound:
        return "proven"
    return f"within {percent(t.gap)}" if t.sense == "max" else "not proven"
