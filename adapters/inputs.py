"""The input of a command: Kubernetes objects, scenarios and snapshots, in any mix, as one case."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from msgspec.structs import replace

from ..models import Config, InputError, Snapshot
from ..models.snapshot import KIND as SNAPSHOT
from ..models.snapshot import from_document
from .configuration import changed
from .files import Document, documents, documents_of
from .kubernetes import QueuesFrom, ReadOptions, snapshot_from
from .questions import Question, questions_of
from .scenario import Scenario, folder_of, is_scenario, named, scenario_of
from .scenario_group import ScenarioGroup
from .scenario_objects import now_of, objects_of

_OURS = b"apportion.dev/"
DEFAULT_NAMES = ("apportion",)


@dataclass(frozen=True, slots=True)
class Asked:
    """What the command line says about reading; empty or None: nothing."""

    scheduler_names: tuple[str, ...] = ()
    queues_from: QueuesFrom | None = None
    now_s: int | None = None
    topology_labels: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Case:
    """A cluster to plan, the settings that came with it, and the scenario it was told in."""

    snapshot: Snapshot
    config: Config
    scenario: Scenario | None = None
    title: str = ""
    questions: tuple[Question, ...] = ()
    """What the scenario asks, beside."""
    from_objects: bool = True
    """More objects can be read beside it; not so where it was a snapshot, or a live cluster."""


def read_case(files: Sequence[str], asked: Asked, stdin: IO[bytes] | IO[str] | None = None) -> Case:
    """Read one cluster.

    Raises
    ------
    InputError
        If a file cannot be read, nothing is in it, or a snapshot or scenario is not alone.
    """
    sorted_out = _sort(documents(files, stdin))
    told = [*sorted_out.scenarios, *sorted_out.snapshots]
    if not told and not sorted_out.others:
        raise InputError(f"there are no objects in {', '.join(map(str, files))}")
    if len(told) > 1:
        names = ", ".join(named(d) for d in told[:4])
        raise InputError(
            f"{len(told)} scenarios and snapshots at once ({names}); plan one at a time, or run "
            "scenarios with: apportion check"
        )
    if sorted_out.scenarios:
        return _scenario_case(sorted_out.scenarios[0], sorted_out.others, asked)
    if sorted_out.snapshots:
        one = sorted_out.snapshots[0]
        if sorted_out.others:
            raise InputError(f"{one.source}: a snapshot is a whole cluster; give it alone")
        return _whole(one.data, one.source, asked)
    return Case(snapshot_from(sorted_out.others, read_options(asked)), Config())


def case_of_snapshot(data: bytes, source: str, asked: Asked) -> Case:
    """Read a snapshot that came from somewhere, gzipped or not.

    Raises
    ------
    InputError
        If it is none.
    """
    found = [d.data for d in documents_of(data, source)]
    if len(found) != 1 or not isinstance(found[0], dict):
        raise InputError(f"{source}: is no snapshot")
    return _whole(found[0], source, asked)


def _whole(data: dict[str, Any], source: str, asked: Asked) -> Case:
    return Case(_snapshot(data, source, asked), Config(), title=source, from_objects=False)


def scenario_cases(files: Sequence[str], asked: Asked) -> Iterable[Case]:
    """Yield every scenario of the files as a case of its own; other objects are passed over."""
    found = 0
    for d in documents(files):
        if _is_ours(d) and is_scenario(d.data):
            found += 1
            yield _scenario_case(d, [], asked)
    if not found:
        raise InputError(f"there is no Scenario in {', '.join(map(str, files))}")


@dataclass(frozen=True, slots=True)
class _Sorted:
    scenarios: list[Document]
    snapshots: list[Document]
    others: list[Document]


def _sort(found: Iterable[Document]) -> _Sorted:
    out = _Sorted([], [], [])
    for d in found:
        if not _is_ours(d):
            out.others.append(d)
        elif is_scenario(d.data):
            out.scenarios.append(d)
        elif d.data.get("kind") == SNAPSHOT:
            out.snapshots.append(d)
        elif d.data.get("kind") == "Configuration":
            raise InputError(f"{named(d)} is a configuration; pass it with --config {d.source}")
        elif d.data.get("kind") == "Plan":
            raise InputError(
                f"{named(d)} is a plan; verify it with: apportion check --plan {d.source} --in FILE"
            )
        else:
            out.others.append(d)
    return out


def _is_ours(d: Document) -> bool:
    if d.raw is not None and _OURS not in bytes(d.raw):
        return False
    data = d.data
    return isinstance(data, dict) and str(data.get("apiVersion")).startswith("apportion.dev/")


def read_options(
    asked: Asked, scenario: Scenario | None = None, config: Config | None = None
) -> ReadOptions:
    """Return how objects are read; what the command line leaves open, scenario or settings say."""
    labels = asked.topology_labels or (config.topology_labels if config is not None else ())
    names, queues_from, now_s = asked.scheduler_names, asked.queues_from, asked.now_s
    if scenario is not None:
        names = names or tuple(scenario.scheduler_names or ())
        queues_from = queues_from or scenario.queues_from
        now_s = now_s if now_s is not None else now_of(scenario)
    return ReadOptions(names or DEFAULT_NAMES, queues_from or "volcano", labels, now_s=now_s)


def _snapshot(data: dict[str, Any], source: str, asked: Asked) -> Snapshot:
    if asked.scheduler_names or asked.queues_from:
        raise InputError(
            f"{source}: a snapshot already says whose pods are planned and which queues count; "
            "leave --scheduler-name and --queues-from out"
        )
    try:
        snapshot = from_document(data)
    except InputError as e:
        raise InputError(f"{source}: {e}") from e
    return snapshot if asked.now_s is None else replace(snapshot, taken_at_s=asked.now_s)


def _scenario_case(document: Document, others: Sequence[Document], asked: Asked) -> Case:
    scenario = scenario_of(document)
    config = changed(Config(), scenario.settings.changes())
    shares = {q.name: q.within for q in scenario.queues if q.within is not None}
    config = changed(config, {"queues": _within(config, shares)})
    folder = folder_of(document)
    title = scenario.metadata.name
    if scenario.cluster.snapshot is not None:
        if others:
            raise InputError(f"{named(document)}: its cluster is a snapshot; give it alone")
        path = str(folder / scenario.cluster.snapshot)
        found = [d for d in documents([path]) if isinstance(d.data, dict)]
        if len(found) != 1:
            raise InputError(f"{path}: holds {len(found)} objects, expected one snapshot")
        snapshot = _snapshot(found[0].data, path, asked)

        def alone(group: ScenarioGroup) -> Snapshot:
            raise InputError(f"submit: {group.name} cannot be read beside a snapshot")

        asks = questions_of(scenario.what_if, snapshot, config, alone, named(document))
        return Case(snapshot, config, scenario, title, asks, from_objects=False)
    options = read_options(asked, scenario, config)
    beside = list(documents([str(Path(folder, f)) for f in scenario.cluster.files]))

    def read(told: Scenario) -> Snapshot:
        made = objects_of(told, options.scheduler_names[0], named(document))
        inside = [Document(document.source, i, data) for i, data in enumerate(made)]
        return snapshot_from([*inside, *beside, *others], options)

    def with_group(group: ScenarioGroup) -> Snapshot:
        return read(scenario.model_copy(update={"groups": [*scenario.groups, group]}))

    snapshot = read(scenario)
    asks = questions_of(scenario.what_if, snapshot, config, with_group, named(document))
    return Case(snapshot, config, scenario, title, asks)


def _within(config: Config, shares: dict[str, Any]) -> dict[str, Any]:
    from ..models import QueueShare

    return {
        name: replace(config.queues.get(name, QueueShare()), within=within)
        for name, within in shares.items()
    }
