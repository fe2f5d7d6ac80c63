"""What the solver is told and what the checker says agree on the plans that leave the solver.

Every plan, exchanges of the order list followed, is given back to the model with all that it decides
fixed: the rows must let it pass, and each level of work must be worth what the checker measures.
"""

import pytest

from apportion.models import Config, Snapshot
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
from properties.clusters import LARGE
from properties.solved import Solved, solved
from properties.trials import Tally, on_clusters, shards


@pytest.mark.parametrize("shard", shards(2, 20_000))
def test_rows_accept_what_the_checker_accepts(
    shard: int, solver: SolverProcess, tally: Tally
) -> None:
    def check(snapshot: Snapshot, config: Config) -> None:
        made = solved(snapshot, config, solver)
        tally.note(made.plan)

        assert "the solver's plan breaks" not in made.plan.solver.detail
        assert "the greedy plan is" not in made.plan.solver.detail
        for outcome in (made.found, made.outcome):
            outcome.levels = made.levels
            stages, reply = _fixed(made, outcome, config, solver)
            assert reply.status == "OPTIMAL"
            assert reply.values is not None
            for goal in (s.goal for s in stages if s.work):
                mine = sum(s.weight * s.terms.value(reply.values) for s in stages if s.goal is goal)
                assert mine == goal.measure(outcome)

    on_clusters(shard, LARGE, tally, check)


def _fixed(
    made: Solved, outcome: Outcome, config: Config, process: SolverProcess
) -> tuple[list[Stage], Reply]:
    """Solve with every decision of the outcome fixed: only auxiliary variables are open."""
    scene = Scene(made.scene.snapshot, config, made.scene.rules)
    compiled = compile_board(scene, made.levels)
    board = build(scene, compiled, made.levels)
    stages = stages_of(board, goals_for(config, scene.rules))
    values = hint_of(board, compiled, decision_of(outcome))
    assert values is not None, "the model has no place for what the plan does"
    fixed = [(v, x) for v, x in enumerate(values) if x is not None]
    reply = process.solve(
        linear_of(board), goal_of(()), (), None, parameters_of(config), None, fixed
    )
    return stages, reply
