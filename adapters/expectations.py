"""What a scenario may expect: the keys of one item of ``expect``.

Keys in snake_case say how many pods of which group run, which pods wait, who was evicted; they are
judged after settling, unless ``after: plan`` is written. ``group … is …`` and ``reason`` speak of
the first plan, unless ``after: settled`` is written.
"""

from typing import Annotated, Any, Literal

import pydantic
from pydantic import AfterValidator, Field, model_validator

from ..models.quantity import parse_signed

After = Literal["plan", "settled"]
Is = Literal["placed", "nominated", "held", "running", "evicted", "admitted"]


def _range(given: int | list[int]) -> int | list[int]:
    if isinstance(given, list) and (len(given) != 2 or given[0] > given[1]):
        raise ValueError(f"expected a number or [least, most], got {given}")
    return given


def _span(given: Any) -> Any:
    both = given if isinstance(given, list) else [given]
    if len(both) not in (1, 2) or any(
        isinstance(v, bool) or not isinstance(v, str | int | float) for v in both
    ):
        raise ValueError("expected an amount or [least, most]")
    for value in both:
        parse_signed(value, "cpu")
    return given


Range = Annotated[int | list[int], AfterValidator(_range)]
"""A number, or [least, most]."""
Span = Annotated[Any, AfterValidator(_span)]
"""An amount, or [least, most]."""
Text = str | list[str]


class PodsOfGroups(pydantic.BaseModel):
    """``running_of``: how many pods of several groups run together."""

    model_config = pydantic.ConfigDict(strict=True, extra="forbid", frozen=True)

    groups: list[str]
    pods: Range


class Expectation(pydantic.BaseModel):
    """One item of ``expect``; all its keys must hold."""

    model_config = pydantic.ConfigDict(strict=True, extra="forbid", frozen=True)

    after: After | None = None
    group: str | None = None
    is_: Is | None = Field(default=None, alias="is")
    pods: Range | None = None
    node: str | dict[str, Text | None] | None = None
    reason: Text | None = None
    warning: Text | None = None
    rejected: Text | None = None

    running_count: dict[str, Range] | None = None
    bound_count: dict[str, Range] | None = None
    running_of: list[PodsOfGroups] | None = None
    running_by_task: dict[str, Range | dict[str, Range]] | None = None
    bound_count_by_task: dict[str, Range | dict[str, Range]] | None = None
    bound_total: Range | None = None
    bound: list[str] | dict[str, Text | None] | None = None
    pending: list[str] | None = None
    gone: list[str] | None = None
    evicted: list[str] | None = None
    evicted_count: Range | None = None
    evicted_count_max: int | None = None
    whole_groups_evicted: Range | None = None
    untouched: list[str] | None = None
    may_be_evicted: list[str] | None = None
    node_in: dict[str, list[str]] | None = None
    nodes_allowed: dict[str, list[str]] | None = None
    same_label: dict[str, str] | None = None
    queue_used_gpu: dict[str, Span] | None = None
    queue_used: dict[str, dict[str, Span]] | None = None
    one_of: list["Expectation"] | None = None

    @model_validator(mode="after")
    def _makes_sense(self) -> "Expectation":
        given = self.model_fields_set - {"after"}
        if not given:
            raise ValueError("expects nothing; write what must hold")
        if self.group is None:
            for key in ("is_", "pods"):
                if key in given:
                    raise ValueError(f"{key.rstrip('_')}: needs a group; write group: name")
            if isinstance(self.node, str):
                raise ValueError("node: write the group whose pods it is about, or pod: node")
        elif not given & {"is_", "pods", "node", "reason"}:
            raise ValueError(f"group: {self.group} is expected to do nothing; write is: placed")
        return self
