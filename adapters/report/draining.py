"""Which nodes can be emptied, in what order, and what keeps the others, as a page."""

from collections.abc import Iterator

from ..ask.drain import Draining, Emptied
from ..cli.words import count
from .bars import Bar, bars
from .cluster_map import few
from .elements import Html, Part, name, tag
from .legend import legend
from .shell import Content, document, facts
from .tables import section, table

LOOKS = (
    ("us", "start elsewhere at once"), ("bo", "start once others have left"),
    ("ev", "would run no more"),
)  # fmt: skip


def draining_page(found: Draining, subject: str) -> str:
    """Return the page; ``subject`` is the cluster, as whoever asked called it."""
    lost = sum(len(e.waits) for e in found.emptied)
    stops = sum(e.pods for e in found.emptied)
    told = (
        ("can be emptied", f"{len(found.emptied):,}", "nodes, in this order"),
        ("cannot be now", f"{len(found.kept):,}", "nodes"),
        ("have to stop", f"{stops:,}", "pods"),
        ("would run no more", f"{lost:,}", "pods, of these nodes or of others"),
    )
    head: list[Part] = [
        tag("h1", "Draining"),
        tag("p", "in ", name(subject), class_="dim") if subject else "",
        facts(told),
    ]
    return document(
        Content("Draining", head, list(_sections(found)), "Apportion", skip="To the answer")
    )


def _sections(found: Draining) -> Iterator[Html]:
    if found.emptied:
        yield _emptied(found)
    if found.kept:
        yield _kept(found)


def _emptied(found: Draining) -> Html:
    drawn = [Bar(e.node, tuple(zip(_looks(), _numbers(e), strict=True)), _said(e))
             for e in found.emptied]  # fmt: skip
    rows: list[list[Part]] = [
        [
            name(e.node), f"{n:,}", f"{e.pods:,}", f"{e.moves:,}", f"{e.promised:,}",
            few(list(e.waits)) if e.waits else "nobody",
        ]
        for n, e in enumerate(found.emptied, 1)
    ]  # fmt: skip
    heads = (
        "node", "turn", "pods to stop", "start elsewhere at once", "once others have left",
        "would run no more",
    )  # fmt: skip
    note = (
        "One after the other, each on the cluster that the ones before have left, with all of them "
        "cordoned: next comes the one of which the fewest pods would run no more."
    )
    return section(
        "emptied", "Can be emptied", note, legend(LOOKS), bars(drawn, "Pods of each node"),
        table("What becomes of the pods", heads, rows, (1, 2, 3, 4)),
    )  # fmt: skip


def _looks() -> tuple[str, ...]:
    return tuple(look for look, _ in LOOKS)


def _numbers(e: Emptied) -> tuple[int, int, int]:
    return e.moves, e.promised, len(e.waits)


def _said(e: Emptied) -> str:
    if not e.pods:
        return "none of our pods runs there"
    parts = [f"{n:,} {word}" for n, (_, word) in zip(_numbers(e), LOOKS, strict=True) if n]
    return f"{count(e.pods, 'pod')} to stop: {', '.join(parts)}" if parts else "nothing moves"


def _kept(found: Draining) -> Html:
    rows: list[list[Part]] = [
        [name(k.node), name(b.pod), name(b.why)] for k in found.kept for b in k.blockers
    ]
    made = table("What keeps them", ("node", "pod", "why it must not stop"), rows)
    return section("kept", "Cannot be emptied now", count(len(found.kept), "node"), made)
