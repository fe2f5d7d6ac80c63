"""How many more copies of a group would start, as a page."""

from ..ask.capacity import Capacity, Fit, PerNode
from ..cli.words import count, plain
from .bars import Bar, bars
from .elements import Html, Part, joined, name, tag
from .legend import legend
from .shell import Content, document, facts
from .tables import section, table

LOOKS = (("us", "fit as it is"), ("sa", "more with the nodes added"))


def capacity_page(found: Capacity, subject: str) -> str:
    """Return the page; ``subject`` is the cluster, as whoever asked called it."""
    now = found.now
    best = max(found.added, key=lambda a: _gain(found, a) / a.nodes, default=None)
    told = [
        ("fit now", _copies(now), "more copies" if now.exact else "more copies at least"),
        ("counting allows", f"{now.counted:,}", "no plan can exceed it"),
    ]
    if best is not None:
        each = f"{_gain(found, best) / best.nodes:.2f}"
        told.append(("more for each node", each, f"like {best.like}, at best"))
    head: list[Part] = [
        tag("h1", "Capacity for ", name(found.group)),
        tag("p", "in ", name(subject), class_="dim") if subject else "",
        facts(told),
    ]
    title = f"Capacity for {plain(found.group)}"
    sections = [_copies_section(found)]
    return document(Content(title, head, sections, "Apportion", skip="To the answer"))


def _copies_section(found: Capacity) -> Html:
    drawn = [Bar("now", (("us", found.now.copies),), _copies(found.now))]
    for a in found.added:
        parts = (("us", found.now.copies), ("sa", _gain(found, a)))
        drawn.append(Bar(_nodes(a), parts, _copies(a.fit)))
    rows: list[list[Part]] = [_row("as it is", found.now, joined(["–"]))]
    for a in found.added:
        rows.append(_row(name(_nodes(a)), a.fit, f"{_gain(found, a) / a.nodes:.2f}"))
    heads = ("cluster", "copies", "more for each node", "counting allows", "proven")
    note = (
        "Copies that start or are promised a place beside all else: nothing more is evicted for "
        "them, and all that would start without them starts. Each number was planned."
    )
    return section(
        "copies", "Copies", note, legend(LOOKS), bars(drawn, "Copies that fit"),
        table("Copies that fit, as the cluster is and with nodes added", heads, rows, (1, 2, 3)),
    )  # fmt: skip


def _row(cluster: Part, fit: Fit, each: Part) -> list[Part]:
    proven = "yes" if fit.exact else "more may fit"
    return [cluster, f"{fit.copies:,}", each, f"{fit.counted:,}", proven]


def _copies(fit: Fit) -> str:
    return f"{fit.copies:,}" if fit.exact else f"at least {fit.copies:,}"


def _nodes(added: PerNode) -> str:
    return f"{count(added.nodes, 'node')} more like {added.like}"


def _gain(found: Capacity, added: PerNode) -> int:
    return added.fit.copies - found.now.copies
