"""The difference that changes make: who stands differently, queues, and what is used."""

from collections.abc import Sequence

from ...models import GroupKey
from ..ask.difference import Difference, GroupState
from ..ask.whatif import WhatIf
from ..cli.telling import resource_rank
from ..cli.words import amounts, count, percent, resource, short
from .elements import Html, Part, joined, name, tag
from .tables import section, table


def difference_section(answer: WhatIf) -> Html:
    """Return what is different in the second plan."""
    d = answer.difference
    said = [str(e) for e in answer.edits] + [f"set {s}" for s in answer.settings]
    asked = tag("ul", *(tag("li", name(text)) for text in said))
    if d.is_none:
        return section("difference", "Difference", "Nothing would be different.", asked)
    facts = (
        ("start or run more", d.starts_more), ("start or run less", d.starts_less),
        ("displaced", d.displaced), ("wait less", d.waits_less), ("wait more", d.waits_more),
    )  # fmt: skip
    note = " · ".join(f"{count(len(groups), 'group')} {word}" for word, groups in facts if groups)
    return section("difference", "Difference", note, asked, _groups(d), _queues(d), _use(d))


def _groups(d: Difference) -> Html:
    rows: list[list[Part]] = [
        [
            name(c.group), name(c.queue), _state(c.before), _state(c.after),
            _effect(c.group, d), f"{len(c.displaced):,}",
            name("; ".join(f"{r.rule}: {r.message}" for r in c.why)),
        ]
        for c in d.groups
    ]  # fmt: skip
    heads = ("group", "queue", "as it is", "changed", "so it", "displaced pods", "held by")
    return _made("Groups that stand differently", heads, rows, (5,))


def _effect(group: GroupKey, d: Difference) -> str:
    words = (
        ("starts or runs more", d.starts_more), ("starts or runs less", d.starts_less),
        ("waits less", d.waits_less), ("waits more", d.waits_more),
    )  # fmt: skip
    return ", ".join(word for word, groups in words if group in groups) or "stands differently"


def _state(s: GroupState) -> str:
    parts = (
        (s.running, "running"), (s.starting, "starting"), (s.promised, "promised"),
        (s.waiting, "waiting"),
    )  # fmt: skip
    return ", ".join(f"{n:,} {word}" for n, word in parts if n) or "not there"


def _queues(d: Difference) -> Html:
    rows: list[list[Part]] = []
    for q in d.queues:
        names = sorted({*q.used_before, *q.used_after} - {"pods"}, key=resource_rank)
        rows.append(
            [
                name(q.queue), amounts(q.used_before, names), amounts(q.used_after, names),
                percent(q.share_before), percent(q.share_after),
            ]
        )  # fmt: skip
    heads = ("queue", "used as it is", "used if changed", "share as it is", "share if changed")
    return _made("Queues whose use or share is another", heads, rows, (3, 4))


def _use(d: Difference) -> Html:
    rows: list[list[Part]] = []
    for u in d.use:
        pairs = (
            (u.used_before, u.used_after), (u.capacity_before, u.capacity_after),
            (u.hole_before, u.hole_after), (u.whole_before, u.whole_after),
        )  # fmt: skip
        if u.resource != "pods":
            rows.append([resource(u.resource), *(_pair(*of, u.resource) for of in pairs)])
    heads = ("resource", "used", "of", "largest hole", "idle on idle nodes")
    return _made("What is used of nodes that take pods", heads, rows, (1, 2, 3, 4))


def _made(
    caption: str, heads: Sequence[str], rows: Sequence[list[Part]], numbers: Sequence[int]
) -> Html:
    return table(caption, heads, rows, numbers) if rows else joined(())


def _pair(before: int, after: int, of: str) -> str:
    return short(before, of) if before == after else f"{short(before, of)} → {short(after, of)}"
