"""Tables: captions, headings with their scope, and no more rows than somebody would read."""

from collections.abc import Iterable, Sequence

from ..cli.words import count
from .elements import Html, Part, joined, tag

MOST_ROWS = 500
"""Rows of one table; beyond, it says how many more there are."""
MOST_NAMES = 40
"""Names in one cell."""

Cells = Sequence[Part]


def table(
    caption: str,
    headings: Sequence[str],
    rows: Sequence[Cells],
    numbers: Iterable[int] = (),
    most: int = MOST_ROWS,
) -> Html:
    """Return a table; the first cell of a row is its heading, ``numbers`` are columns of digits."""
    right = frozenset(numbers)
    head = tag(
        "tr",
        *(
            tag("th", h, scope="col", class_="n" if i in right else None)
            for i, h in enumerate(headings)
        ),
    )
    body = (
        tag(
            "tr",
            tag("th", cells[0], scope="row"),
            *(tag("td", c, class_="n" if i in right else None) for i, c in enumerate(cells[1:], 1)),
        )
        for cells in rows[:most]
    )
    made = tag("table", tag("caption", caption), tag("thead", head), tag("tbody", *body))
    framed = tag("div", made, class_="wide", tabindex=0, role="region", aria_label=caption)
    return joined([framed, left_out(len(rows) - most, "row")])


def left_out(n: int, noun: str) -> Html:
    """Say how many are not shown."""
    if n <= 0:
        return joined(())
    return tag("p", f"{count(n, f'more {noun}')} left out; --output json has all.", class_="dim")


def folded(summary: str, *parts: Part, opened: bool = False) -> Html:
    """Return parts that open when asked for."""
    return tag("details", tag("summary", summary), *parts, open=opened)


def section(key: str, heading: str, note: str, *parts: Part) -> Html:
    """Return a section of the page; ``key`` is what links lead to."""
    title = tag("h2", heading, id=f"{key}-title")
    said = tag("p", note, class_="dim") if note else ""
    return tag("section", title, said, *parts, id=key, aria_labelledby=f"{key}-title")
