"""A disruption budget: how many of its pods may be lost at once."""

from collections.abc import Iterable

from .pod import Pod, PodState
from .selector import LabelSelector
from .value import Value


class Budget(Value, frozen=True):
    """A PodDisruptionBudget. ``allowed`` is how many more disruptions it bears now."""

    namespace: str
    name: str
    selector: LabelSelector | None
    """None selects nothing."""
    allowed: int
    min_available: int | None = None
    min_available_percent: int | None = None
    max_unavailable: int | None = None
    max_unavailable_percent: int | None = None
    expected: int | None = None
    """Replicas that the pods' controllers ask for; None: the number of pods counts."""
    always_unready: bool = False
    """Pods that run and are not ready may go whatever is allowed (AlwaysAllow)."""
    met: bool = False
    """As many pods are healthy as have to be: those that are not ready cost nothing."""

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"

    def covers(self, pod: Pod) -> bool:
        """Say whether the pod's eviction counts."""
        spared = (self.always_unready or self.met) and not pod.ready
        return not spared and self.selects(pod)

    def selects(self, pod: Pod) -> bool:
        return (
            self.selector is not None
            and pod.namespace == self.namespace
            and self.selector.matches(pod.labels)
        )


def disruptions_allowed(budget: Budget, pods: Iterable[Pod]) -> int:
    """Return how many disruptions the budget bears, as the disruption controller computes it.

    Percentages round up; healthy pods are those that run and are ready. Source: disruption
    controller, KEP-85.
    """
    healthy, desired = _healthy_and_desired(budget, pods)
    return max(0, healthy - max(0, desired))


def is_met(budget: Budget, pods: Iterable[Pod]) -> bool:
    """Say whether as many pods are healthy as have to be, and some have to be. Source: KEP-3017."""
    healthy, desired = _healthy_and_desired(budget, pods)
    return healthy >= desired > 0


def _healthy_and_desired(budget: Budget, pods: Iterable[Pod]) -> tuple[int, int]:
    mine = [p for p in pods if budget.selects(p)]
    healthy = sum(p.state is PodState.RUNNING and p.ready for p in mine)
    expected = budget.expected if budget.expected is not None else len(mine)
    if budget.max_unavailable_percent is not None:
        desired = expected - -(-expected * budget.max_unavailable_percent // 100)
    elif budget.max_unavailable is not None:
        desired = expected - budget.max_unavailable
    elif budget.min_available_percent is not None:
        desired = -(-expected * budget.min_available_percent // 100)
    else:
        desired = budget.min_available if budget.min_available is not None else 1
    return healthy, desired
