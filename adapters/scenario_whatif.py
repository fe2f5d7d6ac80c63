"""What a scenario asks: edits, as ``apportion whatif`` makes them, and what is expected then."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import AfterValidator, Field, model_validator

from .configuration import Settings
from .expectations import Expectation, Span
from .scenario_group import Count, Name, ScenarioGroup
from .strict import Strict

OPTIONS: Mapping[str, str] = {
    "set_queue": "--set-queue",
    "remove": "--remove",
    "wait": "--wait",
    "copy_": "--copy",
    "set_priority": "--set-priority",
    "set_requests": "--set-requests",
    "resize": "--resize",
    "set_minimum": "--set-minimum",
    "relax": "--relax",
    "tolerate": "--tolerate",
    "drop_selector": "--drop-selector",
}
"""Edits that are written as on the command line, by the option that they are the value of."""


class AddedNodes(Strict):
    """New nodes like one that there is."""

    like: Name
    count: Annotated[Count, Field(ge=1)] = 1
    labels: dict[str, str] = Field(default_factory=dict)


class ScenarioEdit(Strict):
    """One edit: exactly one of the fields."""

    add_nodes: AddedNodes | None = None
    remove_node: Name | None = None
    drain: Name | None = None
    cordon: Name | None = None
    uncordon: Name | None = None
    submit: ScenarioGroup | None = None
    copy_: str | None = Field(default=None, alias="copy")
    remove: str | None = None
    wait: str | None = None
    set_priority: str | None = None
    resize: str | None = None
    set_minimum: str | None = None
    set_requests: str | None = None
    set_queue: str | None = None
    relax: str | None = None
    tolerate: str | None = None
    drop_selector: str | None = None

    @model_validator(mode="after")
    def _is_one(self) -> "ScenarioEdit":
        if len(self.model_fields_set) != 1:
            raise ValueError("write one edit in each item, such as drain: NODE")
        return self


def _share(given: Any) -> Any:
    both = given if isinstance(given, list) else [given]
    numbers = all(isinstance(v, int | float) and not isinstance(v, bool) for v in both)
    if len(both) not in (1, 2) or not numbers or min(both) < 0 or both[0] > both[-1]:
        raise ValueError(f"expected a part of 1, as 0.25, or [least, most], got {given}")
    return given


Share = Annotated[Any, AfterValidator(_share)]
"""A part of 1, or [least, most]."""


class ExpectedDifference(Strict):
    """What the edits make different; of lists exactly what stands there."""

    nothing: bool | None = None
    starts_more: list[str] | None = None
    starts_less: list[str] | None = None
    displaced: list[str] | None = None
    waits_less: list[str] | None = None
    waits_more: list[str] | None = None
    used: dict[str, dict[str, Span]] | None = None
    share: dict[str, Share] | None = None

    @model_validator(mode="after")
    def _says_something(self) -> "ExpectedDifference":
        if not self.model_fields_set:
            raise ValueError("expects nothing; write what is different")
        return self


class ScenarioWhatIf(Strict):
    """Edits, made together, and what is expected of the cluster that they make."""

    name: Name
    edits: list[ScenarioEdit] = Field(default_factory=list)
    settings: Settings = Settings()
    difference: ExpectedDifference | None = None
    expect: list[Expectation] = Field(default_factory=list)

    @model_validator(mode="after")
    def _asks_and_expects(self) -> "ScenarioWhatIf":
        if not self.edits and self.settings == Settings():
            raise ValueError("changes nothing; write edits or settings")
        if self.difference is None and not self.expect:
            raise ValueError("expects nothing; write difference or expect")
        return self

    @property
    def submits(self) -> list[ScenarioGroup]:
        """The groups that come with it."""
        return [e.submit for e in self.edits if e.submit is not None]
