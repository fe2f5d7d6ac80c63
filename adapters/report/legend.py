"""Legends: a sample of each look with the word for it."""

from collections.abc import Sequence

from .elements import Html, tag

NARROW = frozenset({"du", "li"})
"""Looks of marks, not of areas."""


def legend(items: Sequence[tuple[str, str]]) -> Html:
    """Return pairs of look and word as a list."""
    return tag(
        "ul",
        *(tag("li", _sample(look), f" {said}") for look, said in items),
        class_="legend",
        aria_label="Legend",
    )


def _sample(look: str) -> Html:
    x, wide = (6, 3) if look in NARROW else (1, 14)
    box = tag("rect", x=x, y=1, width=wide, height=14, class_=look)
    return tag("svg", box, width=16, height=16, aria_hidden="true")
