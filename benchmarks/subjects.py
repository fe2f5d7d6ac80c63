"""Subjects: what is measured. A module registers its own by ``register``; the driver runs them."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from apportion.models import Config, Snapshot


@dataclass(frozen=True)
class Instance:
    """A cluster to plan, made on demand in a process of its own."""

    name: str
    make: Callable[[], Snapshot]
    config: Config = field(default_factory=lambda: Config(budget_ms=1000))
    wanted: str = ""
    """What the figures should be."""
    short: bool = True
    """Part of the short round."""
    limit_s: float = 60.0
    """Given up after so long, snapshot included; the row says so."""


@dataclass
class Row:
    """What was measured of one instance; times in seconds, memory in MiB (PSS, with children)."""

    name: str
    nodes: int = 0
    pods: int = 0
    waiting: int = 0
    seconds: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    """What the process itself used of the processor meanwhile, its children left out."""
    plain: list[float] = field(default_factory=list)
    """The same work by the plain first-fit pass, in the same runs."""
    started: int | None = None
    started_plain: int | None = None
    evicted: int | None = None
    gap: float | None = None
    """The worst gap of the repair and admission tiers; None: nothing was proven."""
    memory_mib: float | None = None
    engine: str = ""
    note: str = ""
    wanted: str = ""
    more: dict[str, Any] = field(default_factory=dict)
    """Further figures, by name."""

    def data(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class Subject:
    """A question, and the function that measures it: ``rows(short, runs)``."""

    name: str
    about: str
    rows: Callable[[bool, int], Sequence[Row]]
    against_size: bool = False
    """Its plot shows time against the number of nodes."""
    instances: tuple[Instance, ...] = ()


SUBJECTS: dict[str, Subject] = {}


def register(subject: Subject) -> Subject:
    """Make the subject known under its name."""
    assert subject.name not in SUBJECTS, f"two subjects named {subject.name}"
    SUBJECTS[subject.name] = subject
    return subject


def plans(
    name: str, about: str, instances: Sequence[Instance], against_size: bool = False
) -> Subject:
    """Register a subject that plans its instances, each in a process of its own."""
    from .apart import measured

    of = tuple(instances)

    def rows(short: bool, runs: int) -> list[Row]:
        return [measured(name, i, runs) for i in of if i.short or not short]

    return register(Subject(name, about, rows, against_size, of))
