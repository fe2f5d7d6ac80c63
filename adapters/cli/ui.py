"""``apportion ui``: a plan as a local page, with search and questions."""

import asyncio
import contextlib
import signal
from contextlib import ExitStack
from typing import TYPE_CHECKING, Annotated

import typer

from .solving import solver_for
from .world import Asking, of_a_world, opened

if TYPE_CHECKING:
    from ..ui.server import Pages

EXAMPLES = """
\b
Examples:
  apportion ui -f examples/small
  apportion ui -f seen.json.gz --port 8080
"""


@of_a_world
def ui(
    asking: Asking,
    port: Annotated[
        int,
        typer.Option(
            "--port", metavar="N", min=0, max=65535, help="Where to listen. [default: a free port]"
        ),
    ] = 0,
) -> int:
    """Plan a cluster and serve the plan as a page on this machine, until Ctrl-C.

    With search, and a form for what-if changes. Plans are made as with --deterministic.
    """
    with opened(asking, "planning") as world:
        from ...solver.entry import plan
        from ..ui.server import Pages

        snapshot, settings = world.case.snapshot, world.config
        base = plan(snapshot, settings, process=world.process)
    with ExitStack() as stack:
        process = solver_for(settings, stack)
        pages = Pages(snapshot, settings, base, world.source.said, process)
        asyncio.run(_serve(pages, port))
    return 0


async def _serve(pages: "Pages", port: int) -> None:
    from ..ui.server import Server

    server = Server(pages, port)
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    for sign in (signal.SIGINT, signal.SIGTERM):
        with contextlib.suppress(NotImplementedError, RuntimeError, ValueError):
            loop.add_signal_handler(sign, ended.set)
    await server.start()
    print(f"{server.address}\nCtrl-C ends it.", flush=True)
    try:
        await ended.wait()
    finally:
        await server.stop()
