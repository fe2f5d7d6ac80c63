"""The timeline of a settled run: how many pods run, wait and leave, cycle by cycle."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ...models import Plan, PodState, Snapshot
from ...models.plan import Settled
from ..cli.words import count
from .elements import Html, tag
from .legend import legend
from .tables import folded, section, table

MOST_CYCLES = 120
"""Cycles drawn; the table has more."""
LOOKS = (
    ("us", "running"), ("ev", "evicted"), ("sa", "starting"), ("po", "promised"), ("wa", "waiting"),
)  # fmt: skip
STEP, TALL, LEFT, BELOW = 22, 120, 44, 18


@dataclass(frozen=True, slots=True)
class Moment:
    """One cycle: pods of ours that run, start, are promised a place, wait on, and leave."""

    cycle: int
    running: int
    """When it begins, those that leave included."""
    starting: int
    promised: int
    waiting: int
    """Neither started nor promised a place."""
    evicted: int


def moment(cycle: int, plan: Plan, snapshot: Snapshot) -> Moment:
    """Return what a cycle did; what :func:`adapters.settle.settle` may call for each."""
    ours = [p for p in snapshot.pods if p.ours]
    running = sum(p.state is PodState.RUNNING for p in ours)
    pending = sum(p.state in (PodState.PENDING, PodState.GATED) for p in ours)
    starting, promised = len(plan.binds), len(plan.nominations)
    return Moment(
        cycle, running, starting, promised, pending - starting - promised, len(plan.evictions)
    )


def timeline_section(moments: Sequence[Moment], settled: Settled | None) -> Html:
    """Return the run as stacked columns, and as a table."""
    note = ""
    if settled is not None:
        state = "Settled" if settled.stable else "Did not settle"
        note = (
            f"{state} after {count(settled.cycles, 'cycle')}: {count(len(settled.running), 'pod')} "
            f"running, {count(len(settled.evicted), 'eviction')} on the way."
        )
    parts: list[Html | str] = []
    if moments:
        parts = [
            legend(LOOKS), tag("div", _picture(moments[:MOST_CYCLES]), class_="wide", tabindex=0,
                           role="region", aria_label="Timeline"),
            folded("The same as a table", _table(moments)),
        ]  # fmt: skip
        if len(moments) > MOST_CYCLES:
            said = f"The first {MOST_CYCLES} cycles are drawn."
            parts.insert(2, tag("p", said, class_="dim"))
    return section("timeline", "Timeline", note, *parts)


def _picture(moments: Sequence[Moment]) -> Html:
    tallest = max(1, max(sum(size for size, _ in _stack(m)) for m in moments))
    wide, high = LEFT + len(moments) * STEP, TALL + BELOW
    marks: list[Html] = [
        tag("line", x1=LEFT, y1=y, x2=wide, y2=y, class_="grid") for y in (1, TALL // 2, TALL)
    ]
    marks += [
        tag("text", f"{n:,}", x=LEFT - 6, y=y, class_="axis end")
        for n, y in ((tallest, 10), (0, TALL))
    ]
    for i, m in enumerate(moments):
        marks += _column(m, LEFT + i * STEP, tallest)
        if i % 5 == 0 or len(moments) <= 12:
            x = LEFT + i * STEP + STEP // 2
            marks.append(tag("text", str(m.cycle), x=x, y=TALL + 13, class_="axis mid"))
    last = moments[-1]
    said = (
        f"Pods in {count(len(moments), 'cycle')}: {moments[0].running:,} run at first, "
        f"{last.running + last.starting - last.evicted:,} at the end; "
        f"{sum(m.evicted for m in moments):,} evictions"
    )
    return tag(
        "svg", tag("title", said), *marks, role="img", width=wide, height=high,
        viewBox=f"0 0 {wide} {high}",
    )  # fmt: skip


def _stack(m: Moment) -> Iterator[tuple[int, str]]:
    yield m.running - m.evicted, "us"
    yield m.evicted, "ev"
    yield m.starting, "sa"
    yield m.promised, "po"
    yield m.waiting, "wa"


def _column(m: Moment, x: int, tallest: int) -> Iterator[Html]:
    y = float(TALL)
    for size, look in _stack(m):
        if size > 0:
            high = TALL * size / tallest
            y -= high
            yield tag("rect", x=x + 2, y=y, width=STEP - 4, height=high, class_=look)


def _table(moments: Sequence[Moment]) -> Html:
    rows = [
        [f"{v:,}" for v in (m.cycle, m.running, m.starting, m.promised, m.waiting, m.evicted)]
        for m in moments
    ]
    heads = ("cycle", "running at its start", "start", "promised", "wait", "evicted")
    return table("Pods of ours, cycle by cycle", heads, rows, range(6))
