"""Planning in a running scheduler: each plan goes on from what the last one has left."""

from collections.abc import Callable

from msgspec.structs import replace

from ...models import Config, Plan, Snapshot
from ...policies.memory import Memory
from ...solver.entry import LeftOverError
from ...solver.entry import plan as solve
from ...solver.process import LATE, SolverProcess
from .gathered import Gathered, is_safe_under
from .single import are_few_and_single
from .still_held import StillHeld

Planner = Callable[[Snapshot, Config, SolverProcess | None], Plan]

SOLVER_START_S = 10.0
"""How long the first plan waits for a solver process that is starting; it takes a second or two."""
STARTING = "the solver process is starting"
DIRECT = "few pods, each on its own"


class Solving:
    """The planner of a running scheduler: each plan goes on from what the last one has left.

    Only the first waits for a solver process that is starting. Where a later one is late with an
    answer or had to be killed, plans are greedy until it, or the next, is there.
    """

    def __init__(self) -> None:
        self._memory = Memory()
        self._memory_of_rest = Memory()
        """Of snapshots that are not whole, in which most is another object than in whole ones."""
        self._wait_s = SOLVER_START_S
        self._gathered = Gathered()
        self._held = StillHeld()
        self._is_calm = False
        """All that waited has started in the last plan, and nobody had to leave."""

    def __call__(self, snapshot: Snapshot, config: Config, process: SolverProcess | None) -> Plan:
        rest = self.rest(snapshot, config)
        made = None if rest is None else self._planned_in_part(rest, config, process)
        if made is None:
            made = self._planned(snapshot, config, process)
            self._held.note(snapshot, config, made)
            self._is_calm = is_calm(made)
        elif not self._is_calm:
            made = self._held.complete(made)
        return made

    def rest(self, seen: Snapshot, config: Config) -> Snapshot | None:
        """Return what of the cluster is to be planned, what is still held left out.

        None where all of it is: running pods are told apart then.
        """
        if not is_safe_under(config):
            return None
        return seen if self._is_calm else self._held.beside(seen, config)

    def _planned(self, snapshot: Snapshot, config: Config, process: SolverProcess | None) -> Plan:
        if not self._is_there(process):
            assert process is not None
            return self._without(process, snapshot, config)
        return solve(snapshot, config, process=process, memory=self._memory, is_named=False)

    def _planned_in_part(
        self, rest: Snapshot, config: Config, process: SolverProcess | None
    ) -> Plan | None:
        """Plan where all that waits can start; None where not all does."""
        few = self._gathered.of(rest)
        world = rest if few is None else few
        if config.polish_ms is not None and are_few_and_single(world):
            return self._placed_directly(world, config)
        if few is None or not self._is_there(process):
            return None
        return self._all_of_it(few, config, process)

    def _is_there(self, process: SolverProcess | None) -> bool:
        is_ready = process is None or process.wait(self._wait_s)
        self._wait_s = 0.0
        return is_ready

    def _placed_directly(self, world: Snapshot, config: Config) -> Plan | None:
        """Plan without a search, for which no solver process is needed; None if not all start."""
        made = self._all_of_it(world, replace(config, engine="greedy"), None)
        if made is None:
            return None
        return replace(made, config=config.digest, solver=replace(made.solver, detail=DIRECT))

    def _all_of_it(
        self, world: Snapshot, config: Config, process: SolverProcess | None
    ) -> Plan | None:
        """Plan, running pods not told apart maybe; None where not all would start."""
        try:
            made = solve(
                world, config, process=process, memory=self._memory_of_rest, is_named=False,
                all_or_nothing=True,
            )  # fmt: skip
        except LeftOverError:
            return None
        return made if is_calm(made) else None

    def _without(self, process: SolverProcess, snapshot: Snapshot, config: Config) -> Plan:
        """Plan while the solver process is starting, or late with an answer."""
        greedy = replace(config, engine="greedy")
        made = solve(snapshot, greedy, memory=self._memory, is_named=False)
        why = process.failure or (LATE if process.is_late else STARTING)
        row = replace(made.solver, status="fallback", detail=why)
        return replace(made, config=config.digest, solver=row)


def is_calm(made: Plan) -> bool:
    """Say whether all that waited starts at once, and nobody leaves: no plan does more."""
    return not (made.held or made.evictions or made.nominations)


def does_something(made: Plan, seen: Snapshot) -> bool:
    """Say whether the plan asks the cluster for anything that it has not yet."""
    promised = {n.pod: n.node for n in made.nominations}
    return bool(made.binds or made.evictions) or promised != dict(seen.nominations)


def rest_for(
    planner: Planner, seen: Snapshot, config: Config, last: Plan | None
) -> Snapshot | None:
    """Return what is to be planned beside what still waits; None where all of it is."""
    if isinstance(planner, Solving):
        return planner.rest(seen, config)
    return seen if last is not None and is_calm(last) else None
