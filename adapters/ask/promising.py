"""Where more nodes would help first: in the domains that lack least."""

from collections.abc import Sequence

import numpy as np

from ...models import Node, Pod
from ...policies.members import Members
from ...policies.outcome import Outcome


def most_promising(outcome: Outcome, m: Members, wanted: Sequence[Pod]) -> list[Node]:
    """Return the nodes, of a group that has to share a domain those first where most pods fit.

    Pods are taken to be like the first that is wanted, and counted node by node.
    """
    scene = outcome.scene
    levels = [b.required for b in scene.bonds.of_group(m.key) if b.required is not None]
    if not levels or not wanted:
        return list(scene.nodes)
    row, numbers = scene.row(wanted[0]), levels[0].numbers
    asked = np.flatnonzero(row)
    fits = np.min(outcome.room[:, asked] // row[asked], axis=1).clip(min=0)
    fits[~scene.mask(wanted[0])] = 0
    by_domain = np.zeros(len(levels[0].domains) + 1, dtype=np.int64)
    np.add.at(by_domain, numbers, fits)  # the last is of nodes in no domain
    by_domain[-1] = -1
    order = np.argsort(-by_domain[numbers], kind="stable")
    return [scene.nodes[i] for i in order.tolist()]
