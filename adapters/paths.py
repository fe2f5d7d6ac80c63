"""How a place inside a document is written: ``spec.containers[0].resources.requests.cpu``."""

import re
from collections.abc import Iterable

_PLAIN = re.compile(r"[A-Za-z0-9_-]+")
_LONGEST_KEY = 80


def below(path: str, key: str | int) -> str:
    """Return the path of an entry; keys that hold more than letters, digits, - and _ are quoted."""
    if isinstance(key, int):
        return f"{path}[{key}]"
    if _PLAIN.fullmatch(key) and len(key) <= _LONGEST_KEY:
        return f"{path}.{key}" if path else key
    shown = key if len(key) <= _LONGEST_KEY else key[: _LONGEST_KEY - 3] + "..."
    shown = shown.encode("unicode_escape").decode("ascii")
    return f'{path}["{shown}"]'


def joined(parts: Iterable[str | int]) -> str:
    """Return the path of nested keys and indices."""
    path = ""
    for part in parts:
        path = below(path, part)
    return path
