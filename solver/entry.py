"""The entry: ``plan(snapshot, config, previous=None) -> Plan``, a function of its arguments."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from ..models import Config, GroupKey, Plan, PodKey, Snapshot, SolverRow
from ..policies.api import Constraint
from ..policies.board import Board
from ..policies.evictable import given_up_pods
from ..policies.goals import goals_for
from ..policies.legality import verify
from ..policies.levels import Levels
from ..policies.memory import Memory
from ..policies.outcome import Outcome
from ..policies.registry import rules_for
from ..policies.scene import Scene
from ..policies.standing import standing_of
from .assemble import assemble
from .beside import Beside
from .bounding.bounds import LIMIT_S
from .certificate import certified, nothing_starts
from .compile import Compiled, compile_board
from .decode import Decision, decode, outcome_of
from .draft import Draft
from .greedy import Ranking, rank_and_place
from .heap import let_go, one_cycle
from .hints import hint_of
from .improve import improved
from .late import MANY, Late
from .leveling import levels_of
from .linear import satisfies
from .move_plan import plan_with_moves
from .orderly import Ordered, put_in_order
from .portfolio import all_starts, best_of
from .process import SolverProcess
from .reach import is_within_reach
from .reclear import recleared
from .repack import repacked
from .rows import TierResult, tier_results, vector_of
from .search import Clock, Found, search
from .stages import stages_of

OBJECTIONS = 40
"""So often the checker may object to a greedy plan before it is given up as a whole."""
AFTERWARDS = 0.08
"""Part of the budget that is left to what follows the search: order, bounds, the plan."""
AS_LONG, WITH_VICTIMS, OF_REST = 0.4, 1.2, 0.5
"""What is left to it at least, in times of what greedy took, and where its plan evicts somebody;
but no more than this part of the rest."""
TOO_LARGE = "too large to search as a whole in the time left"
MOVING = 0.2
"""Part of the budget that is left to moves, where they are allowed."""


class LeftOverError(Exception):
    """Not all that waits can start without somebody who leaves."""


@dataclass
class Answer:
    """A decision, what is known of each tier, and how it came about."""

    decision: Decision
    tiers: list[TierResult]
    solver: SolverRow
    nothing_helps: bool = False
    """Proven: whoever is evicted, nothing that waits can start."""
    late: Late | None = None
    """Bounds of the tiers, where they are worked out last; else they are there."""

    def bounded(self) -> list[TierResult]:
        """Return the tiers with their bounds, once these are known."""
        if self.late is not None:
            known = zip(self.tiers, self.late.answer(), strict=True)
            self.tiers, self.late = [TierResult(t.goal, t.value, b) for t, b in known], None
        return self.tiers


def plan(
    snapshot: Snapshot,
    config: Config | None = None,
    previous: Plan | None = None,
    process: SolverProcess | None = None,
    memory: Memory | None = None,
    is_named: bool = True,
    all_or_nothing: bool = False,
) -> Plan:
    """Solve one scheduling cycle.

    Parameters
    ----------
    snapshot
        What is known of the cluster.
    config
        Settings; defaults if None.
    previous
        The plan of the cycle before: a cache. No result depends on it, but for what the snapshot's
        nominations say.
    process
        A solver process that is already running; one is started (and ended) if None.
    memory
        What earlier calls have left, and this one leaves to the next: what has not changed
        between snapshots, object by object, is not worked out again. No result depends on it.
    is_named
        Whether the plan has the digest of its snapshot, which costs a pass over all of it.
    all_or_nothing
        Whether a plan is of no use in which not all that waits starts, or somebody leaves.

    Returns
    -------
    Plan
        Verified by the checker, with the bound of every tier that was computed.

    Raises
    ------
    LeftOverError
        With ``all_or_nothing``, as soon as greedy's plan is of no use.
    """
    del previous
    settings = config if config is not None else Config()
    with one_cycle(), _digest(snapshot, is_named) as name:
        return _plan(snapshot, settings, process, memory, name, all_or_nothing)


def _digest(snapshot: Snapshot, is_named: bool) -> Beside[str]:
    apart = is_named and len(snapshot.pods) >= MANY
    return Beside(lambda: snapshot.digest if is_named else "", apart)


def _plan(
    snapshot: Snapshot,
    config: Config,
    process: SolverProcess | None,
    memory: Memory | None,
    name: Beside[str],
    all_or_nothing: bool,
) -> Plan:
    clock = Clock(None if config.deterministic else config.budget_ms / 1000.0)
    scene = Scene(snapshot, config, rules_for(config), memory)
    own = process is None and config.engine != "greedy"
    solver = process if process is not None else SolverProcess(config.memory_limit_mib)
    may_move = config.moves > 0 and not all_or_nothing
    part = MOVING * config.budget_ms / 1000 if may_move else 0.0
    with let_go(scene), Late() as late:
        try:
            if config.engine != "greedy":
                solver.start()
            answer = solve(scene, config, solver, clock.before(part), late, all_or_nothing)
        finally:
            if own:
                solver.kill()
        with let_go(answer.decision.judged):
            made = plan_with_moves(scene, answer, clock, name) if may_move else None
            return made if made is not None else assemble(scene, answer, clock, name)


def solve(
    scene: Scene,
    config: Config,
    process: SolverProcess,
    clock: Clock,
    late: Late,
    all_or_nothing: bool = False,
) -> Answer:
    """Greedy first, then the solver, then the better of the two."""
    ranking = rank_and_place(scene)
    with let_go(ranking.draft):
        return _solve_from(ranking, scene, config, process, clock, late, all_or_nothing)


def _solve_from(
    ranking: Ranking,
    scene: Scene,
    config: Config,
    process: SolverProcess,
    clock: Clock,
    late: Late,
    all_or_nothing: bool,
) -> Answer:
    levels = levels_of(scene, ranking)
    goals = goals_for(config, scene.rules)
    drafted = _drafted(ranking.draft)
    if config.engine == "greedy" or _ends_before(clock, drafted):
        late.begin(outcome_of(scene, drafted, levels), goals)
    greedy = settle_greedy(scene, ranking, levels)
    if all_or_nothing and (greedy.evicted or not all_starts(scene, greedy)):
        raise LeftOverError
    if config.engine == "greedy":
        base = outcome_of(scene, greedy, levels)
        return _greedy_answer(base, goals, config, clock, late, "asked for")
    whole, clock = clock, clock.before(kept_for_the_end(clock, greedy))
    if not greedy.places and not greedy.evicted and not clock.is_out():
        base = outcome_of(scene, greedy, levels)
        if nothing_starts(base):
            return _empty_answer(base, goals, config)
    draft = ranking.draft
    # Better places alone are worth no more than the search for them, which has its own time.
    if config.polish_ms is None or not _everything_starts(scene, greedy):
        draft, greedy = best_of(scene, levels, goals, (draft, greedy), settle_greedy, clock)
    better = recleared(scene, levels, goals, draft, greedy, process, clock)
    fall_back = _greedy_answer if better is greedy else partial(_greedy_answer, engine="improve")
    greedy = repacked(scene, levels, goals, better, process, clock)
    base = outcome_of(scene, greedy, levels)
    if clock.is_out():
        return fall_back(base, goals, config, clock, late, "out of time")
    if config.polish_ms is not None and _everything_starts(scene, greedy):
        clock = clock.no_longer_than(config.polish_ms / 1000)
    if not is_within_reach(scene, clock):
        better = improved(scene, levels, goals, greedy, process, clock)
        if better is not greedy:
            base = outcome_of(scene, better, levels)
            fall_back = partial(_greedy_answer, engine="improve")
        return fall_back(base, goals, config, clock, late, TOO_LARGE)
    compiled = compile_board(scene, levels)
    board = build(scene, compiled, levels)
    if clock.is_out():
        return fall_back(base, goals, config, clock, late, "out of time")
    stages = stages_of(board, goals)
    hint = hint_of(board, compiled, greedy)
    found = search(board, stages, process, config, clock, hint)
    if found.values is None and stages:
        return fall_back(base, goals, config, clock, late, found.detail or "no answer in time")
    decision = decode(board, compiled, found.values) if found.values is not None else greedy
    outcome = outcome_of(scene, decision, levels)
    wrong = verify(outcome)
    why = f"the solver's plan breaks {wrong[0]}" if wrong else found.detail
    # A board may say less than the rules; a solver that breaks the board itself proves nothing.
    if wrong and found.values is not None and not satisfies(board, found.values):
        return fall_back(base, goals, config, clock, late, why)
    # Rows that were rounded may have kept the greedy plan out, whatever was proven of them.
    known_best = found.proven and board.exact
    if wrong or (not known_best and vector_of(base, goals) > vector_of(outcome, goals)):
        return fall_back(
            base, goals, config, clock, late, why,
            lambda shown: tier_results(goals, shown, outcome, board, stages, found),
        )  # fmt: skip
    ordered = put_in_order(outcome, clock)
    tiers = tier_results(goals, ordered.outcome, outcome, board, stages, found)
    tiers = certified(ordered.outcome, tiers, _time_for_bounds(whole))
    row = _row(found, compiled, config, ordered)
    return Answer(decision_of(ordered.outcome), tiers, row)


def _time_for_bounds(clock: Clock) -> float:
    """Return the processor time for bounds after a search: what the budget leaves."""
    left = clock.left()
    return LIMIT_S if left is None else max(0.0, min(LIMIT_S, left))


def _ends_before(clock: Clock, drafted: Decision) -> bool:
    """Say whether there will be no time for any other plan."""
    return clock.before(kept_for_the_end(clock, drafted)).is_nearly_out()


def kept_for_the_end(clock: Clock, greedy: Decision) -> float:
    """Return how many seconds are left to bounds and the plan; greedy's plan stands just now."""
    left = clock.left()
    if left is None or clock.budget_s is None:
        return 0.0
    least = clock.spent() * (WITH_VICTIMS if greedy.evicted else AS_LONG)
    return max(0.0, min(OF_REST * left, max(AFTERWARDS * clock.budget_s, least)))


def _everything_starts(scene: Scene, decision: Decision) -> bool:
    """Say whether all that waits and could run starts, and nobody has to leave for it."""
    if decision.evicted:
        return False
    could_run = standing_of(scene).could_run
    waiting = (m for m in scene.roster.waiting if could_run[m.key])
    return all(p.key in decision.places for m in waiting for p in m.pending)


def _empty_answer(outcome: Outcome, goals: Sequence[Any], config: Config) -> Answer:
    """Answer that nothing starts, where that is proven: there is no other plan.

    So nobody can object either: whoever does has a plan in which something starts.
    """
    tiers = [TierResult(g, v, v) for g in goals for v in [g.measure(outcome)]]
    row = SolverRow(engine="exact", status="optimal", order_proven=True, seed=config.seed)
    return Answer(decision_of(outcome), tiers, row, nothing_helps=True)


def decision_of(outcome: Outcome) -> Decision:
    index = outcome.scene.index
    places = {k: index[n] for k, n in outcome.places.items()}
    return Decision(places, outcome.evicted, outcome)


def _row(found: Found, compiled: Compiled, config: Config, ordered: Ordered) -> SolverRow:
    status = "optimal" if found.proven and not compiled.merged else "feasible"
    return SolverRow(
        engine="exact",
        status=status,  # type: ignore[arg-type]
        order_proven=ordered.proven,
        exchanges=len(ordered.exchanges),
        seed=config.seed,
        detail=found.detail,
    )


def build(scene: Scene, compiled: Compiled, levels: Levels) -> Board:
    """Tell every rule to the solver."""
    board = Board(scene, compiled.parts, levels)
    for rule in scene.rules:
        if isinstance(rule, Constraint):
            rule.constrain(board)
    return board


def settle_greedy(scene: Scene, ranking: Ranking, levels: Levels) -> Decision:
    """Return the greedy plan, verified; groups that the checker objects to are withdrawn."""
    draft = ranking.draft
    for _ in range(OBJECTIONS):
        outcome = outcome_of(scene, _drafted(draft), levels)
        wrong = verify(outcome)
        if not wrong:
            return Decision(dict(draft.places), outcome.evicted, outcome)
        with let_go(outcome):
            named = {g for w in wrong for g in _named(draft, w.about)}
        if not named:
            break
        for g in named:
            draft.withdraw(g)
    return Decision({}, frozenset(given_up_pods(scene)))


def _drafted(draft: Draft) -> Decision:
    return Decision(draft.places, frozenset(draft.evicted))


def _named(draft: Draft, about: str) -> set[GroupKey]:
    """Return which starting groups to withdraw for what a violation is about."""
    kind, _, name = about.partition(" ")
    scene, started = draft.scene, draft.started
    if kind in ("group", "pod"):
        pod = scene.pods.get(PodKey(name)) if kind == "pod" else None
        group = pod.group if pod is not None else GroupKey(name)
        if group is not None and group in started:
            return {group}
        return draft.takers_of(group) if group is not None else set()
    if kind == "node":
        at = scene.index.get(name)
        there = [g for g, pods in started.items() if any(draft.places[p.key] == at for p in pods)]
    elif kind == "queue":
        path = scene.tree.path
        there = [g for g in started if name in path(scene.snapshot.group(g).queue)]
    else:
        there = []
    # What has freed nothing gives way first, the last that came before the others.
    quiet = [g for g in there if g not in draft.claims_of]
    return {(quiet or there or list(started))[-1]} if started else set()


def _greedy_answer(
    outcome: Outcome,
    goals: Sequence[Any],
    config: Config,
    clock: Clock,
    late: Late,
    why: str,
    bounded: Callable[[Outcome], list[TierResult]] | None = None,
    engine: Literal["greedy", "improve"] = "greedy",
) -> Answer:
    """Answer with the greedy plan, what ``bounded`` knows of its tiers, and the certificate.

    ``engine``: whether the plan has been improved.
    """
    ordered = put_in_order(outcome, clock)
    if bounded is None:
        tiers = [TierResult(g, g.measure(ordered.outcome), None) for g in goals]
    else:
        tiers = bounded(ordered.outcome)
    late.ask(ordered.outcome, tiers)
    status = "feasible" if config.engine == "greedy" or why == TOO_LARGE else "fallback"
    row = SolverRow(
        engine=engine,
        status=status,  # type: ignore[arg-type]
        order_proven=ordered.proven,
        exchanges=len(ordered.exchanges),
        seed=config.seed,
        detail=why,
    )
    return Answer(decision_of(ordered.outcome), tiers, row, late=late)
