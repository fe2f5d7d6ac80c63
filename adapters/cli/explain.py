"""``apportion explain``: why a group waits, and the smallest changes that would start it."""

import sys
import time
from typing import Annotated

import typer

from .documents import Form, write
from .world import Asking, of_a_world, opened

EXAMPLES = """
\b
Examples:
  apportion explain research/huge -f examples/small
  apportion explain notes -f examples/small --no-changes --output json
"""
LIMIT_S = 60


@of_a_world
def explain(
    group: Annotated[
        str,
        typer.Argument(metavar="GROUP", help="namespace/name, a name, or one of its pods."),
    ],
    asking: Asking,
    changes: Annotated[
        bool,
        typer.Option(help="Try changes that would start the group. [default: changes]",
                     show_default=False),
    ] = True,
    output: Annotated[
        Form, typer.Option("--output", "-o", help="A page to read, or data.")
    ] = Form.TABLE,
) -> int:  # fmt: skip
    """Say why a group waits, and what would let it start.

    Held by rules: a smallest set of rules that cannot hold together with it, and who has what it
    needs. Held by the order: who stands before it, and why that does not give way. Then the
    smallest changes of each kind that would start it, each of them planned before it is told.
    """
    what = f"looking for what holds {group}"
    with opened(asking, what, deterministic=False) as world:
        from ..ask.edit_words import group_key
        from ..ask.explain import explain as why
        from ..ask.explain import to_document

        until = time.monotonic() + LIMIT_S
        found = why(
            world.case.snapshot, world.config, group_key(world.case.snapshot, group),
            process=world.process, changes=changes, stop=lambda: time.monotonic() > until,
        )  # fmt: skip
        if output is Form.TABLE:
            from .explain_page import show

            show(found)
        else:
            write(to_document(found), output, sys.stdout)
    return 0
