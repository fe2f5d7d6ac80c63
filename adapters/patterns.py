"""Numbered names: ``gpu-{i}`` and ``rack-{i//4}``, with nothing but + - * // % over i."""

import ast
import operator
import re
from collections.abc import Callable, Mapping
from typing import Any

_HOLE = re.compile(r"\{([^{}]*)\}")
_OPERATIONS: Mapping[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_LONGEST = 60


def filled(pattern: str, i: int) -> str:
    """Return the text with every ``{...}`` replaced by its value at i.

    Raises
    ------
    ValueError
        If a hole holds anything but whole numbers, i, + - * // % and brackets.
    """
    return _HOLE.sub(lambda hole: str(_value(hole[1], i)), pattern)


def filled_in(value: Any, i: int) -> Any:
    """Return plain data with the patterns in all its texts filled; keys stay as they are."""
    if isinstance(value, str):
        return filled(value, i)
    if isinstance(value, dict):
        return {k: filled_in(v, i) for k, v in value.items()}
    if isinstance(value, list):
        return [filled_in(v, i) for v in value]
    return value


def _value(text: str, i: int) -> int:
    complaint = ValueError(
        f"'{{{text[:_LONGEST]}}}' is no pattern; write i, whole numbers and + - * // %, "
        "such as {i} or {i//4}"
    )
    if len(text) > _LONGEST:
        raise complaint
    try:
        found = _walk(ast.parse(text.strip(), mode="eval").body, i)
    except (SyntaxError, ValueError, ZeroDivisionError, RecursionError, MemoryError):
        raise complaint from None
    if abs(found) >= 1 << 63:
        raise complaint
    return found


def _walk(node: ast.expr, i: int) -> int:
    match node:
        case ast.Constant(value=int(number)) if not isinstance(number, bool):
            return number
        case ast.Name(id="i"):
            return i
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            return -_walk(inner, i)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATIONS:
            return _OPERATIONS[type(op)](_walk(left, i), _walk(right, i))
    raise ValueError("not allowed")
