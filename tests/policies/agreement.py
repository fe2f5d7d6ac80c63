"""What the solver's half of a rule makes of a decision that is fixed: the rows of that rule alone.

The main variables of an exact board (every node its own class) are set to the decision; whether
the auxiliary ones can be chosen so that every row holds is asked of CP-SAT.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from random import Random

from apportion.models import Config, PodState, Snapshot, Violation
from apportion.policies.api import Constraint, Objective
from apportion.policies.board import Board, Term
from apportion.policies.levels import Levels
from apportion.policies.outcome import Outcome
from apportion.policies.scene import Scene
from apportion.solver.compile import EXACT_PAIRS, compile_board
from apportion.solver.decode import Decision, decode, outcome_of
from apportion.solver.hints import hint_of
from apportion.solver.linear import goal_of, linear_of
from apportion.solver.process import SolverProcess
from oracle.search import Found, Oversize, plans

Values = Sequence[int | None]
PARAMETERS = {"num_workers": 1, "random_seed": 1, "symmetry_level": 0}
NO_LEVELS = Levels({}, {})


@dataclass(frozen=True, slots=True)
class Together:
    """Rules that share their rows: what one of them says plainly, another one tells the solver."""

    name: str
    rules: tuple[Constraint, ...]

    def constrain(self, board: Board) -> None:
        for rule in self.rules:
            rule.constrain(board)

    def check(self, outcome: Outcome) -> Iterable[Violation]:
        for rule in self.rules:
            yield from rule.check(outcome)


class Told:
    """A rule, or a goal, told to a board of its own, and decisions as that board sees them."""

    def __init__(
        self,
        scene: Scene,
        process: SolverProcess,
        rule: Constraint | None = None,
        goal: Objective | None = None,
        levels: Levels = NO_LEVELS,
        exact_pairs: int = EXACT_PAIRS,
    ) -> None:
        self._scene, self._process, self._levels = scene, process, levels
        self._compiled = compile_board(scene, levels, exact_pairs)
        self.board = Board(scene, self._compiled.parts, levels)
        self._movable = {p.key for u in self.board.units for p in u.pods}
        silent = len(self.board.rows)
        if rule is not None:
            rule.constrain(self.board)
        self._sign = -1 if goal is not None and goal.sense == "min" else 1
        terms: Iterable[Term] = goal.cost(self.board) if goal is not None else ()
        self._goal = goal_of((self._sign * c, v) for c, v in terms)
        self.board.close()
        self._says_something = len(self.board.rows) > silent or bool(self._goal.vars)
        self._model = linear_of(self.board)

    def values(self, outcome: Outcome) -> Values | None:
        """Return the main variables' values.

        None if the board cannot express some of the decision: a pod where it fits in no plan, or
        the end of a pod that nobody may evict.
        """
        index = self._scene.index
        places = {k: index[n] for k, n in outcome.places.items()}
        values = hint_of(self.board, self._compiled, Decision(places, outcome.evicted))
        if values is None or not outcome.evicted <= self._movable:
            return None
        if any(x is not None and x > self.board.upper_[v] for v, x in enumerate(values)):
            return None
        return values

    def as_told(self, outcome: Outcome) -> tuple[Outcome, Values] | None:
        """Return the decision as the board tells it, with its values; None if it cannot.

        Equal pods and groups are told apart by the decoder only: it takes the best ranked of them.
        """
        values = self.values(outcome)
        if values is None:
            return None
        decision = decode(self.board, self._compiled, [v or 0 for v in values])
        as_many = len(decision.places), len(decision.evicted)
        if as_many != (len(outcome.places), len(outcome.evicted)):
            return None
        return outcome_of(self._scene, decision, self._levels), values

    def distinct(
        self, outcomes: Iterable[Outcome], wanted: Callable[[Outcome], bool] = lambda _: True
    ) -> Iterator[tuple[Outcome, bool]]:
        """Give wanted decisions as told, once by where pods start, and whether the rows hold."""
        seen: set[object] = set()
        for outcome in outcomes:
            same = self.as_told(outcome)
            if same is None or str(same[0].places) in seen or not wanted(same[0]):
                continue
            seen.add(str(same[0].places))
            yield same[0], self.best(same[1]) is not None

    def best(self, values: Values) -> int | None:
        """Return the best value of the goal (0 without one); None where the rows cannot hold."""
        if not self._says_something:
            return 0
        fixed = [(v, x) for v, x in enumerate(values) if x is not None]
        reply = self._process.solve(self._model, self._goal, (), None, PARAMETERS, None, fixed)
        assert reply.status in ("OPTIMAL", "INFEASIBLE"), reply
        return None if reply.values is None else self._sign * self._goal.value(reply.values)


def legal_plans(snapshot: Snapshot, config: Config, rng: Random, most: int) -> list[Found]:
    """Return some legal plans of the brute force."""
    found: list[Found] = []
    each = plans(snapshot, config, 20_000)
    try:
        for plan in each:
            found.append(plan)
            if len(found) > 10 * most:
                break
    except Oversize:
        pass
    return rng.sample(found, min(most, len(found)))


def near(snapshot: Snapshot, plan: Found, rng: Random) -> Found:
    """Return the plan with a thing or two changed: mostly no longer legal, but nearly so."""
    places, evicted = dict(plan[0]), set(plan[1])
    waiting = [p for p in snapshot.pods if p.ours and p.state is PodState.PENDING]
    running = [p for p in snapshot.pods if p.ours and p.state is PodState.RUNNING]
    for _ in range(rng.choice((1, 1, 2, 3))):
        what = rng.choice(("start", "start", "stop", "evict", "evict group", "spare"))
        if what == "start" and waiting:
            places[rng.choice(waiting).key] = rng.choice(snapshot.nodes).name
        elif what == "stop" and places:
            del places[rng.choice(sorted(places))]
        elif what == "evict" and running:
            evicted.add(rng.choice(running).key)
        elif what == "evict group" and running:
            group = rng.choice(running).group
            evicted |= {p.key for p in running if p.group == group}
        elif what == "spare" and evicted:
            evicted.remove(rng.choice(sorted(evicted)))
    return places, frozenset(evicted)


def decisions(scene: Scene, process: SolverProcess, rng: Random) -> Iterator[Outcome]:
    """Give legal plans and many that are nearly so, as far as the board can express them."""
    snapshot = scene.snapshot
    base = Told(scene, process)
    legal = legal_plans(snapshot, scene.config, rng, 5)
    start = legal or [({}, frozenset())]
    tried = legal + [near(snapshot, rng.choice(start), rng) for _ in range(40)]
    seen: set[object] = set()
    for places, evicted in tried:
        told = base.as_told(Outcome(scene, places, evicted, bound=()))
        if told is not None:
            key = (tuple(sorted(told[0].places.items())), told[0].evicted)
            if key not in seen:
                seen.add(key)
                yield told[0]
