"""The page of a what-if: the edits, then who and what stands differently."""

from collections.abc import Iterable, Sequence

from rich.table import Table
from rich.text import Text

from ...models import GroupKey
from ..ask.difference import Difference, GroupChange, GroupState
from ..ask.whatif import WhatIf
from .name import Name
from .page import MOST_ROWS, grid, more, title, told
from .telling import resource_rank
from .terminal import print_all
from .words import count, percent, plain, resource, short


def show(answer: WhatIf) -> None:
    """Print the page."""
    print_all(_parts(answer))


def _parts(answer: WhatIf) -> Iterable[Table | Text]:
    edits = [*map(str, answer.edits), *(f"set {s}" for s in answer.settings)]
    for word, said in zip(["What if", *[""] * len(edits)], edits, strict=False):
        yield Text.assemble((f"{word:<9}", "bold"), plain(said))
    d = answer.difference
    if d.is_none:
        yield Text("\nNothing would be different.")
    by_key = {c.group: c for c in d.groups}
    yield from _groups("Start or run more", d.starts_more, by_key, "green")
    yield from _groups("Start or run less", d.starts_less, by_key, "red")
    named = {*d.starts_more, *d.starts_less}
    others = [c.group for c in d.groups if c.group not in named]
    yield from _groups("Stand differently", others, by_key, "yellow")
    yield from _displaced(d)
    yield from _names("Wait less", d.waits_less, "green")
    yield from _names("Wait more", d.waits_more, "red")
    yield from _queues(d)
    yield from _use(d)
    yield from _footer(answer)


def _groups(
    heading: str, keys: Sequence[GroupKey], by_key: dict[GroupKey, GroupChange], style: str
) -> Iterable[Table | Text]:
    if not keys:
        return
    yield title(heading, count(len(keys), "group"))
    table = grid(48, None)
    for key in keys[:MOST_ROWS]:
        c = by_key[key]
        said = Text(f"{_state(c.before)} → {_state(c.after)}")
        table.add_row("", Name(plain(key), style=style), Text("\n").join([said, *told(c.why)]))
    yield table
    yield from more(keys)


def _state(s: GroupState) -> str:
    if s.state == "absent" and not s.has:
        return "not there" if not s.waiting else "waits"
    parts = [
        f"{n:,} {word}"
        for n, word in (
            (s.running, "running"), (s.starting, "starting"),
            (s.promised, "promised"), (s.waiting, "waiting"),
        )
        if n
    ]  # fmt: skip
    return ", ".join(parts) or "nothing"


def _displaced(d: Difference) -> Iterable[Table | Text]:
    if not d.displaced:
        return
    pods = sum(len(c.displaced) for c in d.groups)
    yield title("Displaced", f"{count(pods, 'pod')} that would have a place, and have none")
    table = grid(48, 9, None)
    for c in [c for c in d.groups if c.displaced][:MOST_ROWS]:
        names = ", ".join(plain(p.rsplit("/", 1)[-1]) for p in c.displaced[:6])
        rest = f" and {len(c.displaced) - 6} more" if len(c.displaced) > 6 else ""
        table.add_row(
            "", Name(plain(c.group), style="red"), count(len(c.displaced), "pod"),
            Text(names + rest),
        )  # fmt: skip
    yield table
    yield from more(d.displaced)


def _names(heading: str, keys: Sequence[GroupKey], style: str) -> Iterable[Table | Text]:
    if not keys:
        return
    yield title(heading, count(len(keys), "group"))
    table = grid(None)
    table.add_row("", Text(", ".join(plain(k) for k in keys[:MOST_ROWS]), style=style))
    yield table
    yield from more(keys)


def _queues(d: Difference) -> Iterable[Table | Text]:
    if not d.queues:
        return
    yield title("Queues", "used, and the dominant share")
    table = grid(32, None, None)
    for q in d.queues[:MOST_ROWS]:
        names = sorted({*q.used_before, *q.used_after} - {"pods"}, key=resource_rank)
        used = (
            f"{resource(r)} {_pair(q.used_before.get(r, 0), q.used_after.get(r, 0), r)}"
            for r in names
        )
        table.add_row(
            "", Name(plain(q.queue)),
            Text(", ".join(used) or "–"),
            Text(f"{percent(q.share_before)} → {percent(q.share_after)}"),
        )  # fmt: skip
    yield table
    yield from more(d.queues)


def _use(d: Difference) -> Iterable[Table | Text]:
    rows = [u for u in d.use if u.resource != "pods"]
    if not rows:
        return
    yield title("Use", "of nodes that take pods, and how what is idle lies")
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("", width=0)
    for heading in ("resource", "used", "of", "largest hole", "idle on idle nodes"):
        table.add_column(heading, overflow="fold")
    for u in rows:
        pairs = (
            (u.used_before, u.used_after), (u.capacity_before, u.capacity_after),
            (u.hole_before, u.hole_after), (u.whole_before, u.whole_after),
        )  # fmt: skip
        cells = [_pair(a, b, u.resource) for a, b in pairs]
        table.add_row("", resource(u.resource), *cells)
    yield table


def _pair(before: int, after: int, name: str) -> str:
    if before == after:
        return short(before, name)
    return f"{short(before, name)} → {short(after, name)}"


def _footer(answer: WhatIf) -> Iterable[Text]:
    for word, (_, made) in (("as it is", answer.base), ("changed", answer.changed)):
        proven = "order list proven" if made.solver.order_proven else "order list not proven"
        yield Text(
            f"\n{word}: {made.solver.engine} · {made.solver.status} · {proven} · "
            f"seed {made.solver.seed}",
            style="dim",
        )
