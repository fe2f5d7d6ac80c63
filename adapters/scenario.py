"""A Scenario document: a little cluster, its queues and groups, and what is expected of them."""

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from .configuration import Settings
from .expectations import Expectation
from .files import Document
from .scenario_group import (
    Count,
    Labels,
    Moment,
    Name,
    Pattern,
    Quantities,
    ScenarioGroup,
    no_number,
)
from .scenario_whatif import ScenarioWhatIf
from .strict import API_VERSION, Strict, parsed

KIND = "Scenario"
_LATER = {
    "solver": "write its settings under config: (budget, seed, deterministic)",
}


class NodeTaint(Strict):
    """A taint of a node."""

    key: str
    value: Pattern = ""
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"] = "NoSchedule"


class ScenarioNode(Strict):
    """One node, or ``repeat`` of them; ``{i}`` in texts is the number from 0."""

    name: Name
    repeat: Count = 1
    capacity: Quantities = Field(default_factory=dict)
    labels: Labels = Field(default_factory=dict)
    topology: Labels = Field(default_factory=dict)
    taints: list[NodeTaint] = Field(default_factory=list)
    cordoned: bool = False
    ready: bool = True

    @model_validator(mode="after")
    def _is_numbered(self) -> "ScenarioNode":
        if self.repeat > 1 and "{" not in self.name:
            raise ValueError(no_number(self.repeat, self.name))
        return self


class Cluster(Strict):
    """Nodes in short form, Kubernetes objects in place or in files, or a whole snapshot."""

    nodes: list[ScenarioNode] = Field(default_factory=list)
    objects: list[Any] = Field(default_factory=list)
    files: list[str] = Field(default_factory=list)
    snapshot: str | None = None

    @model_validator(mode="after")
    def _is_one_thing(self) -> "Cluster":
        if self.snapshot is not None and (self.nodes or self.objects or self.files):
            raise ValueError("snapshot: is a whole cluster; leave nodes, objects and files out")
        return self


class ScenarioQueue(Strict):
    """A queue. ``quota`` is another word for ``capability``."""

    name: Name
    parent: str | None = None
    weight: Annotated[int, Field(ge=0)] | None = None
    priority: int | None = None
    quota: Quantities | None = None
    capability: Quantities | None = None
    deserved: Quantities | None = None
    guarantee: Quantities | None = None
    reclaimable: bool | None = None
    state: Literal["Open", "Closed", "Closing", "Unknown"] | None = None
    namespaces: list[str] | None = None
    within: Literal["groups", "namespaces", "users"] | None = None

    @model_validator(mode="after")
    def _has_one_limit(self) -> "ScenarioQueue":
        if self.quota is not None and self.capability is not None:
            raise ValueError("quota: is the same as capability; write one of them")
        return self


class Meta(Strict):
    """``metadata``."""

    name: str
    about: str = ""
    labels: dict[str, str] = Field(default_factory=dict)


class Scenario(Strict):
    """The whole document."""

    api_version: Literal["apportion.dev/v1alpha1"]
    kind: Literal["Scenario"]
    metadata: Meta
    cluster: Cluster = Cluster()
    queues: list[ScenarioQueue] = Field(default_factory=list)
    groups: list[ScenarioGroup] = Field(default_factory=list)
    now: Moment | None = None
    scheduler_names: list[str] | None = Field(default=None, min_length=1)
    queues_from: Literal["volcano", "kueue"] | None = None
    config: Settings = Settings()
    policies: Settings | None = None
    expect: list[Expectation] = Field(default_factory=list)
    what_if: list[ScenarioWhatIf] = Field(default_factory=list)

    @model_validator(mode="after")
    def _fits_together(self) -> "Scenario":
        if self.policies is not None and self.config != Settings():
            raise ValueError("policies: is another word for config; write one of them")
        if self.cluster.snapshot is not None and (self.queues or self.groups):
            raise ValueError("cluster.snapshot: has its own queues and groups; leave ours out")
        written = self.cluster.objects or self.cluster.files
        if self.now is None and written and any(g.age is not None for g in self.groups):
            raise ValueError("now: is missing; ages are counted back from it")
        if self.cluster.snapshot is not None and any(w.submits for w in self.what_if):
            raise ValueError(
                "whatIf: nothing can be submitted to a snapshot; write copy, or the cluster itself"
            )
        return self

    @property
    def settings(self) -> Settings:
        return self.policies if self.policies is not None else self.config


def is_scenario(data: Any) -> bool:
    """Say whether a document is a scenario."""
    return (
        isinstance(data, dict)
        and data.get("kind") == KIND
        and str(data.get("apiVersion")).startswith("apportion.dev/")
    )


def scenario_of(document: Document) -> Scenario:
    """Return the scenario of a document.

    Raises
    ------
    InputError
        With every mistake and its path.
    """
    data = dict(document.data)
    faults = list(document.faults)
    for key, what in _LATER.items():
        if key in data:
            del data[key]
            faults.append((key, what))
    if isinstance(data.get("expect"), dict):
        data["expect"] = [data["expect"]]
    return parsed(data, Scenario, named(document), faults)


def named(document: Document) -> str:
    """Return what a scenario is called in messages: its file, and its number where it has more."""
    return f"{document.source} (object {document.index + 1})" if document.index else document.source


def folder_of(document: Document) -> Path:
    """Return the folder that a scenario's files are relative to."""
    return Path() if document.source == "standard input" else Path(document.source).parent


__all__ = ["API_VERSION", "Scenario", "folder_of", "is_scenario", "named", "scenario_of"]
