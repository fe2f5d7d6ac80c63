"""Pods under more than one disruption budget: the eviction subresource refuses to evict them.

Source: the pod eviction handler of the API server, which answers 500 for such a pod whatever its
budgets allow.
"""

from collections.abc import Iterable

from ..models import Budget, Pod, PodKey
from .scene import Scene


def unevictable(scene: Scene) -> frozenset[PodKey]:
    """Return the running pods of the scene that more than one budget selects."""
    return scene.once("under several budgets", _found)


def budgets_over(budgets: Iterable[Budget], pod: Pod) -> list[str]:
    """Return the keys of the budgets that select the pod, ready or not."""
    return [b.key for b in budgets if b.selects(pod)]


def _found(scene: Scene) -> frozenset[PodKey]:
    by_namespace: dict[str, list[Budget]] = {}
    for b in scene.snapshot.budgets:
        by_namespace.setdefault(b.namespace, []).append(b)
    shared = {n: bs for n, bs in by_namespace.items() if len(bs) > 1}
    known: dict[tuple[str, tuple[tuple[str, str], ...]], bool] = {}
    out: set[PodKey] = set()
    for m in scene.roster.values() if shared else ():
        for p in m.running if m.group.namespace in shared else ():
            alike = (p.namespace, tuple(sorted(p.labels.items())))
            if alike not in known:
                known[alike] = len(budgets_over(shared[p.namespace], p)) > 1
            if known[alike]:
                out.add(p.key)
    return frozenset(out)
