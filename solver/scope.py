"""A scope: what of a cluster a board is about, where it is not all of it."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..models import GroupKey, Pod, PodKey
from ..models.podspec import PodSpec
from ..policies.board import RoleSet
from ..policies.ledger import Matrix
from ..policies.scene import Scene

OURS = __name__.partition(".")[0]

Cells = tuple[list[Matrix], dict[int, list[int]]]
"""By shape how many of its pods may go to each node, and where others of them stay that no rule
looks at there."""


@dataclass(frozen=True)
class Scope:
    """Groups, victims and nodes of a board; whatever else there is stays as it is."""

    groups: frozenset[GroupKey]
    """Waiting groups that may start; no other does."""
    free: frozenset[GroupKey]
    """Those of them that need not start, or not as many of their pods."""
    victims: frozenset[GroupKey]
    """Running groups of which pods may leave, besides those that are given up."""
    nodes: frozenset[int]
    """Where pods may go."""
    places: Mapping[PodKey, int]
    """Where pods may go besides: each to its own place, or to that of one of its shape."""
    changing: frozenset[int]
    """Nodes where somebody may leave or stay, so that all that starts there counts."""

    def cells(
        self,
        counts: Sequence[Matrix],
        rolesets: Sequence[RoleSet],
        pods: Mapping[tuple[int, GroupKey], Sequence[Pod]],
        is_tied: Callable[[Pod], bool],
    ) -> Cells:
        """Return the cells of a board.

        ``counts`` says of all nodes how many pods of each shape fit; ``pods`` are those of each
        role set of each group. Inside, there are cells for what could be there; outside, for pods
        that others are tied to.
        """
        own: dict[int, Counter[int]] = {}
        moving: set[int] = set()
        for (r, _), of in pods.items():
            at = [self.places[p.key] for p in of if p.key in self.places]
            shape = rolesets[r].shape.index
            own.setdefault(shape, Counter()).update(i for i in at if i not in self.nodes)
            if any(i in self.nodes for i in at) or self._may_change(rolesets[r]):
                moving.add(shape)
        tied = {r.shape.index for r in rolesets if is_tied(r.shape.sample)}
        inside = sorted(self.nodes)
        fits: list[Matrix] = []
        settled: dict[int, list[int]] = {}
        for shape, count in enumerate(counts):
            fit = np.zeros_like(count)
            if shape in moving:
                fit[inside] = count[inside]
            for i, n in own.get(shape, {}).items():
                if shape in tied or i in self.changing:
                    fit[i] = min(n, count[i])
                else:
                    settled.setdefault(shape, []).extend([i] * n)
            fits.append(fit)
        return fits, settled

    def _may_change(self, role: RoleSet) -> bool:
        return any(m.key in self.free for m in role.type.members)


def ties_of(scene: Scene) -> Callable[[Pod], bool]:
    """Return what says of a pod whether where it is matters to pods on other nodes.

    Rules that are installed may look at whatever they like, so with any all pods are tied.
    """
    installed = any(type(r).__module__.partition(".")[0] != OURS for r in scene.rules)
    seen = [] if installed else [s for spec in scene.columns.specs for s in _selectors(spec)]
    known: dict[object, bool] = {}

    def is_tied(pod: Pod) -> bool:
        spec = pod.spec
        if installed or spec.sees_pods or spec.volumes or spec.claims or pod.claimed:
            return True
        if scene.bonds.of_group(pod.group):
            return True
        key = tuple(sorted((k, v) for k, v in pod.labels.items() if k in scene.asked_labels))
        if key not in known:
            known[key] = any(matches(pod.labels) for matches in seen)
        return known[key]

    return is_tied


def _selectors(spec: PodSpec) -> list[Callable[[Mapping[str, str]], bool]]:
    preferred = (*spec.preferred_affinity, *spec.preferred_anti_affinity)
    terms = (*spec.affinity, *spec.anti_affinity, *(t for _, t in preferred))
    found = (*(t.selector for t in terms), *(c.selector for c in spec.spread))
    return [s.matches for s in found if s is not None]
