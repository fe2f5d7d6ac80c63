"""Planning in a running scheduler: each plan goes on from what the last one has left."""

from collections.abc import Callable

from msgspec.structs import replace

from ...models import Config, Plan, Snapshot
from ...policies.memory import Memory
from ...solver.entry import LeftOverError
from ...solver.entry import plan as solve
from ...solver.process import LATE, SolverProcess
from .gathered import Gathered, is_safe_under

Planner = Callable[[Snapshot, Config, SolverProcess | None], Plan]

SOLVER_START_S = 10.0
"""How long the first plan waits for a solver process that is starting; it takes a second or two."""
STARTING = "the solver process is starting"


class Solving:
    """The planner of a running scheduler: each plan goes on from what the last one has left.

    Only the first waits for a solver process that is starting. Where a later one is late with an
    answer or had to be killed, plans are greedy until it, or the next, is there.
    """

    def __init__(self) -> None:
        self._memory = Memory()
        self._wait_s = SOLVER_START_S
        self._gathered = Gathered()
        self._is_calm = False
        """All that waited has started in the last plan, and nobody had to leave."""

    def __call__(self, snapshot: Snapshot, config: Config, process: SolverProcess | None) -> Plan:
        is_ready = process is None or process.wait(self._wait_s)
        self._wait_s = 0.0
        if is_ready:
            made = self._planned_gathered(snapshot, config, process) if self._is_calm else None
            if made is None:
                made = solve(snapshot, config, process=process, memory=self._memory, is_named=False)
            self._is_calm = is_calm(made)
            return made
        greedy = replace(config, engine="greedy")
        made = solve(snapshot, greedy, memory=self._memory, is_named=False)
        assert process is not None
        why = process.failure or (LATE if process.is_late else STARTING)
        row = replace(made.solver, status="fallback", detail=why)
        return replace(made, config=config.digest, solver=row)

    def _planned_gathered(
        self, snapshot: Snapshot, config: Config, process: SolverProcess | None
    ) -> Plan | None:
        """Plan without telling running pods apart; None where that is not enough."""
        few = self._gathered.of(snapshot) if is_safe_under(config) else None
        if few is None:
            return None
        try:
            made = solve(
                few, config, process=process, memory=self._memory, is_named=False,
                all_or_nothing=True,
            )  # fmt: skip
        except LeftOverError:
            return None
        return made if is_calm(made) else None


def is_calm(made: Plan) -> bool:
    """Say whether all that waited starts at once, and nobody leaves: no plan does more."""
    return not (made.held or made.evictions or made.nominations)
