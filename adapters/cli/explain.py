"""``apportion explain``: why a group waits, and the smallest changes that would start it."""

import sys
import time
from typing import TYPE_CHECKING, Annotated

import typer

from .documents import Form, write, write_page
from .world import Asking, of_a_world, opened

if TYPE_CHECKING:
    from ...models import Plan

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

        key = group_key(world.case.snapshot, group)
        made: Plan | None = None
        if output is Form.HTML:
            from ...solver.entry import plan
            from ..ask.trial import is_small
            from ..ask.whatif import repeatable

            # The page shows the plan in which the group waits.
            config = repeatable(world.config) if is_small(world.case.snapshot) else world.config
            made = plan(world.case.snapshot, config, process=world.process)
        until = time.monotonic() + LIMIT_S
        found = why(
            world.case.snapshot, world.config, key, known=made,
            process=world.process, changes=changes, stop=lambda: time.monotonic() > until,
        )  # fmt: skip
        if output is Form.TABLE:
            from .explain_page import show

            show(found, tried=changes)
        elif output is Form.HTML:
            from ..report.answers import why_page

            assert made is not None
            page = why_page(
                found, made, world.case.snapshot, world.config, world.source.said, tried=changes
            )
            write_page(page, sys.stdout)
        else:
            write(to_document(found), output, sys.stdout)
    return 0
