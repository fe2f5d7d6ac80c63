"""The page: a plan from its head to its last warning, as one file that asks for nothing else."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ...models import Config, GroupKey, Plan, PodState, Snapshot
from ..cli.telling import telling_rows
from ..cli.words import count, moment, percent, plain
from .ceilings import ceilings_of
from .claimed import claimed_of
from .cluster_map import ClusterMap, separators
from .elements import Html, Part, joined, name, tag
from .jobs import jobs_of
from .occupancy import sizes, stays
from .outcome import Changes, outcome_sections
from .queues import queues_section
from .shell import Content, Controls, document, facts
from .timeline import Moment, timeline_section
from .verdict import notes_sections, tiers_section


@dataclass(frozen=True)
class Report:
    """What a page is made of."""

    plan: Plan
    snapshot: Snapshot
    config: Config
    subject: str = ""
    """What was planned, as whoever asked called it."""
    moments: Sequence[Moment] = ()
    """Of a settled run, cycle by cycle."""
    changes: Changes | None = None
    """What would let groups start that wait; None: nobody asked."""
    heading: str = ""
    """What the page is called; "": the plan of its subject."""


def written(report: Report, controls: Controls | None = None, first: Sequence[Html] = ()) -> str:
    """Return the document. Equal reports give equal documents.

    ``first`` are sections that come before those of the plan.
    """
    plan, snapshot = report.plan, report.snapshot
    here = stays(plan, snapshot)
    jobs = jobs_of(sizes(here))
    sections = [
        *first,
        ClusterMap(snapshot, here, jobs, claimed_of(plan, snapshot)).section(),
        queues_section(telling_rows(plan.queues), ceilings_of(snapshot, report.config)),
        *outcome_sections(plan, jobs, report.changes or {}),
    ]
    if report.moments or plan.settled is not None:
        sections.append(timeline_section(report.moments, plan.settled))
    sections += [tiers_section(plan), *notes_sections(plan, snapshot)]
    content = Content(
        _title(report), _head(report), sections, _footer(plan), len(jobs.number_of),
        (separators(),),
    )  # fmt: skip
    return document(content, controls)


def _title(report: Report) -> str:
    if report.heading:
        return plain(report.heading)
    return f"Plan of {plain(report.subject)}" if report.subject else "Plan"


def _head(report: Report) -> list[Part]:
    plan, snapshot = report.plan, report.snapshot
    pods = snapshot.pods
    running = sum(p.state is PodState.RUNNING for p in pods)
    waiting = sum(p.ours and p.state is PodState.PENDING for p in pods)
    world = " · ".join(
        (
            count(len(snapshot.nodes), "node"),
            f"{count(len(pods), 'pod')} ({running:,} running, {waiting:,} of ours waiting)",
            count(len(snapshot.groups), "group"), count(len(snapshot.queues), "queue"),
        )
    )  # fmt: skip
    solver = plan.solver
    told = (
        ("starts now", f"{len(plan.binds):,}", _groups(b.group for b in plan.binds)),
        ("promised", f"{len(plan.nominations):,}", _groups(n.group for n in plan.nominations)),
        ("evicted", f"{len(plan.evictions):,}", _groups(e.group for e in plan.evictions)),
        ("waits", f"{sum(len(h.pods) for h in plan.held):,}", _groups(h.group for h in plan.held)),
        ("engine", solver.engine, solver.status),
        (
            "gap of the work", "unknown" if solver.gap is None else percent(solver.gap),
            "order list proven" if solver.order_proven else "order list not proven",
        ),
    )  # fmt: skip
    word, near = (name(report.heading), " in ") if report.heading else ("Plan", " of ")
    of = joined([near, name(report.subject)]) if report.subject else ""
    when = f"as of {moment(snapshot.taken_at_s)}" if snapshot.taken_at_s else ""
    return [
        tag("h1", word, of),
        tag("p", world, class_="dim"),
        tag("p", when, class_="dim") if when else "",
        facts(told),
        tag("p", f"{solver.engine}: {solver.detail}") if solver.detail else "",
    ]  # fmt: skip


def _groups(of: Iterable[GroupKey]) -> str:
    distinct = set(of)
    return f"pods of {count(len(distinct), 'group')}" if distinct else "pods"


def _footer(plan: Plan) -> str:
    solver = plan.solver
    took = f" · {solver.wall_seconds:.2f} s" if solver.wall_seconds is not None else ""
    return f"Apportion · seed {solver.seed}{took} · snapshot {plan.snapshot} · plan {plan.digest}"
