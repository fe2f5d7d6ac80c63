"""Repeated cycles come to rest, and what has come to rest stays as it is."""

from collections import Counter
from collections.abc import Iterator

from apportion.adapters.plan_check import scene_of, violations_of
from apportion.adapters.settle import apply_plan
from apportion.models import Config, PodKey, Snapshot
from apportion.solver.entry import plan
from apportion.solver.process import SolverProcess
from properties.trials import ILLEGAL, Fault, Tally

MOST = 30
"""Cycles until rest, at most."""


def faults(
    solver: SolverProcess, tally: Tally, snapshot: Snapshot, settings: Config
) -> Iterator[Fault]:
    """Give illegal plans on the way, and what keeps the cluster from coming to rest."""
    evicted: Counter[PodKey] = Counter()
    for _ in range(MOST):
        made = plan(snapshot, settings, process=solver)
        tally.counts["cycles until rest"] += 1
        for v in violations_of(made, scene_of(snapshot, settings)):
            yield Fault(ILLEGAL, str(v))
        evicted.update(e.pod for e in made.evictions)
        after = apply_plan(snapshot, made)
        if _standing(after) == _standing(snapshot):
            break
        snapshot = after
    else:
        yield Fault("no rest", f"not in {MOST} cycles")
        return
    tally.note(made)
    if made.binds or made.evictions:
        yield Fault("no rest", "a plan that changes nothing binds or evicts")
    for pod, n in evicted.items():
        if n > 1:
            yield Fault("turns", f"{pod} was evicted {n} times")


def _standing(snapshot: Snapshot) -> object:
    return snapshot.pods, snapshot.nominations, snapshot.groups, snapshot.claims
