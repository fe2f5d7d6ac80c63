"""Legality: what every rule's plain half says about a plan."""

from collections.abc import Iterable

from ..models import Violation
from .api import Constraint
from .outcome import Outcome
from .podset import PodSet


def verify(outcome: Outcome) -> list[Violation]:
    """Ask every rule's plain-Python half about a plan."""
    found = list(_refused(outcome))
    for rule in outcome.scene.rules:
        if isinstance(rule, Constraint):
            found += rule.check(outcome)
    return found


def _refused(outcome: Outcome) -> Iterable[Violation]:
    """Ask the filters about every pod that starts."""
    scene = outcome.scene
    for pod, i in outcome.new_pods:
        node = scene.nodes[i]
        for rule in scene.filters:
            reason = rule.refuse(PodSet((pod,)), node)
            if reason is not None:
                yield Violation(rule.name, f"pod {pod.key}", f"{reason.about} {reason.message}")


def is_legal(outcome: Outcome) -> bool:
    """Say whether no rule objects; stops at the first that does."""
    if not all(outcome.scene.mask(pod)[i] for pod, i in outcome.new_pods):
        return False
    for rule in outcome.scene.rules:
        if isinstance(rule, Constraint):
            for _ in rule.check(outcome):
                return False
    return True
