"""Why a group waits: the rules or rivals that hold it, and the changes that would start it."""

from collections.abc import Iterator, Sequence

from ...models.quantity import show
from ..ask.change import Change
from ..ask.conflict_words import Member
from ..ask.explain import Explanation
from ..ask.rivals import Order
from ..cli.verdict import no_change_says, verdict_of
from ..cli.words import count, plain
from .elements import Html, Part, joined, name, tag
from .tables import section, table


def sentences(found: Explanation) -> list[str]:
    """Return the changes that would start the group, one sentence each."""
    return [f"{c.says} ({_when(c)})" for c in found.changes]


def why_section(found: Explanation, *, tried: bool = True) -> Html:
    """Return an explanation as a section of a page; ``tried``: whether changes were."""
    parts = list(_causes(found))
    told = [r for r in found.reasons if not (parts and r.rule == "order")]
    if not found.conflict and told:
        rivals = found.order is not None and found.order.rivals
        parts.append(
            tag("p", "Missing while they are there:" if rivals else "The plan says:", class_="dim")
        )
        parts.append(
            tag("ul", *(tag("li", tag("b", f"{r.rule}: "), name(r.message)) for r in told))
        )
    if found.changes:
        parts.append(_changes(found.changes))
    if said := no_change_says(found, tried=tried):
        parts.append(tag("p", said))
    heading = f"Why {plain(found.group)} waits" if found.held_by else plain(found.group)
    return section("because", heading, verdict_of(found), *parts)


def _causes(found: Explanation) -> Iterator[Html]:
    if found.conflict:
        yield _conflict(found.conflict, found.minimal)
    if found.order is not None:
        yield _order(found.order)


def _conflict(members: Sequence[Member], minimal: bool) -> Html:
    rows: list[list[Part]] = [
        [
            m.rule, name(m.about), name(m.message),
            name(", ".join(f"{h.name}: {show(h.amount, m.resource)}" for h in m.holders) or "–"),
        ]
        for m in members
    ]  # fmt: skip
    proof = "without any one of them the others can" if minimal else "not proven smallest"
    heads = ("rule", "about", "what it says", "held by")
    return table(f"Cannot hold together while the group starts; {proof}", heads, rows)


def _order(order: Order) -> Html:
    if not order.rivals:
        return tag("p", name(order.says)) if order.says else joined(())
    rows: list[list[Part]] = [
        [name(r.group), name(r.queue), r.way, f"{r.pods:,}", name(r.why)] for r in order.rivals
    ]
    heads = ("group", "queue", "it is", "pods", "why it does not give way")
    return table("Stands before it", heads, rows, (3,))


def _changes(changes: Sequence[Change]) -> Html:
    rows: list[list[Part]] = [
        [name(c.says), _when(c), "yes" if c.smallest else "less might do"] for c in changes
    ]
    heads = ("change", "then it starts", "smallest of its kind")
    return table("Would start it; each was planned, and any one suffices", heads, rows)


def _when(change: Change) -> str:
    soon = "then" if change.kind == "wait" else "now"
    when = soon if change.starts else "once others have left"
    return f"{when}, evicting {count(change.evicts, 'pod')}" if change.evicts else when
