"""A name in a column: one that is too long goes on in the next line after a mark, not in a word."""

import re
from typing import Any

from rich.console import Console
from rich.containers import Lines
from rich.text import Text

_MARKS = re.compile(r"[/._:-]")


class Name(Text):
    """Text without spaces, such as ``namespace/name``."""

    def wrap(self, console: Console, width: int, **options: Any) -> Lines:
        """Return its lines, each of at most so many columns."""
        return Text(folded(self.plain, width), self.style).wrap(console, width, **options)


def folded(name: str, width: int) -> str:
    """Return the name with line ends after the last mark that each line has room for."""
    lines = []
    while len(name) > width > 0:
        ends = [m.end() for m in _MARKS.finditer(name, 0, width)]
        end = ends[-1] if ends else width
        lines.append(name[:end])
        name = name[end:]
    return "\n".join([*lines, name])
