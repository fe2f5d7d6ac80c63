"""Weak duality: what no point of a linear program can surpass, whatever made the multipliers.

For multipliers y ≥ 0 of the rows A·x ≤ b and l ≤ x ≤ u, l ≥ 0:
c·x ≤ y·b + Σ_j max(g_j · l_j, g_j · u_j) with g = c − yᵀA. In floating point every sum is widened
by what its rounding can amount to (n terms: at most γ_n · Σ|terms|, γ_n = n·ε / (1 − n·ε)), so that
the value is a bound of the program as it is written, not of what a solver made of it.
"""

import numpy as np

from .program import Program, Real

EPSILON = float(np.finfo(np.float64).eps)


def upper_bound(program: Program, goal: Real, multipliers: Real, lower: Real, upper: Real) -> float:
    """Return a value that the goal surpasses nowhere in the program, columns within these."""
    y = np.maximum(np.nan_to_num(multipliers, posinf=0.0, neginf=0.0), 0.0)
    rows, columns, coefs = program.entries
    parts = y[rows] * coefs
    n = program.columns
    paid = np.bincount(columns, weights=parts, minlength=n)
    size = np.bincount(columns, weights=np.abs(parts), minlength=n) + np.abs(goal)
    terms = np.bincount(columns, minlength=n) + 4
    gain = goal - paid + _gamma(terms) * size
    bought = np.maximum(gain * upper, gain * lower)
    fixed = y * program.most
    total = float(fixed.sum() + bought.sum())
    scale = float(np.abs(fixed).sum() + np.abs(bought).sum())
    return total + float(_gamma(np.array(len(fixed) + len(bought) + 8))) * scale


def _gamma(terms: "np.ndarray[tuple[int, ...], np.dtype[np.int64]]") -> Real:
    part = 2.0 * terms * EPSILON
    return np.asarray(part / (1.0 - part))
