"""``apportion rules``: every rule, built in or installed, with its options."""

import dataclasses
from collections.abc import Callable
from typing import Any

EXAMPLES = """
\b
Example:
  apportion rules
"""


def rules() -> None:
    """List the rules that plans obey, with their options.

    Rules of installed packages (entry point group apportion.rules) are listed too. A rule is
    turned off by its name under off:, and an option is set under options:, in a configuration
    file; rules marked "always on" cannot be turned off.
    """
    from ...policies.registry import ALWAYS_ON, built_in, installed
    from .terminal import console

    out = console()
    extra = installed()
    for name, make in {**built_in(), **extra}.items():
        marks = [m for m, is_it in (("always on", name in ALWAYS_ON), ("installed", name in extra))
                 if is_it]  # fmt: skip
        note = f"  ({', '.join(marks)})" if marks else ""
        out.print(f"[bold]{name}[/]{note}", highlight=False)
        out.print(f"    {_summary(make)}", markup=False, highlight=False)
        for option in _options(make):
            out.print(f"    {option}", markup=False, highlight=False)


def _summary(make: Callable[..., Any]) -> str:
    return (make.__doc__ or "").strip().split("\n\n")[0].replace("\n", " ")


def _options(make: Callable[..., Any]) -> list[str]:
    rule = make()
    if not dataclasses.is_dataclass(rule):
        return []
    return [
        f"option {f.name}: {_kind(f.type)} (default {getattr(rule, f.name)!r})"
        for f in dataclasses.fields(rule)
        if f.name != "name"
    ]


def _kind(kind: Any) -> str:
    return kind if isinstance(kind, str) else getattr(kind, "__name__", str(kind))
