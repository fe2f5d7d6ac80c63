"""The queue tree: what each queue uses, is due, has borrowed, and may have at most, as bars."""

from collections.abc import Iterator, Sequence

from ...models import UNLIMITED, QueueRow
from ..cli.telling import resource_rank
from ..cli.words import amounts, percent, plain, resource, short
from .ceilings import Ceilings
from .elements import Html, joined, name, tag
from .legend import legend
from .tables import folded, section, table

WIDE, HIGH = 240, 14
LOOKS = (
    ("us", "used"), ("bo", "borrowed: used beyond the due"), ("du", "due"), ("li", "limit"),
)  # fmt: skip
MOST_BARS = 3
"""Resources shown of one queue."""
MOST_QUEUES = 200
DEEPEST = 8
"""Of the steps by which queues are set in."""


def queues_section(rows: Sequence[tuple[int, QueueRow]], ceilings: Ceilings) -> Html:
    """Return the tree; rows come with their depth, each below its parent."""
    shown = rows[:MOST_QUEUES]
    scales = _scales(rows, ceilings)
    items = [
        tag(
            "li",
            tag("span", name(row.name), class_="queue"),
            *(_bar(row, r, ceilings, scales[row.parent, r]) for r in _resources(row, ceilings)),
            class_=f"in{min(depth, DEEPEST)}",
        )
        for depth, row in shown
    ]
    more = len(rows) - len(shown)
    return section(
        "queues", "Queues", "After the plan. Bars of sister queues share one scale.",
        legend(LOOKS),
        tag("ul", *items, class_="queues"),
        tag("p", f"{more:,} more queues are in the table only.", class_="dim") if more else "",
        folded("The same as a table", _table(rows, ceilings)),
    )  # fmt: skip


def borrowed(row: QueueRow) -> dict[str, int]:
    """Return what a queue uses beyond its due, of resources that it is due anything of."""
    over = {r: row.allocated[r] - due for r, due in row.deserved.items() if due < UNLIMITED}
    return {r: v for r, v in over.items() if v > 0}


def _resources(row: QueueRow, ceilings: Ceilings) -> list[str]:
    """Return the resources that say most of a queue: those it is due, then what it uses most of."""

    def weight(r: str) -> tuple[bool, float, str]:
        there = ceilings.capacity.get(r, 0)
        return (row.deserved.get(r, 0) == 0, -(row.allocated[r] / there if there else 0), r)

    names = {r for r in {*row.allocated, *row.deserved} if ceilings.capacity.get(r)}
    telling = [r for r in names if row.deserved.get(r) or ("/" in r and row.allocated[r])]
    return sorted(telling or sorted(names, key=weight)[:1], key=weight)[:MOST_BARS]


def _scales(
    rows: Sequence[tuple[int, QueueRow]], ceilings: Ceilings
) -> dict[tuple[str | None, str], int]:
    """Return what the full width stands for, by parent and resource: the largest amount there."""
    out: dict[tuple[str | None, str], int] = {}
    for _, row in rows:
        for of in (row.allocated, row.deserved, ceilings.limit.get(row.name, {})):
            for r, v in of.items():
                if v < UNLIMITED:
                    out[row.parent, r] = max(v, out.get((row.parent, r), 1))
    return out


def _bar(row: QueueRow, r: str, ceilings: Ceilings, there: int) -> Html:
    used, due = row.allocated[r], row.deserved.get(r)
    limit = ceilings.limit.get(row.name, {}).get(r)
    over = borrowed(row).get(r, 0)
    marks = [tag("rect", x=0, y=2, width=WIDE, height=HIGH - 4, class_="free")]
    marks.append(tag("rect", x=0, y=2, width=_at(used - over, there), height=HIGH - 4, class_="us"))
    if over:
        start = _at(used - over, there)
        wide = _at(used, there) - start
        marks.append(tag("rect", x=start, y=2, width=wide, height=HIGH - 4, class_="bo"))
    if limit is not None and limit < UNLIMITED:
        marks.append(_tick(_at(limit, there), "li"))
    if due is not None and due < UNLIMITED:
        marks.append(_tick(_at(due, there), "du"))
    said = _said(row, r, ceilings)
    picture = tag(
        "svg", tag("title", f"{plain(row.name)}: {said}"), *marks, role="img",
        viewBox=f"-1 0 {WIDE + 2} {HIGH}", class_="bar", preserveAspectRatio="none",
    )  # fmt: skip
    return tag("div", picture, tag("span", said), class_="barline")


def _tick(x: float, look: str) -> Html:
    return tag("rect", x=max(0.0, x - 1), y=0, width=2, height=HIGH, class_=look)


def _at(amount: int, there: int) -> float:
    return WIDE * max(0.0, min(1.0, amount / there))


def _said(row: QueueRow, r: str, ceilings: Ceilings) -> str:
    """Return a bar in words: "gpu: 12 used, due 8, 4 borrowed, limit 16"."""
    parts = [f"{short(row.allocated[r], r)} used"]
    if (due := row.deserved.get(r)) is not None:
        parts.append(f"due {'∞' if due >= UNLIMITED else short(due, r)}")
    if over := borrowed(row).get(r):
        parts.append(f"{short(over, r)} borrowed")
    limit = ceilings.limit.get(row.name, {}).get(r)
    if limit is not None and limit < UNLIMITED:
        parts.append(f"limit {short(limit, r)}")
        if (above := row.allocated[r] - limit) > 0:
            parts.append(f"{short(above, r)} above it")
    return f"{resource(r)}: {', '.join(parts)}"


def _table(rows: Sequence[tuple[int, QueueRow]], ceilings: Ceilings) -> Html:
    lines = [list(_line(depth, row, ceilings)) for depth, row in rows]
    heads = ("queue", "parent", "used", "due", "borrowed", "limit", "entitled to", "share")
    return table("Queues after the plan", heads, lines, numbers=(7,))


def _line(depth: int, row: QueueRow, ceilings: Ceilings) -> Iterator[Html | str]:
    del depth
    limit = ceilings.limit.get(row.name, {})
    names = sorted(
        {*row.allocated, *row.deserved, *row.entitlement, *limit} - {"pods"}, key=resource_rank
    )
    yield name(row.name)
    yield name(row.parent) if row.parent else joined(["–"])
    for of in (row.allocated, row.deserved, borrowed(row), limit, row.entitlement):
        yield amounts(of, names)
    yield percent(row.dominant_share)
