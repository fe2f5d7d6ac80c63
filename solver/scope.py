"""A scope: what of a cluster a board is about, where it is not all of it."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..models import GroupKey, Pod, PodKey
from ..policies.board import RoleSet
from ..policies.ledger import Matrix


@dataclass(frozen=True)
class Scope:
    """Groups, victims and nodes of a board; whatever else there is stays as it is."""

    groups: frozenset[GroupKey]
    """Waiting groups that may start; no other does."""
    victims: frozenset[GroupKey]
    """Running groups of which pods may leave, besides those that are given up."""
    nodes: frozenset[int]
    """Where pods may go."""
    places: Mapping[PodKey, int]
    """Where pods may go besides: each to its own place, or to that of one of its shape."""

    def fits(
        self,
        counts: Sequence[Matrix],
        rolesets: Sequence[RoleSet],
        pods: Mapping[tuple[int, GroupKey], Sequence[Pod]],
    ) -> list[Matrix]:
        """Return how many pods of each shape fit on each node, those outside left out.

        ``counts`` says it of all nodes; ``pods`` are those of each role set of each group.
        """
        own: dict[int, Counter[int]] = {}
        for (r, _), of in pods.items():
            at = [self.places[p.key] for p in of if p.key in self.places]
            shape = rolesets[r].shape.index
            own.setdefault(shape, Counter()).update(i for i in at if i not in self.nodes)
        inside = sorted(self.nodes)
        out = []
        for shape, count in enumerate(counts):
            fit = np.zeros_like(count)
            fit[inside] = count[inside]
            for i, n in own.get(shape, {}).items():
                fit[i] = min(n, count[i])
            out.append(fit)
        return out
