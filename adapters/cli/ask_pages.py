"""The pages of ``capacity`` and ``drain``."""

from collections.abc import Iterable

from rich.table import Table
from rich.text import Text

from ..ask.capacity import Capacity, Fit
from ..ask.drain import Draining, Emptied
from .name import Name
from .page import MOST_ROWS, grid, more, title
from .terminal import print_all
from .words import count, plain


def show_capacity(found: Capacity) -> None:
    """Print how many more copies fit."""
    print_all(_capacity(found))


def _capacity(found: Capacity) -> Iterable[Table | Text]:
    yield Text.assemble((plain(found.group), "bold"), f"  {_fit(found.now)} would start now")
    if not found.added:
        return
    yield title("With nodes added", "copies in all")
    table = grid(48, None)
    for a in found.added:
        nodes = f"{count(a.nodes, 'node')} like {plain(a.like)}"
        gain = a.fit.copies - found.now.copies
        each = f"{gain / a.nodes:.2f} more for each node" if gain else "as many as now"
        table.add_row("", nodes, Text(f"{_fit(a.fit)}, {each}"))
    yield table


def _fit(fit: Fit) -> str:
    n = "1 more copy" if fit.copies == 1 else f"{fit.copies:,} more copies"
    if not fit.copies and not fit.exact:
        return f"{n} as far as was planned"
    return n if fit.exact else f"at least {n}"


def show_draining(found: Draining) -> None:
    """Print which nodes can be emptied, in order, and what keeps the others."""
    print_all(_draining(found))


def _draining(found: Draining) -> Iterable[Table | Text]:
    if found.emptied:
        yield title("Can be emptied", "in this order")
        table = grid(4, 48, None)
        for n, e in enumerate(found.emptied[:MOST_ROWS], 1):
            style = "yellow" if e.waits else "green"
            table.add_row("", f"{n}.", Name(plain(e.node), style=style), Text(_becomes(e)))
        yield table
        yield from more(found.emptied)
    if found.kept:
        yield title("Cannot be emptied now")
        table = grid(48, 40, None)
        for k in found.kept[:MOST_ROWS]:
            for b in k.blockers[:4]:
                table.add_row(
                    "", Name(plain(k.node), style="red"), plain(b.pod), Text(plain(b.why))
                )
            if len(k.blockers) > 4:
                table.add_row("", "", f"and {len(k.blockers) - 4} more", "")
        yield table
        yield from more(found.kept)


def _becomes(e: Emptied) -> str:
    if not e.pods:
        return "none of our pods runs there"
    parts = []
    if e.moves:
        parts.append(f"{e.moves} start elsewhere at once")
    if e.promised:
        parts.append(f"{e.promised} start once others have left")
    if e.waits:
        names = ", ".join(plain(p) for p in e.waits[:4])
        rest = f" and {len(e.waits) - 4} more" if len(e.waits) > 4 else ""
        parts.append(f"these would run no more, here or elsewhere: {names}{rest}")
    return f"{count(e.pods, 'pod')} to stop: {'; '.join(parts)}"
