"""The shapes of the rarer kinds: core objects, workloads, budgets, quotas."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from ...models.quantity import parse, parse_signed
from .shape import Outside

Whole = Annotated[int, Field(ge=-(2**31), le=2**31 - 1)]
Natural = Annotated[int, Field(ge=0, le=2**31 - 1)]
DeadlineSeconds = Annotated[int, Field(ge=0, le=2**53)]


def _quantity(value: Any) -> Any:
    if value is not None:
        parse(value, "memory")
    return value


def _signed(value: Any) -> Any:
    if value is not None:
        parse_signed(value, "memory")
    return value


def _count_or_percent(value: Any) -> Any:
    if value is None:
        return None
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 31:
        return value
    if isinstance(value, str) and value.endswith("%") and value[:-1].isascii():
        digits = value[:-1]
        if digits.isdigit() and int(digits[:9]) <= 100 and len(digits) <= 9:
            return value
    raise ValueError("expected a whole number of 0 or more, or a percentage such as 50%")


def _number(value: Any) -> Any:
    """Check a decimal number that may be negative; text is taken too."""
    if value is None:
        return None
    if isinstance(value, str | int | float) and not isinstance(value, bool):
        try:
            parse_signed(value, "cpu")
        except ValueError:
            raise ValueError(f"expected a number such as -1, 0 or 2.5, got {value!r}") from None
        return value
    raise ValueError("expected a number such as -1, 0 or 2.5")


Quantity = Annotated[Any, BeforeValidator(_quantity)]
Signed = Annotated[Any, BeforeValidator(_signed)]
CountOrPercent = Annotated[Any, BeforeValidator(_count_or_percent)]
Number = Annotated[Any, BeforeValidator(_number)]


class Empty(Outside):
    """A kind whose head says everything."""


class PriorityClass(Outside):
    """A PriorityClass; its fields stand beside the head, not in a spec."""

    value: Whole = 0
    global_default: bool | None = None
    preemption_policy: Literal["Never", "PreemptLowerPriority"] | None = None


class WorkloadPriorityClass(Outside):
    """A WorkloadPriorityClass of Kueue: the order of workloads, whatever their pods' priority."""

    value: Whole = 0


class BudgetSpec(Outside):
    """``spec`` of a PodDisruptionBudget; the selector is read apart."""

    min_available: CountOrPercent = None
    max_unavailable: CountOrPercent = None
    selector: Any = None
    unhealthy_pod_eviction_policy: str | None = None


class BudgetStatus(Outside):
    """``status`` of a PodDisruptionBudget."""

    disruptions_allowed: Whole | None = None
    current_healthy: Whole | None = None
    desired_healthy: Whole | None = None
    observed_generation: int | None = None


class Budget(Outside):
    """A PodDisruptionBudget without its head."""

    spec: BudgetSpec | None = None
    status: BudgetStatus | None = None


class QuotaSpec(Outside):
    """``spec`` of a ResourceQuota."""

    hard: dict[str, Quantity] | None = None
    scopes: list[str] | None = None
    scope_selector: Any = None


class QuotaStatus(Outside):
    """``status`` of a ResourceQuota."""

    used: dict[str, Quantity] | None = None


class Quota(Outside):
    """A ResourceQuota without its head."""

    spec: QuotaSpec | None = None
    status: QuotaStatus | None = None


class LimitItem(Outside):
    """One item of a LimitRange."""

    type: str | None = None
    default: dict[str, Quantity] | None = None
    default_request: dict[str, Quantity] | None = None


class LimitSpec(Outside):
    """``spec`` of a LimitRange."""

    limits: list[LimitItem] | None = None


class LimitRange(Outside):
    """A LimitRange without its head."""

    spec: LimitSpec | None = None


class ScaleSpec(Outside):
    """How many pods a workload asks for, whether all at once, and for how long.

    ``replicas``; of a Job ``parallelism`` and ``completions``.
    """

    replicas: Natural | None = None
    parallelism: Natural | None = None
    completions: Natural | None = None
    completion_mode: str | None = None
    backoff_limit_per_index: Natural | None = None
    pod_management_policy: str | None = None
    active_deadline_seconds: DeadlineSeconds | None = None


class ScaleStatus(Outside):
    """Since when a Job runs, and how many of its pods have succeeded, deleted ones included."""

    succeeded: Natural | None = None
    start_time: str | None = None


class Workload(Outside):
    """A ReplicaSet, Deployment, StatefulSet, DaemonSet or the like, or a Job, without its head."""

    spec: ScaleSpec | None = None
    status: ScaleStatus | None = None


class ElasticSpec(Outside):
    """``spec`` of an ElasticQuota."""

    min: dict[str, Quantity] | None = None
    max: dict[str, Quantity] | None = None


class ElasticQuota(Outside):
    """An ElasticQuota without its head."""

    spec: ElasticSpec | None = None
