"""Whether the rows and the plain rules say the same of legal plans and of what is nearly so."""

from collections.abc import Iterator
from random import Random

from apportion.models import Config, Snapshot
from apportion.policies.api import Constraint
from apportion.policies.registry import rules_for
from apportion.policies.scene import Scene
from apportion.solver.process import SolverProcess
from policies.agreement import Together, Told, decisions
from properties.trials import Fault, Tally

APART = "rows and rules apart"
BORNE, REFUSED = "decisions that both halves bear", "decisions that both halves refuse"


def faults(
    solver: SolverProcess, tally: Tally, snapshot: Snapshot, settings: Config
) -> Iterator[Fault]:
    """Give the decisions on which they differ: the plans of the brute force, slightly changed."""
    scene = Scene(snapshot, settings, rules_for(settings))
    rules = tuple(r for r in scene.rules if isinstance(r, Constraint))
    board = Told(scene, solver, Together("all", rules))
    for outcome in decisions(scene, solver, Random(len(snapshot.pods))):
        told = board.as_told(outcome)
        if told is None:
            continue
        broken = [v for r in rules for v in r.check(told[0])]
        bears = board.best(told[1]) is not None
        if bears is not bool(broken):
            tally.counts[BORNE if bears else REFUSED] += 1
            continue
        said = broken[0] if broken else "all rules bear it"
        plan = f"{dict(told[0].places)}, evicted {sorted(told[0].evicted)}"
        yield Fault(APART, f"{'bear' if bears else 'refuse'} {plan}: {said}")
