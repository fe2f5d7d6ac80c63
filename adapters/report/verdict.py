"""The verdict: how good the plan is, tier by tier, and what was odd about the input."""

from collections.abc import Iterator, Sequence

from ...models import Plan, Rejected, Snapshot, TierRow, Warned
from ..cli.telling import matters
from ..cli.words import count, number, percent, plain
from .elements import Html, Part, name, tag
from .tables import folded, section, table


def tiers_section(plan: Plan) -> Html:
    """Return the tiers that say something, and all of them as a table to open."""
    telling = [t for t in plan.objective if matters(t)]
    rest = len(plan.objective) - len(telling)
    parts: list[Html] = []
    if telling:
        parts.append(_tiers("Tiers, an earlier one wins absolutely over a later one", telling))
    if rest:
        parts.append(
            folded(
                f"With {count(rest, 'tier')} that say nothing", _tiers("All tiers", plan.objective)
            )
        )
    note = "What the plan reaches in each tier, and what no plan can surpass."
    return section("tiers", "Objective", note, *parts)


def _tiers(caption: str, tiers: Sequence[TierRow]) -> Html:
    heads = ("name", "tier", "value", "bound", "gap", "proof", "unit")
    rows: list[list[Part]] = [
        [
            name(t.name), str(t.tier), number(t.value),
            "–" if t.bound is None else number(t.bound),
            "–" if t.gap is None else percent(t.gap), _how_good(t),
            f"{plain(t.unit)}, {'as much' if t.sense == 'max' else 'as little'} as can be",
        ]
        for t in tiers
    ]  # fmt: skip
    return table(caption, heads, rows, (1, 2, 3, 4))


def _how_good(t: TierRow) -> str:
    if t.bound is None or t.gap is None:
        return "bound unknown"
    return "proven" if t.value == t.bound else "not proven"


def notes_sections(plan: Plan, snapshot: Snapshot) -> Iterator[Html]:
    """Yield what was refused at the door, and what is odd."""
    if plan.rejected:
        said = f"{count(len(plan.rejected), 'object')} left out of the plan."
        yield section("rejected", "Rejected", said, _notes("Rejected objects", plan.rejected))
    if plan.warnings:
        said = count(len(plan.warnings), "warning")
        yield section("warnings", "Warnings", said, _notes("Warnings", plan.warnings))
    if snapshot.counted:
        kinds = ", ".join(f"{n:,} {plain(kind)}" for kind, n in snapshot.counted.items())
        yield tag("p", f"Not looked at: {kinds}", class_="dim")


def _notes(caption: str, notes: Sequence[Rejected | Warned]) -> Html:
    rows: list[list[Part]] = [
        [name(n.object), name(n.path) if n.path else "–", name(n.message)] for n in notes
    ]
    return table(caption, ("object", "path", "what is wrong"), rows)
