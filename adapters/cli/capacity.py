"""``apportion capacity``: how many more copies of a group would start, now and per node added."""

import sys
from typing import Annotated

import typer

from .documents import Form, write, write_page
from .world import Asking, of_a_world, opened

EXAMPLES = """
\b
Examples:
  apportion capacity lab/notes -f examples/small
  apportion capacity research/train -f examples/small --like gpu-a --nodes 2 --output json
"""


@of_a_world
def capacity(
    group: Annotated[
        str,
        typer.Argument(metavar="GROUP", help="namespace/name, a name, or one of its pods."),
    ],
    asking: Asking,
    like: Annotated[
        list[str] | None,
        typer.Option(
            "--like",
            metavar="NODE",
            help="Models of added nodes. Repeatable. [default: one of each size that helps]",
        ),
    ] = None,
    nodes: Annotated[
        list[int] | None,
        typer.Option(
            "--nodes", metavar="N", min=1, max=1000,
            help="How many are added. Repeatable. [default: 1, 2, 4]",
        ),
    ] = None,
    output: Annotated[
        Form, typer.Option("--output", "-o", help="A page to read, or data.")
    ] = Form.TABLE,
) -> int:  # fmt: skip
    """Say how many more copies of a group would start, now and with nodes added.

    Beside everything else: nothing more is evicted for them, and all that would start without
    them starts. Each number was planned; without "at least", one copy more does not start.
    """
    with opened(asking, f"planning copies of {group}") as world:
        from ..ask.capacity import capacity as how_many
        from ..ask.capacity import models_for, to_document
        from ..ask.edit_words import group_key

        snapshot = world.case.snapshot
        key = group_key(snapshot, group)
        models = like or [n.name for n in models_for(snapshot, key)][:2]
        found = how_many(
            snapshot, world.config, key, models=models, numbers=nodes or (1, 2, 4),
            process=world.process,
        )  # fmt: skip
        if output is Form.TABLE:
            from .ask_pages import show_capacity

            show_capacity(found)
        elif output is Form.HTML:
            from ..report.capacity import capacity_page

            write_page(capacity_page(found, world.source.said), sys.stdout)
        else:
            write(to_document(found), output, sys.stdout)
    return 0
