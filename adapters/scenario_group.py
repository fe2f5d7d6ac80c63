"""A group of a scenario in short form: its pods, what they ask for, and where some run already."""

from typing import Annotated, Any

from pydantic import AfterValidator, Field, model_validator

from ..models.quantity import parse
from .durations import duration_ms
from .kubernetes.times import seconds_of
from .patterns import filled
from .strict import Strict


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


def no_number(repeat: int, name: str) -> str:
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
    runtime: Age | None = None
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
            raise ValueError(no_number(self.repeat, self.name))
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
