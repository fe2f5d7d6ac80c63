"""A Scenario document: a little cluster, its queues and groups, and what is expected of them."""

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, model_validator

from ..models.quantity import parse
from .configuration import Settings
from .durations import duration_ms
from .expectations import Expectation
from .files import Document
from .kubernetes.times import seconds_of
from .patterns import filled
from .strict import API_VERSION, Strict, parsed

KIND = "Scenario"
_LATER = {
    "whatIf": "comes with a later version; write one scenario for each question",
    "solver": "write its settings under config: (budget, seed, deterministic)",
}


def _pattern(text: str) -> str:
    filled(text, 0)
    return text


def _quantities(given: dict[str, Any]) -> dict[str, Any]:
    for resource, written in given.items():
        try:
            parse(written, resource)
        except ValueError as e:
            raise ValueError(f"{resource}: {e}") from None
    return given


def _moment(text: str) -> str:
    seconds_of(text)
    return text


def _age(text: str) -> str:
    duration_ms(filled(text, 0))
    return text


def _no_number(repeat: int, name: str) -> str:
    return f"name: repeat {repeat} needs a number in the name, such as {name}-{{i}}"


def _name(text: str) -> str:
    if not _pattern(text):
        raise ValueError("must not be empty")
    return text


Name = Annotated[str, AfterValidator(_name)]
Pattern = Annotated[str, AfterValidator(_pattern)]
Quantities = Annotated[dict[str, str | int | float], AfterValidator(_quantities)]
Moment = Annotated[str, AfterValidator(_moment)]
Age = Annotated[str, AfterValidator(_age)]
Count = Annotated[int, Field(ge=0, le=100_000)]
Labels = dict[str, Pattern]


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
            raise ValueError(_no_number(self.repeat, self.name))
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


class Near(Strict):
    """How near to each other pods run: levels, by node label."""

    within: Name | None = None
    preferred: Name | None = None

    @model_validator(mode="after")
    def _asks_something(self) -> "Near":
        if self.within is None and self.preferred is None:
            raise ValueError("asks for nothing; write within or preferred, with a node label")
        return self


class Role(Strict):
    """Pods of one task of a group."""

    name: str
    pods: Count
    minimum: Count | None = None
    requests: Quantities | None = None
    priority: int | None = None
    preemptable: bool | None = None
    node_selector: Labels | None = None
    topology: Near | None = None


class ScenarioGroup(Strict):
    """A group and its pods; ``running`` names the nodes of those that run already.

    Each number of a repeated group may have an age of its own: ``age: "{9-i}m"``.
    """

    name: Name
    repeat: Count = 1
    namespace: Pattern = "default"
    queue: Pattern | None = None
    pods: Count | None = None
    minimum: Count | None = None
    roles: list[Role] = Field(default_factory=list)
    requests: Quantities = Field(default_factory=dict)
    priority: Annotated[int, Field(ge=-(2**31), le=2**31 - 1)] | None = None
    preemptable: bool = True
    may_preempt: bool = True
    running: list[Pattern] | dict[str, Count] = Field(default_factory=list)
    created: Moment | None = None
    age: Age | None = None
    user: Pattern | None = None
    labels: Labels = Field(default_factory=dict)
    annotations: Labels = Field(default_factory=dict)
    node_selector: Labels = Field(default_factory=dict)
    tolerations: list[dict[str, Any]] = Field(default_factory=list)
    affinity: dict[str, Any] | None = None
    spread: list[dict[str, Any]] = Field(default_factory=list)
    topology: Near | None = None
    spec: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _adds_up(self) -> "ScenarioGroup":
        if self.roles and self.pods is not None:
            raise ValueError("pods: follows from the roles; leave it out")
        if not self.roles and self.pods is None:
            raise ValueError("pods: is missing; write how many pods the group has, or its roles")
        if self.created is not None and self.age is not None:
            raise ValueError("age: says the same as created; write one of them")
        if self.repeat > 1 and "{" not in self.name:
            raise ValueError(_no_number(self.repeat, self.name))
        if self.age is not None and "{" in self.age:
            for i in range(self.repeat):
                duration_ms(filled(self.age, i))
        if len(self.places) > self.size:
            raise ValueError(f"running: names {len(self.places)} places for {self.size} pods")
        return self

    @property
    def size(self) -> int:
        """How many pods the group has."""
        return sum(r.pods for r in self.roles) if self.roles else self.pods or 0

    @property
    def places(self) -> list[str]:
        """Nodes of the pods that run, in order."""
        if isinstance(self.running, dict):
            return [node for node, n in self.running.items() for _ in range(n)]
        return list(self.running)


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

    @model_validator(mode="after")
    def _fits_together(self) -> "Scenario":
        if self.policies is not None and self.config != Settings():
            raise ValueError("policies: is another word for config; write one of them")
        if self.cluster.snapshot is not None and (self.queues or self.groups):
            raise ValueError("cluster.snapshot: has its own queues and groups; leave ours out")
        written = self.cluster.objects or self.cluster.files
        if self.now is None and written and any(g.age is not None for g in self.groups):
            raise ValueError("now: is missing; ages are counted back from it")
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
    groups = data.get("groups")
    for i, group in enumerate(groups if isinstance(groups, list) else []):
        if isinstance(group, dict) and "runtime" in group:
            faults.append((f"groups[{i}].runtime", "comes with a later version"))
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
