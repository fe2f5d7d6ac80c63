"""Numbered names: ``gpu-{i}`` and ``rack-{i//4}``, with nothing but + - * // % over i."""

import ast
import operator
import re
from collections.abc import Callable, Mapping
from typing import Any

from .paths import below

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


class PatternError(ValueError):
    """A pattern that has no value at one of its numbers, and where it stands."""

    def __init__(self, path: str, message: str) -> None:
        super().__init__(message)
        self.path = path


def filled_in(value: Any, i: int, path: str = "") -> Any:
    """Return plain data with the patterns in all its texts filled; keys stay as they are.

    Raises
    ------
    PatternError
        With the path of the text, below the one that is given.
    """
    if isinstance(value, str):
        try:
            return filled(value, i)
        except ValueError as e:
            raise PatternError(path, f"at i = {i}: {e}") from None
    if isinstance(value, dict):
        return {k: filled_in(v, i, below(path, str(k))) for k, v in value.items()}
    if isinstance(value, list):
        return [filled_in(v, i, below(path, n)) for n, v in enumerate(value)]
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
