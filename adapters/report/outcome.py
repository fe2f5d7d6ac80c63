"""The outcome: who starts, who is promised a place, who leaves and for whom, who waits and why."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import TypeVar

from ...models import Bind, GroupKey, Nomination, Plan
from ..cli.words import amounts, count
from .cluster_map import few
from .elements import Html, Part, name, tag
from .jobs import Jobs
from .tables import section, table

_Item = TypeVar("_Item")
_Key = TypeVar("_Key")

Changes = Mapping[GroupKey, Sequence[str]]
"""Of groups that wait: what would let them start, in sentences."""


def outcome_sections(plan: Plan, jobs: Jobs, changes: Changes) -> Iterator[Html]:
    """Yield a section for each kind of thing that the plan decides."""
    yield _starts("starts", "Starts now", "start", plan.binds, jobs)
    yield _starts(
        "promised", "Promised, once others are gone", "have a place", plan.nominations, jobs
    )
    if plan.allocations:
        yield _allocations(plan)
    yield _evictions(plan, jobs)
    if plan.admissions:
        yield _admissions(plan)
    yield _held(plan, jobs, changes)
    if plan.geometries:
        yield _geometries(plan)


def _starts(
    key: str, heading: str, verb: str, starts: Sequence[Bind | Nomination], jobs: Jobs
) -> Html:
    groups = _by(starts, lambda b: b.group)
    rows = [[jobs.named(g), f"{len(of):,}", few([_place(b) for b in of])] for g, of in groups]
    note = f"{count(len(starts), 'pod')} of {count(len(groups), 'group')}" if starts else "Nobody."
    caption = f"Groups whose pods {verb}, and where"
    made = table(caption, ("group", "pods", "nodes"), rows, (1,)) if rows else ""
    return section(key, heading, note, made)


def _place(start: Bind | Nomination) -> str:
    if not start.devices:
        return start.node
    word = "device" if len(start.devices) == 1 else "devices"
    likely = "likely " if start.advisory else ""
    return f"{start.node} ({likely}{word} {', '.join(map(str, start.devices))})"


def _evictions(plan: Plan, jobs: Jobs) -> Html:
    """Return who leaves, a row for each victim, those for whom it leaves, and the reason."""
    rows: list[list[Part]] = []
    for (group, winners, why), of in _by(
        plan.evictions, lambda e: (e.group, e.beneficiaries, e.reason)
    ):
        lost = sum(e.cost.get("lostDeviceSeconds", 0) for e in of)
        rows.append(
            [
                jobs.named(group), f"{len(of):,}", few([e.node for e in of]),
                few(list(winners)) if winners else "nobody", name(why) if why else "–",
                f"{lost:,}",
            ]
        )  # fmt: skip
    note = count(len(plan.evictions), "pod") if rows else "Nobody."
    heads = ("victim", "pods", "nodes", "for", "reason", "lost device-seconds")
    made = table("Victims, for whom and why", heads, rows, (1, 5)) if rows else ""
    return section("evicted", "Evicted", note, made)


def _held(plan: Plan, jobs: Jobs, changes: Changes) -> Html:
    rows: list[list[Part]] = []
    for h in plan.held:
        why = [tag("li", tag("b", f"{r.rule}: "), name(r.message)) for r in h.reasons]
        row: list[Part] = [
            jobs.named(h.group),
            f"{len(h.pods):,}",
            tag("ul", *why) if why else "–",
        ]
        if changes:
            would = [tag("li", name(said)) for said in changes.get(h.group, ())]
            row.append(tag("ul", *would) if would else "–" if h.group in changes else "not tried")
        rows.append(row)
    heads = ["group", "pods", "why"]
    if changes:
        heads.append("what would let it start")
    note = count(len(rows), "group") if rows else "Nobody."
    made = table("Groups that wait, and why", heads, rows, (1,)) if rows else ""
    return section("waits", "Waits", note, made)


def _allocations(plan: Plan) -> Html:
    rows: list[list[Part]] = [
        [name(a.pod), name(a.resource_claim or a.claim), name(a.node),
         few([f"{d.pool}/{d.device}" for d in a.devices])]
        for a in plan.allocations
    ]  # fmt: skip
    heads = ("pod", "claim", "node", "devices")
    made = table("Devices that claims get", heads, rows)
    return section("devices", "Devices", count(len(rows), "claim"), made)


def _admissions(plan: Plan) -> Html:
    rows: list[list[Part]] = [
        [name(a.group), amounts(a.reserved, a.reserved)] for a in plan.admissions
    ]
    made = table("Groups let in before they have pods", ("group", "reserved"), rows)
    return section("admitted", "Let in without pods", count(len(rows), "group"), made)


def _geometries(plan: Plan) -> Html:
    rows: list[list[Part]] = [
        [name(g.node), str(g.device), ", ".join(f"{p} at {at}" for p, at in g.slices),
         few(list(g.groups))]
        for g in plan.geometries
    ]  # fmt: skip
    heads = ("node", "GPU", "slices", "for")
    made = table("Idle GPUs to be cut anew; nothing starts on them before", heads, rows)
    return section("cuts", "To be cut anew", count(len(rows), "idle GPU"), made)


def _by(items: Iterable[_Item], key: Callable[[_Item], _Key]) -> list[tuple[_Key, list[_Item]]]:
    ordered = sorted(items, key=key)  # type: ignore[arg-type]  # every key here is text or tuples
    return [(k, list(of)) for k, of in groupby(ordered, key=key)]
