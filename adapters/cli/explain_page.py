"""The page of an explanation: the verdict, the conflict or the rivals, and the changes."""

from collections.abc import Iterable, Sequence
from itertools import groupby

from rich.table import Table
from rich.text import Text

from ...models.quantity import show as amount_of
from ..ask.change import Change
from ..ask.conflict_words import Member
from ..ask.explain import Explanation
from ..ask.rivals import Order
from .name import Name
from .page import MOST_ROWS, grid, more, title
from .terminal import print_all
from .verdict import has_room, no_change_says, verdict_of
from .words import count, plain

_KINDS = {
    "queue": "more of its queue", "level": "a wider level", "toleration": "a toleration",
    "selector": "one wish less", "cordon": "a node back", "members": "fewer members",
    "nodes": "more nodes", "wait": "others end", "victims": "other groups gone",
    "priority": "a higher priority", "due": "a higher due",
}  # fmt: skip


def show(found: Explanation, *, tried: bool = True) -> None:
    """Print the page; ``tried``: whether changes were."""
    print_all(_parts(found, tried))


def _parts(found: Explanation, tried: bool) -> Iterable[Table | Text]:
    name = Text.assemble((plain(found.group), "bold"), f"  queue {plain(found.queue)}")
    yield name
    yield Text(f"waits: {verdict_of(found)}" if found.held_by else verdict_of(found))
    yield from _conflict(found)
    if found.order is not None:
        yield from _order(found.order)
    if not found.conflict:
        yield from _reasons(found)
    yield from _changes(found.changes)
    if said := no_change_says(found, tried=tried):
        yield title("Would start it")
        yield Text(f"  {said}")
    if found.left_out:
        kinds = ", ".join(_KINDS[k] for k in found.left_out)
        yield Text(
            f"Not tried, or not to the end, as time or trials were over: {kinds}.", style="dim"
        )


def _conflict(found: Explanation) -> Iterable[Table | Text]:
    if not found.conflict:
        return
    if found.held_by == "hold":
        note = ""
    elif found.minimal:
        note = "without any one of them the others can hold"
    else:
        note = "not proven smallest"
    yield title("Cannot hold together" if found.held_by == "rules" else "Held by", note)
    table = grid(18, None, None)
    # Equal sentences of one rule are told once, with all that they are about.
    ordered = sorted(found.conflict, key=lambda m: found.conflict.index(_first(found, m)))
    rows = [(k, list(ms)) for k, ms in groupby(ordered, key=lambda m: (m.rule, m.message))]
    for (rule, message), ms in rows[:MOST_ROWS]:
        about = ", ".join(plain(_about(m)) for m in ms[:4])
        rest = f" and {len(ms) - 4} more" if len(ms) > 4 else ""
        said = Text(plain(message))
        for h in ms[0].holders:
            said.append(
                f"\nheld by {plain(h.name)}: {amount_of(h.amount, ms[0].resource)}", style="dim"
            )
        table.add_row("", Text(plain(rule), style="yellow"), Text(about + rest), said)
    yield table
    yield from more(rows)


def _first(found: Explanation, m: Member) -> Member:
    same = (m.rule, m.message)
    return next(x for x in found.conflict if (x.rule, x.message) == same)


def _about(m: Member) -> str:
    """Say what it is about, without the resource that the sentence names."""
    return m.about.removesuffix(f" {m.resource}") if m.resource else m.about


def _order(order: Order) -> Iterable[Table | Text]:
    tier = {
        "repair": "repairs a broken gang", "entitled": "inside what its queue is entitled to",
        "surplus": "beyond what its queue is entitled to",
    }[order.tier]  # fmt: skip
    yield Text(f"Its work is {tier}." if order.tier != "repair" else f"It {tier}.")
    heading = "Stands before it" if order.rivals or order.room else "No exchange"
    yield title(heading, "" if order.complete else "the search was cut short")
    if not order.rivals:
        table = grid(None)
        table.add_row("", Text(plain(order.says)))
        yield table
        return
    table = grid(48, 22, None)
    for r in order.rivals[:MOST_ROWS]:
        table.add_row(
            "", Name(plain(r.group), style="yellow"), f"{r.way}, {count(r.pods, 'pod')}",
            Text(plain(r.why)),
        )  # fmt: skip
    yield table
    yield from more(order.rivals)


def _reasons(found: Explanation) -> Iterable[Table | Text]:
    """Print what the plan says; that others come first is said by naming them, if there are any."""
    rivals = found.order is not None and found.order.rivals
    told = [r for r in found.reasons if not ((rivals or has_room(found)) and r.rule == "order")]
    if not told:
        return
    yield title("Missing while they are there" if rivals else "Why")
    table = grid(18, None)
    for r in told:
        table.add_row("", Text(plain(r.rule), style="yellow"), Text(plain(r.message)))
    yield table


def _changes(changes: Sequence[Change]) -> Iterable[Table | Text]:
    if not changes:
        return
    yield title("Would start it", "each was planned; any one of these suffices")
    table = grid(20, None, None)
    for c in changes[:MOST_ROWS]:
        soon = "then" if c.kind == "wait" else "now"
        when = soon if c.starts else "once others have left"
        notes = [when]
        if c.evicts:
            notes.append(f"that plan evicts {count(c.evicts, 'pod')}")
        if not c.smallest:
            notes.append("less might do")
        table.add_row(
            "", Text(_KINDS.get(c.kind, c.kind), style="green"), Text(plain(c.says)),
            Text("; ".join(notes), style="dim"),
        )  # fmt: skip
    yield table
    yield from more(changes)
