"""Spots: the best node for one pod after the other, where they are equal."""

from typing import TYPE_CHECKING

import numpy as np

from ..models import Pod
from ..policies.tracker import Mask

if TYPE_CHECKING:
    from .draft import Draft


class Spots:
    """Nodes for equal pods of a group that come one after the other: only what changes is redone.

    A pod changes the room of its node alone; what other rules leave is asked anew for each.
    """

    def __init__(self, draft: "Draft", pod: Pod) -> None:
        assert pod.group is not None
        self._draft = draft
        self._group = pod.group
        self._spec = pod.spec
        self._row = draft.scene.row(pod)
        self._asked = np.flatnonzero(self._row)
        room = draft.open_room(pod.group)
        self._fits: Mask = np.asarray(
            (room[:, self._asked] >= self._row[self._asked]).all(axis=1), dtype=np.bool_
        )
        self._scores = np.full(len(self._fits), np.inf)
        self._scored = np.zeros(len(self._fits), dtype=np.bool_)

    def are_for(self, pod: Pod) -> bool:
        return pod.spec is self._spec and pod.group == self._group

    def best(self, pod: Pod) -> int | None:
        """Return the best node for the pod on open room, or None."""
        if not self._fits.any():
            return None
        mask = self._fits & self._draft.field.allowed(pod)
        if not mask.any():
            return None
        nominated = pod.nominated
        at = self._draft.scene.index.get(nominated) if nominated is not None else None
        if at is not None and mask[at]:
            return at
        fresh = np.flatnonzero(mask & ~self._scored)
        if len(fresh):
            self._scores[fresh] = self._draft.scores(fresh, self._row)
            self._scored[fresh] = True
        return int(np.argmin(np.where(mask, self._scores, np.inf)))

    def update(self, node: int) -> None:
        """Take note that a pod went there."""
        room = self._draft.open_room_on(self._group, node)
        self._fits[node] = (room[self._asked] >= self._row[self._asked]).all()
        self._scored[node] = False
