"""What is said where a name is asked for that there is not."""

from collections.abc import Iterable
from difflib import get_close_matches

from .errors import InputError

_MOST = 3


def unknown(kind: str, name: str, known: Iterable[str]) -> InputError:
    """Return the error that says so, with the names that are near."""
    names = sorted(known)
    if meant := did_you_mean(name, names):
        return InputError(f"there is no {kind} {name}; {meant}")
    some = ", ".join(names[:5]) + (", ..." if len(names) > 5 else "")
    return InputError(f"there is no {kind} {name}; there are: {some or 'none'}")


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return the question with the names that are near; empty where none is."""
    names = sorted(known)
    near = get_close_matches(name, names, _MOST, 0.5)
    if not near and "/" not in name:
        short = get_close_matches(name, {n.rsplit("/", 1)[-1] for n in names}, _MOST, 0.5)
        near = [n for n in names if n.rsplit("/", 1)[-1] in short][:_MOST]
    return f"did you mean {', '.join(near)}?" if near else ""
