"""The page: a plan from its head to its last warning, as one file that asks for nothing else."""

import base64
import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ...models import Config, GroupKey, Plan, PodState, Snapshot
from ..cli.telling import telling_rows
from ..cli.words import count, moment, percent, plain
from .ceilings import ceilings_of
from .claimed import claimed_of
from .cluster_map import ClusterMap, separators
from .elements import Html, Part, joined, name, tag, verbatim
from .jobs import jobs_of, looks, patterns
from .occupancy import sizes, stays
from .outcome import Changes, outcome_sections
from .queues import queues_section
from .timeline import Moment, timeline_section
from .verdict import notes_sections, tiers_section

NAVIGATION = (
    ("ask", "Ask"), ("because", "Why"), ("difference", "Difference"),
    ("map", "Cluster"), ("queues", "Queues"), ("starts", "Starts"), ("promised", "Promised"),
    ("evicted", "Evicted"), ("waits", "Waits"), ("timeline", "Timeline"), ("tiers", "Objective"),
    ("rejected", "Rejected"), ("warnings", "Warnings"),
)  # fmt: skip


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


@dataclass(frozen=True)
class Controls:
    """What a page has besides where somebody serves it: it may then ask its own server."""

    header: Html
    sections: tuple[Html, ...]
    """Before all others."""
    script: str


def written(report: Report, controls: Controls | None = None) -> str:
    """Return the document. Equal reports give equal documents."""
    plan, snapshot = report.plan, report.snapshot
    here = stays(plan, snapshot)
    jobs = jobs_of(sizes(here))
    sections = [
        *(controls.sections if controls is not None else ()),
        ClusterMap(snapshot, here, jobs, claimed_of(plan, snapshot)).section(),
        queues_section(telling_rows(plan.queues), ceilings_of(snapshot, report.config)),
        *outcome_sections(plan, jobs, report.changes or {}),
    ]
    if report.moments or plan.settled is not None:
        sections.append(timeline_section(report.moments, plan.settled))
    sections += [tiers_section(plan), *notes_sections(plan, snapshot)]
    style = _style(len(jobs.number_of))
    body = tag(
        "body",
        tag("a", "To the plan", href="#main", class_="skip"),
        patterns(len(jobs.number_of), separators()),
        tag("header", *_head(report), controls.header if controls else "", _navigation(sections)),
        tag("main", *sections, id="main", tabindex=-1),
        tag("footer", tag("p", _footer(plan))),
        tag("script", verbatim(controls.script)) if controls is not None else "",
    )
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag(
            "meta",
            http_equiv="Content-Security-Policy",
            content=policy_of(style, controls.script if controls else None),
        ),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="referrer", content="no-referrer"),
        tag("title", _title(report)),
        tag("style", verbatim(style)),
    )
    return f"<!DOCTYPE html>\n{tag('html', head, body, lang='en').markup}\n"


def policy_of(style: str, script: str | None = None) -> str:
    """Return the content security policy: nothing is loaded, only this style and script apply."""
    rules = ["default-src 'none'", f"style-src {_hash(style)}", "base-uri 'none'"]
    if script is None:
        return "; ".join((*rules, "form-action 'none'"))
    return "; ".join((*rules, f"script-src {_hash(script)}", "form-action 'self'"))


def _hash(source: str) -> str:
    digest = base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()
    return f"'sha256-{digest}'"


def _style(count_of_looks: int) -> str:
    sheet = Path(__file__).with_name("style.css").read_text()
    return sheet.replace("\n", "") + looks(count_of_looks)


def _title(report: Report) -> str:
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
    facts = (
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
    of = joined([" of ", name(report.subject)]) if report.subject else ""
    when = f"as of {moment(snapshot.taken_at_s)}" if snapshot.taken_at_s else ""
    return [
        tag("h1", "Plan", of),
        tag("p", world, class_="dim"),
        tag("p", when, class_="dim") if when else "",
        tag("dl", *(tag("div", tag("dt", t), tag("dd", v, tag("small", s))) for t, v, s in facts),
            class_="facts"),
        tag("p", f"{solver.engine}: {solver.detail}") if solver.detail else "",
    ]  # fmt: skip


def _groups(of: Iterable[GroupKey]) -> str:
    distinct = set(of)
    return f"pods of {count(len(distinct), 'group')}" if distinct else "pods"


def _navigation(sections: Sequence[Html]) -> Html:
    whole = joined(sections).markup
    links = [
        tag("li", tag("a", word, href=f"#{key}"))
        for key, word in NAVIGATION
        if f'<section id="{key}"' in whole
    ]
    return tag("nav", tag("ul", *links), aria_label="Sections")


def _footer(plan: Plan) -> str:
    solver = plan.solver
    took = f" · {solver.wall_seconds:.2f} s" if solver.wall_seconds is not None else ""
    return f"Apportion · seed {solver.seed}{took} · snapshot {plan.snapshot} · plan {plan.digest}"
