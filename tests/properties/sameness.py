"""Equal input gives equal plans: in whatever order and under whatever names."""

from collections.abc import Iterator
from typing import Any

from apportion.models import Config, Plan, Snapshot
from apportion.models.plan import to_document
from apportion.models.value import to_json
from apportion.solver.entry import plan
from apportion.solver.process import SolverProcess
from properties.renaming import longer, longer_key, renamed, renamed_config, shuffled
from properties.trials import Fault, Tally

APART = "plans that should be the same"


def shuffled_faults(
    solver: SolverProcess, tally: Tally, snapshot: Snapshot, settings: Config
) -> Iterator[Fault]:
    """Give a plan that differs where only the order of objects does."""
    first = plan(snapshot, settings, process=solver)
    tally.note(first)
    mixed = shuffled(snapshot, len(snapshot.pods))

    second = plan(mixed, settings, previous=first, process=solver)

    if to_json(to_document(second)) != to_json(to_document(first)):
        yield Fault(APART, f"{first.digest} and {second.digest}, in another order")


def renamed_faults(
    solver: SolverProcess, tally: Tally, snapshot: Snapshot, settings: Config
) -> Iterator[Fault]:
    """Give parts of the plan that differ where only names do."""
    made = plan(snapshot, settings, process=solver)
    tally.note(made)

    other = plan(renamed(snapshot), renamed_config(settings), process=solver)

    mine, want = _said(other), _said(made, longer, longer_key)
    for part in (p for p in want if mine[p] != want[p]):
        yield Fault(APART, f"{part}: {mine[part]} instead of {want[part]}")


def _same(name: str) -> str:
    return name


def _said(made: Plan, name: Any = _same, key: Any = _same) -> dict[str, Any]:
    """Return all that the plan says, but for sentences and digests, with names changed."""
    return {
        "binds": [(key(b.pod), key(b.group), name(b.node), b.devices) for b in made.binds],
        "nominations": [
            (key(n.pod), key(n.group), name(n.node), n.devices) for n in made.nominations
        ],
        "allocations": [
            (key(a.pod), a.claim, name(a.node), [(d.request, d.device) for d in a.devices])
            for a in made.allocations
        ],
        "geometries": [
            (name(g.node), g.device, g.slices, list(map(key, g.groups))) for g in made.geometries
        ],
        "evictions": [
            (key(e.pod), key(e.group), name(e.node), list(map(key, e.beneficiaries)), dict(e.cost))
            for e in made.evictions
        ],
        "held": [
            (key(h.group), list(map(key, h.pods)), [r.rule for r in h.reasons]) for h in made.held
        ],
        "queues": [
            (name(q.name), q.allocated, dict(q.deserved), q.entitlement, q.dominant_share)
            for q in made.queues
        ],
        "objective": made.objective,
        "solver": made.solver,
    }
