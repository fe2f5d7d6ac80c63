"""Solving: multipliers for the rows of a linear program, by GLOP of the OR-Tools wheel.

Nothing rests on them but how tight a bound is (see duality).
"""

from dataclasses import dataclass
from datetime import timedelta

import numpy as np
from ortools.math_opt import (
    callback_pb2,
    model_parameters_pb2,
    model_pb2,
    model_update_pb2,
    parameters_pb2,
)
from ortools.math_opt.core.python import solver
from pybind11_abseil.status import StatusNotOk

from .program import Program, Real

PATIENCE = 5
"""How many times as long a solve may take by the clock, on a busy machine."""


@dataclass(frozen=True)
class Solution:
    """A point, and multipliers of the rows."""

    values: Real
    multipliers: Real


class Solver:
    """Solves one program again and again, with other goals and bounds of columns."""

    def __init__(self, program: Program, goal: Real) -> None:
        self._program = program
        self._goal = goal = goal / _size(goal)
        self._lower = np.zeros(program.columns)
        self._upper = program.upper
        self._solver = _new(program, goal)

    def maximize(self, goal: Real, lower: Real, upper: Real, limit_s: float) -> Solution | None:
        """Return the best point found; None where there is none in time, or none at all.

        The limit is GLOP's own count of work, which is about processor time; the clock only ends
        what takes far longer.

        GLOP gives up on some programs for numerical trouble; then there is none, either.
        """
        size = _size(goal)
        self._tell(goal / size, lower, upper)
        asked = parameters_pb2.SolveParametersProto()
        asked.glop.max_deterministic_time = limit_s
        asked.time_limit.FromTimedelta(timedelta(seconds=PATIENCE * limit_s))
        try:
            result = self._solver.solve(
                asked,
                model_parameters_pb2.ModelSolveParametersProto(),
                None,
                callback_pb2.CallbackRegistrationProto(),
                None,
                None,
            )
        except StatusNotOk:
            self._begin_anew()
            return None
        for found in result.solutions:
            if found.HasField("dual_solution") and found.HasField("primal_solution"):
                point = found.primal_solution.variable_values
                dual = found.dual_solution.dual_values
                return Solution(
                    _dense(point.ids, point.values, self._program.columns),
                    _dense(dual.ids, dual.values, self._program.rows) * size,
                )
        return None

    def _begin_anew(self) -> None:
        """Forget what the solver knows: what it gave up on is no good start for another solve."""
        self._lower, self._upper = np.zeros(self._program.columns), self._program.upper
        self._solver = _new(self._program, self._goal)

    def _tell(self, goal: Real, lower: Real, upper: Real) -> None:
        update = model_update_pb2.ModelUpdateProto()
        for mine, new, of in (
            (self._lower, lower, update.variable_updates.lower_bounds),
            (self._upper, upper, update.variable_updates.upper_bounds),
            (self._goal, goal, update.objective_updates.linear_coefficients),
        ):
            changed = np.flatnonzero(mine != new)
            of.ids.extend(changed.tolist())
            of.values.extend(new[changed].tolist())
        self._lower, self._upper, self._goal = lower, upper, goal
        self._solver.update(update)


def _new(program: Program, goal: Real) -> solver.Solver:
    return solver.new(
        parameters_pb2.SOLVER_TYPE_GLOP,
        _model(program, goal),
        parameters_pb2.SolverInitializerProto(),
    )


def _size(goal: Real) -> float:
    """Return a power of two near the largest coefficient: solvers like small ones."""
    return float(2.0 ** np.ceil(np.log2(max(1.0, float(np.abs(goal).max(initial=0.0))))))


def _dense(ids: "list[int]", values: "list[float]", size: int) -> Real:
    out = np.zeros(size)
    out[np.array(ids, dtype=np.int64)] = np.array(values, dtype=np.float64)
    return out


def _model(program: Program, goal: Real) -> model_pb2.ModelProto:
    model = model_pb2.ModelProto()
    n, m = program.columns, program.rows
    model.variables.ids.extend(range(n))
    model.variables.lower_bounds.extend([0.0] * n)
    model.variables.upper_bounds.extend(program.upper.tolist())
    model.variables.integers.extend([False] * n)
    model.objective.maximize = True
    some = np.flatnonzero(goal)
    model.objective.linear_coefficients.ids.extend(some.tolist())
    model.objective.linear_coefficients.values.extend(goal[some].tolist())
    model.linear_constraints.ids.extend(range(m))
    model.linear_constraints.lower_bounds.extend([-np.inf] * m)
    model.linear_constraints.upper_bounds.extend(program.most.tolist())
    rows, columns, coefs = program.entries
    places, at = np.unique(rows * n + columns, return_inverse=True)
    sums = np.bincount(at, weights=coefs, minlength=len(places))
    kept = sums != 0
    matrix = model.linear_constraint_matrix
    matrix.row_ids.extend((places[kept] // n).tolist())
    matrix.column_ids.extend((places[kept] % n).tolist())
    matrix.coefficients.extend(sums[kept].tolist())
    return model
