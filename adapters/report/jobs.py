"""Jobs: the number, colour and pattern by which a group is known on every picture of the page."""

from collections.abc import Mapping
from dataclasses import dataclass

from ...models import GroupKey
from .elements import Html, joined, name, tag

COLOURS = (
    "#e69f00", "#56b4e9", "#009e73", "#f0e442", "#0072b2", "#d55e00", "#cc79a7",
)  # fmt: skip
"""Okabe and Ito's palette, told apart by people with any colour blindness."""
PATTERNS = (
    "",
    "M-1 1l2-2M0 6l6-6M5 7l2-2",
    "M-1 5l2 2M0 0l6 6M5-1l2 2",
    "M0 1.5h6M0 4.5h6",
    "M1.5 0v6M4.5 0v6",
    "M0 3h6M3 0v6",
)
"""Strokes of a tile of 6 by 6; the first is plain."""
MOST = len(COLOURS) * len(PATTERNS)
OTHERS, FOREIGN = "jo", "jf"


@dataclass(frozen=True)
class Jobs:
    """Groups with a look of their own, the largest first; all further ones share one."""

    number_of: Mapping[GroupKey, int]
    """From 1 on."""

    def look(self, group: GroupKey | None) -> str:
        """Return the class of what belongs to the group; None: pods of other schedulers."""
        if group is None:
            return FOREIGN
        number = self.number_of.get(group)
        return OTHERS if number is None else f"j{number}"

    def mark(self, group: GroupKey | None) -> str:
        """Return the number that stands on its devices; "" where it has none."""
        number = self.number_of.get(group) if group is not None else None
        return "" if number is None else str(number)

    def named(self, group: GroupKey) -> Html:
        """Return the group's name behind its look on the map."""
        return joined([self.chip(group), name(group)])

    def chip(self, group: GroupKey) -> Html:
        """Return a small square of the group's look with its number, for tables."""
        if not self.mark(group):
            return joined(())
        return tag(
            "svg",
            tag("rect", width=26, height=18, rx=2, class_=self.look(group)),
            tag("text", self.mark(group), x=13, y=13, class_="mk"),
            class_="chip", width=26, height=18, viewBox="0 0 26 18", aria_hidden="true",
        )  # fmt: skip


def jobs_of(sizes: Mapping[GroupKey, int]) -> Jobs:
    """Return looks for the groups that hold most."""
    ordered = sorted(sizes.items(), key=lambda of: (-of[1], of[0]))
    return Jobs({g: i for i, (g, _) in enumerate(ordered[:MOST], 1)})


def looks(count: int) -> str:
    """Return the style rules of the first ``count`` looks."""
    rules = []
    for i in range(count):
        colour, pattern = COLOURS[i % len(COLOURS)], i // len(COLOURS)
        rules.append(f".j{i + 1}{{fill:{f'url(#p{i + 1})' if pattern else colour}}}")
    return "".join(rules)


def patterns(count: int, *others: Html) -> Html:
    """Return the definitions that those rules refer to, and others."""
    made = []
    for i in range(len(COLOURS), count):
        colour, stroke = COLOURS[i % len(COLOURS)], PATTERNS[i // len(COLOURS)]
        made.append(
            tag(
                "pattern",
                tag("rect", width=6, height=6, fill=colour),
                tag("path", d=stroke, stroke="#000", stroke_width="1.1", fill="none"),
                id=f"p{i + 1}", width=6, height=6, patternUnits="userSpaceOnUse",
            )
        )  # fmt: skip
    return tag(
        "svg", tag("defs", *made, *others), width=0, height=0, class_="hidden", aria_hidden="true"
    )
