"""Legality: what every rule's plain half says about a plan."""

from collections.abc import Iterable

from ..models import Reason, Violation
from .outcome import Outcome
from .podset import PodSet


def verify(outcome: Outcome) -> list[Violation]:
    """Ask every rule's plain-Python half about a plan."""
    found = list(_refused(outcome))
    for rule in outcome.scene.constraints:
        found += rule.check(outcome)
    return found


def _refused(outcome: Outcome) -> Iterable[Violation]:
    """Ask the filters about every pod that starts; pods alike on a node are asked about once."""
    scene = outcome.scene
    asked: dict[object, list[tuple[str, Reason]]] = {}
    filters = [(rule.name, rule.refuse) for rule in scene.filters]
    for pod, i in outcome.new_pods:
        alike = (
            i, id(pod.spec), pod.role, pod.subgroups, pod.namespace,
            tuple(pod.labels.items()) if pod.labels else (),
            tuple(pod.claim_names.items()) if pod.claim_names else (),
        )  # fmt: skip
        found = asked.get(alike)
        if found is None:
            node, pods = scene.nodes[i], PodSet((pod,))
            found = asked[alike] = []
            for name, refuse in filters:
                reason = refuse(pods, node)
                if reason is not None:
                    found.append((name, reason))
        for name, reason in found:
            yield Violation(name, f"pod {pod.key}", f"{reason.about} {reason.message}")


def is_legal(outcome: Outcome) -> bool:
    """Say whether no rule objects; stops at the first that does."""
    if not all(outcome.scene.mask(pod)[i] for pod, i in outcome.new_pods):
        return False
    for rule in outcome.scene.constraints:
        for _ in rule.check(outcome):
            return False
    return True
