"""The form: search, the changes that are asked about, and one more."""

from collections.abc import Sequence

from ...models import Snapshot
from ..cli.words import count
from ..report.elements import Html, joined, tag
from ..report.tables import section
from .question import OPTIONS

MOST_NAMES = 500
"""Names of nodes, and of groups, that the field suggests."""


def search_box() -> Html:
    """Return the field by which rows, nodes and queues are found."""
    return tag(
        "form",
        tag("label", "Search nodes, groups and queues", for_="search"),
        tag("input", type="search", id="search", autocomplete="off"),
        tag("span", id="found", role="status", class_="dim"),
        class_="search",
        role="search",
    )


def question_form(
    changes: Sequence[str], snapshot: Snapshot, held: Sequence[str], problem: str, why: str = ""
) -> Html:
    """Return the form; whoever unticks a change asks without it; ``why``: the group explained."""
    asked = [
        tag(
            "label",
            tag("input", type="checkbox", name="edit", value=c, checked=True),
            " ", tag("bdi", c),
        )
        for c in changes
    ]  # fmt: skip
    options = [
        tag("option", f"{said} ({form})", value=option) for option, (said, form) in OPTIONS.items()
    ]
    groups = sorted({p.group for p in snapshot.pods if p.group is not None})
    names = [*(n.name for n in snapshot.nodes[:MOST_NAMES]), *groups[:MOST_NAMES]]
    parts: list[Html] = []
    if problem:
        parts.append(tag("p", problem, role="alert", class_="alert"))
    if asked:
        legend = tag("legend", f"{count(len(asked), 'change')} asked about")
        parts.append(tag("fieldset", legend, *asked))
    form = tag(
        "form",
        *parts,
        tag("div", tag("label", "Change", for_="option"),
            tag("select", *options, id="option", name="option")),
        tag("div", tag("label", "What of", for_="value"),
            tag("input", id="value", name="value", list="names", autocomplete="off"),
            tag("datalist", *(tag("option", value=n) for n in names), id="names")),
        tag("button", "Ask", type="submit"),
        method="get", action="",
    )  # fmt: skip
    link = tag("p", tag("a", "Back to the cluster as it is", href="?")) if changes else ""
    note = "The plan below is of the changed cluster." if changes and not problem else ""
    whatif = tag("h3", "What if")
    return section("ask", "Ask", note, whatif, joined([form, link]), _why_form(changes, held, why))


def _why_form(changes: Sequence[str], held: Sequence[str], why: str) -> Html:
    """Return the form that asks why a group waits, in the cluster that is shown."""
    if not held:
        return joined(())
    offered = [*held[:MOST_NAMES], *(g for g in held[MOST_NAMES:] if g == why)]
    form = tag(
        "form",
        *(tag("input", type="hidden", name="edit", value=c) for c in changes),
        tag(
            "div",
            tag("label", "Group", for_="why"),
            tag("select", *(tag("option", g, value=g, selected=g == why) for g in offered),
                id="why", name="why"),
        ),
        tag("button", "Explain", type="submit"),
        method="get", action="",
    )  # fmt: skip
    return joined([tag("h3", "Why does it wait"), form])
