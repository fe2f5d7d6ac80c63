"""Device selectors: CEL expressions over a device, with a bound on what they may cost.

The environment is that of resource.k8s.io/v1: ``device.driver``,
``device.attributes[domain].name``, ``device.capacity[domain].name``, quantities, versions, and the
usual functions of text. Limits are Kubernetes' own: 10 KiB of text, a cost of 1,000,000 at worst.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any

from ...models.quantity import parse_signed

MOST_TEXT = 10 * 1024
MOST_COST = 1_000_000
_ENTRIES = 32
"""A device has at most so many attributes and capacities."""
_MACRO = re.compile(r"\.\s*(all|exists|exists_one|map|filter)\s*\(")
_TEXT = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'")
_ERRORS = (ValueError, RuntimeError, TypeError, LookupError, ArithmeticError)
_VERSION = re.compile(r"(\d+)\.(\d+)\.(\d+)(?:-([0-9A-Za-z.-]+))?(?:\+[0-9A-Za-z.-]+)?")

Data = dict[str, Any]


class SelectorError(ValueError):
    """An expression that cannot be used; says why."""


class Selector:
    """One expression, ready to be asked about devices.

    Raises
    ------
    SelectorError
        If it is no CEL, or could cost too much.
    """

    def __init__(self, expression: str) -> None:
        self.expression = expression
        import cel  # takes a quarter of a second, which few clusters need

        if len(expression) > MOST_TEXT:
            raise SelectorError(f"is longer than {MOST_TEXT} characters")
        worst = cost(expression)
        if worst > MOST_COST:
            raise SelectorError(f"may take {worst:,} steps, more than {MOST_COST:,}")
        self._domains = {s[1:-1] for s in _TEXT.findall(expression)}
        try:
            self._program = cel.compile(_without_bind(expression))
        except _ERRORS as e:
            raise SelectorError(f"is no CEL: {_first_line(e)}") from e

    def takes(self, device: Data) -> bool:
        """Say whether it takes the device.

        Raises
        ------
        SelectorError
            If it fails on the device, or answers neither true nor false.
        """
        import cel

        empty: Data = {d: {} for d in self._domains}
        # A domain that a device has nothing of is an empty map, as in Kubernetes.
        here = {
            **device,
            "attributes": {**empty, **device["attributes"]},
            "capacity": {**empty, **device["capacity"]},
        }
        context = cel.Context(variables={"device": here}, functions=dict(_FUNCTIONS))
        try:
            found = self._program.execute(context)
        except _ERRORS as e:
            raise SelectorError(f"fails: {_first_line(e)}") from e
        if not isinstance(found, bool):
            raise SelectorError(f"answers {found!r} and neither true nor false")
        return found


@lru_cache(maxsize=1024)
def selector_of(expression: str) -> Selector:
    """Return the selector of an expression, compiled once."""
    return Selector(expression)


def cost(expression: str) -> int:
    """Return a bound on the steps of an expression: its length, times what its macros go through.

    A macro goes through the attributes of a device, or a list that is written in the expression.
    """
    text = _TEXT.sub(lambda m: "x" * len(m.group()), expression)
    longest = max(_ENTRIES, text.count(",") + 1)
    deepest = depth = at = 0
    open_macros: list[int] = []
    starts = {m.end() - 1 for m in _MACRO.finditer(text)}
    for at, c in enumerate(text):
        if c == "(":
            depth += 1
            if at in starts:
                open_macros.append(depth)
                deepest = max(deepest, len(open_macros))
        elif c == ")":
            if open_macros and open_macros[-1] == depth:
                open_macros.pop()
            depth -= 1
    words = len(re.findall(r"\w+|[^\w\s]", text))
    return int(words * longest**deepest)


def _without_bind(expression: str) -> str:
    """Write ``cel.bind(x, value, body)`` as a macro that the library has."""
    while (at := expression.find("cel.bind(")) >= 0:
        parts = list(_arguments(expression, at + len("cel.bind(")))
        if len(parts) != 4:
            return expression
        name, value, body, rest = parts
        expression = f"{expression[:at]}[{value}].map({name.strip()}, {body})[0]{rest}"
    return expression


def _arguments(text: str, start: int) -> Iterator[str]:
    """Yield the arguments of a call whose bracket is open at ``start``, then what follows it."""
    depth, begin, at = 0, start, start
    while at < len(text):
        quoted = _TEXT.match(text, at)
        if quoted:
            at = quoted.end()
            continue
        c = text[at]
        if c in "([{":
            depth += 1
        elif c in ")]}":
            if depth == 0:
                yield text[begin:at]
                yield text[at + 1 :]
                return
            depth -= 1
        elif c == "," and depth == 0:
            yield text[begin:at]
            begin = at + 1
        at += 1


def quantity(text: object) -> Data | None:
    """Return a quantity as expressions see it; None (null) for what is none."""
    try:
        return {"quantity": parse_signed(str(text), "cpu")}
    except ValueError:
        return None


def semver(text: object) -> Data | None:
    """Return a version as expressions see it; None (null) for what is none."""
    match = _VERSION.fullmatch(str(text))
    if match is None:
        return None
    return {"version": [int(match[1]), int(match[2]), int(match[3])], "pre": match[4] or ""}


def _rank(value: Any) -> Any:
    if "quantity" in value:
        return value["quantity"]
    pre = [(0, int(p), "") if p.isdigit() else (1, 0, p) for p in value["pre"].split(".") if p]
    # A version without a suffix comes after all those with one.
    return (value["version"], not pre, pre)


def _compared(word: str) -> Callable[[Any, Any], Any]:
    def compare(a: Any, b: Any) -> Any:
        if not isinstance(a, Mapping) or not isinstance(b, Mapping) or a.keys() != b.keys():
            return None
        x, y = _rank(a), _rank(b)
        sign = (x > y) - (x < y)
        return {"compareTo": sign, "isGreaterThan": sign > 0, "isLessThan": sign < 0}[word]

    return compare


def _of_text(work: Callable[..., Any]) -> Callable[..., Any]:
    def safe(*args: Any) -> Any:
        return work(*args) if args and isinstance(args[0], str) else None

    return safe


_FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "quantity": quantity,
    "semver": semver,
    "isQuantity": lambda text: quantity(text) is not None,
    "isSemver": lambda text: semver(text) is not None,
    **{w: _compared(w) for w in ("compareTo", "isGreaterThan", "isLessThan")},
    "lowerAscii": _of_text(lambda s: s.lower()),
    "upperAscii": _of_text(lambda s: s.upper()),
    "trim": _of_text(lambda s: s.strip()),
    "split": _of_text(lambda s, by: s.split(by) if by else list(s)),
    "replace": _of_text(lambda s, a, b: s.replace(a, b)),
    "indexOf": _of_text(lambda s, part: s.find(part)),
    "substring": _of_text(lambda s, *at: s[slice(*at)] if len(at) == 2 else s[at[0] :]),
}


def _first_line(error: BaseException) -> str:
    said = str(error).splitlines()
    return f"{type(error).__name__}: {said[0][:160] if said else ''}".rstrip(": ")
