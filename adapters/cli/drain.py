"""``apportion drain``: which nodes can be emptied, in what order, and who moves where."""

import sys
from typing import Annotated

import typer

from .documents import Form, write, write_page
from .world import Asking, of_a_world, opened

EXAMPLES = """
\b
Examples:
  apportion drain cpu-a gpu-b -f examples/small
  apportion drain gpu-a -f examples/small --output json
"""


@of_a_world
def drain(
    nodes: Annotated[list[str], typer.Argument(metavar="NODE...", help="The nodes.")],
    asking: Asking,
    output: Annotated[
        Form, typer.Option("--output", "-o", help="A page to read, or data.")
    ] = Form.TABLE,
) -> int:
    """Say which nodes can be emptied without stopping what must not stop, and in what order.

    Nothing is changed. Each node is emptied on a copy of the cluster, with all of the named nodes
    cordoned, and the plan says what becomes of its pods.
    """
    with opened(asking, "planning the cluster without the nodes") as world:
        from ..ask.drain import draining, to_document

        found = draining(world.case.snapshot, world.config, nodes, process=world.process)
        if output is Form.TABLE:
            from .ask_pages import show_draining

            show_draining(found)
        elif output is Form.HTML:
            from ..report.draining import draining_page

            write_page(draining_page(found, world.source.said), sys.stdout)
        else:
            write(to_document(found), output, sys.stdout)
    return 0
