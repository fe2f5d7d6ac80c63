"""The world of a question: the files after ``--from``, read once, and a solver for the plans."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from .plan import keeping, solver_for

if TYPE_CHECKING:
    from ...models import Config
    from ...solver.process import SolverProcess
    from ..inputs import Asked, Case
    from .options import Chosen

From = Annotated[
    list[str] | None,
    typer.Option(
        "--from", "-f", metavar="FILE",
        help="Files and folders with the cluster, - for standard input. Repeatable.",
    ),
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class World:
    """A cluster that was read, the settings that it is planned by, and a solver."""

    case: "Case"
    config: "Config"
    process: "SolverProcess | None"


@contextmanager
def opened(
    files: Sequence[str] | None, picked: "Chosen", reading: "Asked", what: str
) -> Iterator[World]:
    """Read the cluster; what fails in the block in a way nobody foresaw keeps the snapshot."""
    from ...models import Config, InputError

    if not files:
        raise InputError("name the cluster that is meant: -f FILE (or folders, or - )")
    with ExitStack() as stack:
        process = solver_for(picked.over(Config()), stack)
        from ..ask.whatif import repeatable
        from ..inputs import read_case
        from .terminal import progress

        with progress(f"reading {', '.join(files)}"):
            case = read_case(files, reading, sys.stdin)
        with keeping(case.snapshot), progress(what):
            yield World(case, repeatable(picked.over(case.config)), process)
