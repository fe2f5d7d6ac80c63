"""Whether a plan breaks a rule, to the checker or the brute force, and its document reads back."""

import json
from collections.abc import Iterator

from apportion.adapters.plan_check import order_violations, scene_of, violations_of
from apportion.adapters.plan_file import given
from apportion.models import Config, Snapshot
from apportion.models.plan import from_document, to_document
from apportion.models.value import to_json
from apportion.solver.entry import plan
from apportion.solver.process import SolverProcess
from oracle.legality import violations
from properties.trials import ILLEGAL, OBJECTIONS, Fault, Tally


def faults(
    solver: SolverProcess, tally: Tally, snapshot: Snapshot, settings: Config
) -> Iterator[Fault]:
    """Give every rule that the plan breaks, and what does not read back."""
    made = plan(snapshot, settings, process=solver)
    tally.note(made)
    scene = scene_of(snapshot, settings)
    gone = [e.pod for e in made.evictions]

    for v in violations_of(made, scene):
        yield Fault(ILLEGAL, str(v))
    if not settings.off:
        for said in violations(snapshot, settings, made.places, gone):
            yield Fault(ILLEGAL, f"to the brute force: {said}")
    if made.solver.order_proven:
        for v in order_violations(given(made), scene):
            yield Fault(OBJECTIONS, str(v))
    if from_document(json.loads(to_json(to_document(made)))) != made:
        yield Fault("documents that read back otherwise", made.digest)
