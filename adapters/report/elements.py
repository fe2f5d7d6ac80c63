"""Elements: markup is made here alone, and every string that goes into it becomes text."""

from collections.abc import Iterable
from dataclasses import dataclass

from ..cli.words import plain

_ENTITIES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;"})
_EMPTY = frozenset({"meta", "link", "input", "br", "rect", "line", "path", "circle", "use"})
"""Elements without content."""


@dataclass(frozen=True, slots=True)
class Html:
    """Markup; no string becomes one but by :func:`tag` and :func:`verbatim`."""

    markup: str


Part = Html | str | int
"""What may be inside an element."""
Attribute = str | int | float | bool | None


def escape(text: str) -> str:
    """Return the text as HTML shows it, inside elements and quoted attributes alike.

    Control characters, and those that turn or hide text (right-to-left overrides), are written out.
    """
    return plain(text).translate(_ENTITIES)


def tag(element: str, /, *parts: Part, **attributes: Attribute) -> Html:
    """Return an element.

    Underscores of an attribute's name become hyphens, one at its end is dropped (``class_``). True
    stands for the bare attribute; one that is None or False is left out.
    """
    head = "".join(
        f" {_name(key)}" if value is True else f' {_name(key)}="{_value(value)}"'
        for key, value in attributes.items()
        if value is not None and value is not False
    )
    if element in _EMPTY:
        return Html(f"<{element}{head}/>")
    return Html(f"<{element}{head}>{joined(parts).markup}</{element}>")


def joined(parts: Iterable[Part]) -> Html:
    """Return the parts one after the other."""
    return Html("".join(p.markup if isinstance(p, Html) else escape(str(p)) for p in parts))


def name(text: str) -> Html:
    """Return a name from the cluster, set apart so that its direction turns nothing around it."""
    return tag("bdi", text)


def verbatim(source: str) -> Html:
    """Return source of our own (style, script) as it is; never anything from a cluster.

    Raises
    ------
    ValueError
        If it would end its element.
    """
    if "</" in source:
        raise ValueError("style or script must not hold '</'")
    return Html(source)


def _name(key: str) -> str:
    return key.rstrip("_").replace("_", "-")


def _value(value: str | float) -> str:
    if isinstance(value, float):
        return f"{value:.2f}".rstrip("0").rstrip(".")
    return escape(str(value))
