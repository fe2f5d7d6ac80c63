"""The readable page: what a plan says, top to bottom, in plain words."""

import sys
from collections.abc import Iterable, Sequence
from itertools import groupby

from rich.table import Table
from rich.text import Text

from ...models import Bind, GroupKey, Nomination, Plan, PodState, Reason, Snapshot
from .name import Name
from .numbers import objective_table, queue_table
from .terminal import console
from .words import amounts, count, gathered, moment, percent, plain

MOST_ROWS = 60
"""Rows of one section; beyond, the page says how many more there are."""


def show(plan: Plan, snapshot: Snapshot) -> None:
    """Print the page."""
    out = console()
    with out.capture() as captured:
        for part in _parts(plan, snapshot):
            out.print(part)
    lines = captured.get().splitlines()
    sys.stdout.write("\n".join(line.rstrip() for line in lines) + "\n")


def _parts(plan: Plan, snapshot: Snapshot) -> Iterable[Table | Text]:
    yield from _header(plan, snapshot)
    yield from _starts("Starts now", [(b.group, _place(b)) for b in plan.binds])
    promised = [(n.group, _place(n)) for n in plan.nominations]
    yield from _starts("Promised, once others are gone", promised)
    yield from _allocations(plan)
    yield from _evictions(plan)
    yield from _admissions(plan)
    yield from _held(plan)
    yield from _geometries(plan)
    yield from queue_table(plan.queues)
    yield from objective_table(plan)
    yield from _notes(plan, snapshot)
    yield from _footer(plan)


def title(text: str, note: str = "") -> Text:
    """Return a section's heading."""
    out = Text("\n")
    out.append(text, style="bold")
    if note:
        out.append(f"  {note}", style="dim")
    return out


def grid(*widths: int | None) -> Table:
    """Return columns without lines; the last one takes what is left."""
    table = Table.grid(padding=(0, 2, 0, 0), expand=False)
    table.add_column(width=0)
    for w in widths:
        table.add_column(overflow="fold", max_width=w)
    return table


def _header(plan: Plan, snapshot: Snapshot) -> Iterable[Text]:
    pods, groups = snapshot.pods, snapshot.groups
    ours = sum(p.ours for p in pods)
    running = sum(p.state is PodState.RUNNING for p in pods)
    waiting = sum(p.ours and p.state is PodState.PENDING for p in pods)
    facts = [
        count(len(snapshot.nodes), "node"),
        f"{count(len(pods), 'pod')} ({running:,} running, {waiting:,} of ours waiting)",
        count(len(groups), "group"),
        count(len(snapshot.queues), "queue"),
    ]
    yield Text.assemble(("Plan", "bold"), "  ", " · ".join(facts))
    if snapshot.taken_at_s:
        yield Text(f"      as of {moment(snapshot.taken_at_s)}", style="dim")
    if not ours:
        for w in plan.warnings:
            if w.path == "spec.schedulerName":
                yield Text(f"\n! {plain(w.message)}", style="bold yellow")
    if ours and not waiting and not plan.evictions:
        yield Text("\nNothing waits.", style="dim")


def _place(start: Bind | Nomination) -> str:
    """Return the node, with the devices there; of whole devices they are only likely."""
    if not start.devices:
        return start.node
    which = ", ".join(map(str, start.devices))
    word = "device" if len(start.devices) == 1 else "devices"
    return f"{start.node} ({'likely ' if start.advisory else ''}{word} {which})"


def _starts(heading: str, rows: Sequence[tuple[GroupKey, str]]) -> Iterable[Table | Text]:
    if not rows:
        return
    groups = _by_group(rows)
    yield title(heading, f"{count(len(rows), 'pod')} of {count(len(groups), 'group')}")
    yield _where(groups, "green")
    yield from more(groups)


def _allocations(plan: Plan) -> Iterable[Table | Text]:
    """Yield which devices the claims of pods get that start."""
    if not plan.allocations:
        return
    yield title("Devices", count(len(plan.allocations), "claim"))
    table = grid(48, 24, None)
    for a in plan.allocations[:MOST_ROWS]:
        devices = ", ".join(f"{d.pool}/{d.device}" for d in a.devices)
        name = Name(plain(a.resource_claim or a.claim))
        table.add_row("", Name(plain(a.pod), style="green"), name, Text(plain(devices)))
    yield table
    yield from more(plan.allocations)


def _by_group(rows: Iterable[tuple[GroupKey, str]]) -> list[tuple[GroupKey, list[str]]]:
    grouped = groupby(sorted(rows), key=lambda x: x[0])
    return [(group, [node for _, node in xs]) for group, xs in grouped]


def _where(groups: Sequence[tuple[GroupKey, Sequence[str]]], style: str) -> Table:
    table = grid(48, 9, None)
    for group, nodes in groups[:MOST_ROWS]:
        table.add_row(
            "", Name(plain(group), style=style), count(len(nodes), "pod"), Text(gathered(nodes))
        )
    return table


def more(rows: Sequence[object]) -> Iterable[Text]:
    if len(rows) > MOST_ROWS:
        yield Text(f"  and {len(rows) - MOST_ROWS:,} more; --output json has all", style="dim")


def _evictions(plan: Plan) -> Iterable[Table | Text]:
    """Yield who is evicted, together where it is for the same groups and the same reason."""
    if not plan.evictions:
        return
    yield title("Evicted", count(len(plan.evictions), "pod"))
    ordered = sorted(plan.evictions, key=lambda e: (e.beneficiaries, e.reason, e.group, e.pod))
    for (winners, reason), es in groupby(ordered, key=lambda e: (e.beneficiaries, e.reason)):
        groups = _by_group((e.group, e.node) for e in es)
        yield _where(groups, "red")
        yield from more(groups)
        shown = ", ".join(plain(w) for w in winners[:3])
        others = f" and {len(winners) - 3} more" if len(winners) > 3 else ""
        why = f": {plain(reason)}" if reason else ""
        table = grid(None)
        table.add_row("", Text(f"for {shown or 'nobody'}{others}{why}", style="dim"))
        yield table


def _admissions(plan: Plan) -> Iterable[Table | Text]:
    if not plan.admissions:
        return
    yield title("Let in without pods", count(len(plan.admissions), "group"))
    table = grid(48, None)
    for a in plan.admissions[:MOST_ROWS]:
        table.add_row(
            "", Name(plain(a.group), style="green"), Text(amounts(a.reserved, a.reserved))
        )
    yield table
    yield from more(plan.admissions)


def _held(plan: Plan) -> Iterable[Table | Text]:
    if not plan.held:
        return
    yield title("Waits", count(len(plan.held), "group"))
    table = grid(48, 9, None)
    for h in plan.held[:MOST_ROWS]:
        why = Text("\n").join(told(h.reasons))
        pods = count(len(h.pods), "pod") if h.pods else "no pods"
        table.add_row("", Name(plain(h.group), style="yellow"), pods, why)
    yield table
    yield from more(plan.held)


def told(reasons: Iterable[Reason]) -> list[Text]:
    """Return a line for each reason: its rule, and what that says."""
    return [Text.assemble((f"{plain(r.rule)}: ", "dim"), plain(r.message)) for r in reasons]


def _geometries(plan: Plan) -> Iterable[Table | Text]:
    if not plan.geometries:
        return
    n = count(len(plan.geometries), "idle GPU")
    yield title("To be cut anew", f"{n}; nothing starts on them before")
    table = grid(48, None, None)
    for g in plan.geometries[:MOST_ROWS]:
        slices = ", ".join(f"{profile} at {start}" for profile, start in g.slices)
        shown = ", ".join(plain(k) for k in g.groups)
        table.add_row(
            "", Text(f"{plain(g.node)} GPU {g.device}"), Text(slices), Text(f"for {shown}")
        )
    yield table
    yield from more(plan.geometries)


def _notes(plan: Plan, snapshot: Snapshot) -> Iterable[Table | Text]:
    for heading, style, notes in (
        ("Rejected", "red", plan.rejected),
        ("Warnings", "yellow", plan.warnings),
    ):
        if not notes:
            continue
        yield title(heading, count(len(notes), "note"))
        table = grid(None)
        for n in notes[:MOST_ROWS]:
            where = f"{n.object} {n.path}" if n.path else n.object
            table.add_row("", Text.assemble((plain(where), style), f": {plain(n.message)}"))
        yield table
        yield from more(notes)
    if snapshot.counted:
        kinds = ", ".join(f"{n:,} {plain(kind)}" for kind, n in snapshot.counted.items())
        yield Text(f"\nNot looked at: {kinds}", style="dim")


def _footer(plan: Plan) -> Iterable[Text]:
    if plan.settled is not None:
        s = plan.settled
        state = "Settled" if s.stable else "Did not settle"
        yield Text(
            f"\n{state} after {count(s.cycles, 'cycle')}: {count(len(s.running), 'pod')} running, "
            f"{count(len(s.evicted), 'eviction')} on the way"
        )
    solver = plan.solver
    parts: list[str] = [solver.engine, solver.status]
    parts.append("order list proven" if solver.order_proven else "order list not proven")
    parts.append(_distance(solver.gap))
    if solver.wall_seconds is not None:
        parts.append(f"{solver.wall_seconds:.2f} s")
    parts.append(f"seed {solver.seed}")
    if solver.detail:
        parts.append(plain(solver.detail))
    yield Text("\n" + " · ".join(parts), style="dim")


def _distance(gap: float | None) -> str:
    """Say how far the work that starts is from its proven bound."""
    if gap is None:
        return "bound of the work unknown"
    return f"work within {percent(gap)} of its bound" if gap else "work proven"
