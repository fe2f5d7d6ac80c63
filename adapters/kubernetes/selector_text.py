"""Label selectors as kubectl writes them: ``pool=gpu,zone in (a,b),!spot``."""

import re

from ...models import LabelSelector, Requirement

_KEY = r"(?:[a-z0-9](?:[-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9](?:[-_.A-Za-z0-9]*[A-Za-z0-9])?"
_VALUE = r"(?:[A-Za-z0-9](?:[-_.A-Za-z0-9]*[A-Za-z0-9])?)?"
_EQUAL = re.compile(rf"({_KEY})\s*(==|=|!=)\s*({_VALUE})")
_SET = re.compile(rf"({_KEY})\s+(in|notin)\s*\(([^()]*)\)")
_THERE = re.compile(rf"(!?)\s*({_KEY})")
_COMMA = re.compile(r",(?![^()]*\))")


def selector_of(text: str) -> LabelSelector:
    """Read a selector; every part must hold.

    Raises
    ------
    ValueError
        That says which part cannot be read, and how one is written.
    """
    found = [_requirement(part.strip()) for part in _COMMA.split(text)]
    return LabelSelector(tuple(sorted(set(found))))


def _requirement(part: str) -> Requirement:
    if m := _EQUAL.fullmatch(part):
        return Requirement(m[1], "NotIn" if m[2] == "!=" else "In", (m[3],))
    if m := _SET.fullmatch(part):
        values = tuple(sorted({v.strip() for v in m[3].split(",")}))
        if all(re.fullmatch(_VALUE, v) for v in values):
            return Requirement(m[1], "In" if m[2] == "in" else "NotIn", values)
    elif m := _THERE.fullmatch(part):
        return Requirement(m[2], "DoesNotExist" if m[1] else "Exists")
    raise ValueError(
        f"{part[:60]!r} is no requirement on a label; write key=value, key!=value, "
        "key in (a,b), key notin (a,b), key or !key"
    )
