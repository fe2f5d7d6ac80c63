"""What the solver is told and what the checker says agree on the plans that leave the solver.

Every plan, exchanges of the order list followed, is given back to the model with all it decides
fixed: the rows must let it pass, and each level of work must be worth what the checker measures.
"""

from collections.abc import Iterator

from apportion.models import Config, Snapshot
from apportion.policies.fairness import Work
from apportion.policies.goals import goals_for
from apportion.policies.outcome import Outcome
from apportion.policies.scene import Scene
from apportion.solver.compile import compile_board
from apportion.solver.entry import build, decision_of
from apportion.solver.hints import hint_of
from apportion.solver.linear import goal_of, linear_of
from apportion.solver.process import Reply, SolverProcess
from apportion.solver.search import parameters_of
from apportion.solver.stages import Stage, stages_of
from properties.solved import Solved, solved
from properties.trials import Fault, Tally

APART = "rows and checker apart"


def faults(
    solver: SolverProcess, tally: Tally, snapshot: Snapshot, settings: Config
) -> Iterator[Fault]:
    """Give where the rows and the checker differ."""
    made = solved(snapshot, settings, solver)
    tally.note(made.plan)

    for said in ("the solver's plan breaks", "the greedy plan is"):
        if said in made.plan.solver.detail:
            yield Fault(APART, made.plan.solver.detail)
    for outcome in (made.found, made.outcome):
        outcome.levels = made.levels
        stages, reply = _fixed(made, outcome, settings, solver)
        if reply is None or reply.values is None:
            why = "no place in the model" if reply is None else reply.status
            yield Fault(APART, f"a plan that the checker accepts: {why}")
            continue
        for goal in {s.goal.name: s.goal for s in stages if isinstance(s.goal, Work)}.values():
            mine = sum(s.weight * s.terms.value(reply.values) for s in stages if s.goal is goal)
            if mine != goal.measure(outcome):
                yield Fault(APART, f"{goal.name}: {mine} instead of {goal.measure(outcome)}")


def _fixed(
    made: Solved, outcome: Outcome, config: Config, process: SolverProcess
) -> tuple[list[Stage], Reply | None]:
    """Solve with every decision of the outcome fixed: only auxiliary variables are open."""
    scene = Scene(made.scene.snapshot, config, made.scene.rules)
    compiled = compile_board(scene, made.levels)
    board = build(scene, compiled, made.levels)
    stages = stages_of(board, goals_for(config, scene.rules))
    values = hint_of(board, compiled, decision_of(outcome))
    if values is None:
        return stages, None
    fixed = [(v, x) for v, x in enumerate(values) if x is not None]
    reply = process.solve(
        linear_of(board), goal_of(()), (), None, parameters_of(config), None, fixed
    )
    return stages, reply
