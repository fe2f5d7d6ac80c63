"""Planning in a running scheduler: each plan goes on from what the last one has left."""

from collections.abc import Callable

from msgspec.structs import replace

from ...models import Config, Plan, PodSpec, PodState, Snapshot
from ...policies.memory import Memory
from ...solver.entry import LeftOverError
from ...solver.entry import plan as solve
from ...solver.process import LATE, SolverProcess
from .gathered import Gathered, is_safe_under

Planner = Callable[[Snapshot, Config, SolverProcess | None], Plan]

SOLVER_START_S = 10.0
"""How long the first plan waits for a solver process that is starting; it takes a second or two."""
STARTING = "the solver process is starting"
DIRECT_PODS = 50
"""Up to so many pods, each on its own, go where the greedy engine puts them."""
DIRECT = "few pods, each on its own"


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
        made = self._planned(snapshot, config, process)
        self._is_calm = is_calm(made)
        return made

    def _planned(self, snapshot: Snapshot, config: Config, process: SolverProcess | None) -> Plan:
        few: Snapshot | None = None
        if self._is_calm and is_safe_under(config):
            few = self._gathered.of(snapshot)
            world = snapshot if few is None else few
            if config.polish_ms is not None and are_few_and_single(world):
                few = None
                if (made := self._placed_directly(world, config)) is not None:
                    return made
        is_ready = process is None or process.wait(self._wait_s)
        self._wait_s = 0.0
        if not is_ready:
            assert process is not None
            return self._without(process, snapshot, config)
        whole = None if few is None else self._all_of_it(few, config, process)
        if whole is not None:
            return whole
        return solve(snapshot, config, process=process, memory=self._memory, is_named=False)

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
                world, config, process=process, memory=self._memory, is_named=False,
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


def are_few_and_single(world: Snapshot) -> bool:
    """Say whether few pods wait, which only amounts and rules about nodes keep from places."""
    waiting = [p for p in world.pods if p.ours and p.state is PodState.PENDING]
    if len(waiting) > DIRECT_PODS or not all(_asks_only_for_room(p.spec) for p in waiting):
        return False
    keys = {p.group for p in waiting}
    groups = [g for g in world.groups if g.key in keys]
    return all(g.effective_minimum <= 1 and g.topology is None and not g.subgroups for g in groups)


def _asks_only_for_room(spec: PodSpec) -> bool:
    more = (spec.preferred_nodes, spec.volumes, spec.share, spec.claims, spec.aligned, spec.plugged)
    return not (spec.sees_pods or any(more))


def is_calm(made: Plan) -> bool:
    """Say whether all that waited starts at once, and nobody leaves: no plan does more."""
    return not (made.held or made.evictions or made.nominations)


def does_something(made: Plan, seen: Snapshot) -> bool:
    """Say whether the plan asks the cluster for anything that it has not yet."""
    promised = {n.pod: n.node for n in made.nominations}
    return bool(made.binds or made.evictions) or promised != dict(seen.nominations)
