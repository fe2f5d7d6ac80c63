"""Bars: a row of parts beside its words, each bar on the scale of the longest."""

from collections.abc import Sequence
from dataclasses import dataclass

from .elements import Html, name, tag

WIDE, HIGH = 240, 14


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar: what it is about, its parts with their looks, and all of it in words."""

    label: str
    parts: Sequence[tuple[str, int]]
    """Look and length; the looks of the style sheet."""
    said: str


def bars(of: Sequence[Bar], label: str) -> Html:
    """Return the bars as a list, which is called ``label``."""
    longest = max((sum(n for _, n in b.parts) for b in of), default=0)
    return tag(
        "ul", *(_row(b, max(1, longest)) for b in of), class_="queues", aria_label=label
    )  # fmt: skip


def _row(bar: Bar, longest: int) -> Html:
    marks = [tag("rect", x=0, y=2, width=WIDE, height=HIGH - 4, class_="free")]
    at = 0
    for look, n in bar.parts:
        if n > 0:
            x, wide = WIDE * at / longest, WIDE * n / longest
            marks.append(tag("rect", x=x, y=2, width=wide, height=HIGH - 4, class_=look))
            at += n
    picture = tag(
        "svg", tag("title", f"{bar.label}: {bar.said}"), *marks, role="img",
        viewBox=f"-1 0 {WIDE + 2} {HIGH}", class_="bar", preserveAspectRatio="none",
    )  # fmt: skip
    return tag(
        "li",
        tag("span", name(bar.label), class_="queue"),
        tag("div", picture, tag("span", bar.said), class_="barline"),
    )
