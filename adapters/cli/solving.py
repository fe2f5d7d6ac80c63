"""The solver process of a command, and a snapshot that is saved when a plan fails."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ...models import Config, Snapshot
    from ...solver.process import SolverProcess


def solver_for(config: "Config", stack: ExitStack) -> "SolverProcess | None":
    """Start the solver process, which gets ready while the input is read; None: not needed."""
    if config.engine == "greedy":
        return None
    from ...solver.process import SolverProcess

    return stack.enter_context(SolverProcess(config.memory_limit_mib))


@contextmanager
def keeping(snapshot: "Snapshot") -> Iterator[None]:
    """Save the snapshot to a temporary file if the block fails in a way nobody foresaw."""
    from ...models import BugError, InputError

    try:
        yield
    except (InputError, BrokenPipeError):
        raise
    except Exception as e:
        raise BugError(f"{type(e).__name__}: {e}; {_saved(snapshot)}") from e


def _saved(snapshot: "Snapshot") -> str:
    import gzip
    import os
    import tempfile

    from ...models.snapshot import write

    try:
        data = gzip.compress(write(snapshot))
        handle, name = tempfile.mkstemp(prefix="apportion-", suffix=".json.gz")
        with os.fdopen(handle, "wb") as file:
            file.write(data)
    except Exception as e:
        return f"and the snapshot could not be saved ({type(e).__name__}: {e})"
    return f"the snapshot is in {name}"
