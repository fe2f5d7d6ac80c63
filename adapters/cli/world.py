"""The world of a question: where the cluster is, how it is read, by which settings it is planned.

Commands that ask about a cluster take an :class:`Asking` and are decorated with :func:`of_a_world`,
which gives them the options that one is made of.
"""

import functools
import inspect
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .options import (
    Budget,
    ConfigFile,
    Context,
    Moves,
    Now,
    QueuesFromOption,
    QueueSource,
    SchedulerNames,
    Seed,
    TopologyLabels,
    asked,
    chosen,
)
from .solving import keeping, solver_for
from .source import Source

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
ReadFrom = Annotated[
    str | None,
    typer.Option(
        "--kubeconfig", metavar="[FILE]",
        help="Read a live cluster. [default: the pod's service account, else kubectl's file]",
    ),
]  # fmt: skip
Live = Annotated[
    str | None,
    typer.Option(
        "--live", metavar="URL", help="What a running scheduler saw last: where it listens."
    ),
]
TokenFile = Annotated[
    str | None,
    typer.Option(
        "--token-file", metavar="FILE",
        help="The token that --live shows. [default: the variable APPORTION_TOKEN]",
    ),
]  # fmt: skip
MISSING = (
    "name the cluster that is meant: -f FILE (or folders, or - ), --kubeconfig of a live one, or "
    "--live URL of a running scheduler"
)


@dataclass(frozen=True, slots=True)
class Asking:
    """What the options of a question say, not looked at yet."""

    source: Source
    config: str | None = None
    budget: str | None = None
    seed: int | None = None
    scheduler_names: list[str] | None = None
    queues_from: QueueSource | None = None
    topology_labels: str | None = None
    now: str | None = None
    moves: int | None = None

    def settled(self, deterministic: bool = True) -> "tuple[Chosen, Asked]":
        """Return settings and way of reading.

        Raises
        ------
        InputError
            If an option cannot be understood.
        """
        picked = chosen(
            self.config, self.budget, self.seed, deterministic, self.topology_labels, self.moves
        )
        return picked, asked(self.scheduler_names, self.queues_from, self.now, picked)


def _places(
    world: From = None,
    kubeconfig: ReadFrom = None,
    context: Context = None,
    live: Live = None,
    token_file: TokenFile = None,
) -> None:
    """Show which options say where the cluster is."""


def _manners(
    config: ConfigFile = None,
    budget: Budget = None,
    seed: Seed = None,
    scheduler_name: SchedulerNames = None,
    queues_from: QueuesFromOption = None,
    topology_labels: TopologyLabels = None,
    now: Now = None,
    moves: Moves = None,
) -> None:
    """Show which options say how it is read and planned."""


def of_a_world(command: Callable[..., int]) -> Callable[..., int]:
    """Give a command the options of a world in place of its parameter of type Asking.

    One that only reads has a Source instead, and gets the options that say where the cluster is.
    """
    own = _parameters(command)
    at = next(i for i, p in enumerate(own) if p.annotation in (Asking, Source))
    places = _parameters(_places)
    manners = _parameters(_manners) if own[at].annotation is Asking else []
    keyword = inspect.Parameter.KEYWORD_ONLY
    shown = [
        p.replace(kind=keyword) for p in (*own[:at], *places, *own[at + 1 :], *manners)
    ]  # fmt: skip

    @functools.wraps(command)
    def with_options(**given: Any) -> int:
        place = {p.name: given.pop(p.name) for p in places}
        what: Any = Source(place.pop("world") or (), **place)
        if manners:
            manner = {p.name: given.pop(p.name) for p in manners}
            what = Asking(what, scheduler_names=manner.pop("scheduler_name"), **manner)
        return command(**{own[at].name: what}, **given)

    with_options.__signature__ = inspect.Signature(shown)  # type: ignore[attr-defined]
    with_options.__annotations__ = {p.name: p.annotation for p in shown}
    return with_options


def _parameters(of: Callable[..., Any]) -> list[inspect.Parameter]:
    return list(inspect.signature(of, eval_str=True).parameters.values())


@dataclass(frozen=True, slots=True)
class World:
    """A cluster that was read, the settings that it is planned by, and a solver."""

    case: "Case"
    config: "Config"
    process: "SolverProcess | None"
    reading: "Asked"
    source: Source


@contextmanager
def opened(asking: Asking, what: str, *, deterministic: bool = True) -> Iterator[World]:
    """Read the cluster; what fails in the block in a way nobody foresaw keeps the snapshot."""
    from ...models import Config

    source = asking.source.checked(MISSING)
    picked, reading = asking.settled(deterministic)
    with ExitStack() as stack:
        process = solver_for(picked.over(Config()), stack)
        from ..ask.whatif import repeatable
        from .terminal import progress

        with progress(f"reading {source.said}"):
            case = source.read(reading)
        with keeping(case.snapshot), progress(what):
            settings = picked.over(case.config)
            yield World(
                case, repeatable(settings) if deterministic else settings, process, reading, source
            )
