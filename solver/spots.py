"""Spots: the best node for one pod after the other, kept for each kind of pod."""

from typing import TYPE_CHECKING

import numpy as np

from ..models import GroupKey, Pod
from ..policies.tracker import Mask

if TYPE_CHECKING:
    from .draft import Draft


class Spots:
    """Nodes with open room for pods of one spec, and how good they are: what changed is redone.

    A pod changes the room of its node alone; what other rules leave is asked anew for each. Room
    that a group has freed for itself is looked at beside.
    """

    def __init__(self, draft: "Draft", pod: Pod) -> None:
        self._draft = draft
        self._row = draft.scene.row(pod)
        self._asked = np.flatnonzero(self._row)
        self._need = self._row[self._asked]
        size = len(draft.scene.nodes)
        self._fits: Mask = np.zeros(size, dtype=np.bool_)
        self._scores = np.full(size, np.inf)
        self._scored = np.zeros(size, dtype=np.bool_)
        self._seen = len(draft.changes)
        """How many changes of the draft are in here."""
        self._look_at(np.arange(size))

    def _look_at(self, nodes: "np.ndarray[tuple[int], np.dtype[np.intp]]") -> None:
        draft = self._draft
        room = np.minimum(draft.field.room[nodes], np.maximum(draft.base[nodes], 0))
        self._fits[nodes] = (room[:, self._asked] >= self._need).all(axis=1)
        self._scored[nodes] = False

    def _catch_up(self) -> None:
        changes = self._draft.changes
        if self._seen < len(changes):
            self._look_at(np.array(list(set(changes[self._seen :])), dtype=np.intp))
            self._seen = len(changes)

    def fits(self, group: GroupKey) -> Mask:
        """Say which nodes have open room for a pod of the group."""
        self._catch_up()
        mine = self._draft.claims_of.get(group)
        if not mine:
            return self._fits
        fits = self._fits.copy()
        for i in mine:
            room = self._draft.open_room_on(group, i)
            fits[i] = (room[self._asked] >= self._need).all()
        return fits

    def hold(self, group: GroupKey, number: int) -> bool:
        """Say whether room and filters alone speak for so many pods."""
        nodes = np.flatnonzero(self.fits(group))
        if len(nodes) >= number or self._draft.claims_of.get(group):
            return True
        draft = self._draft
        room = np.minimum(draft.field.room[nodes], draft.base[nodes])[:, self._asked]
        return int((room // self._need).min(axis=1).sum()) >= number if len(nodes) else False

    def best(self, pod: Pod) -> int | None:
        """Return the best node for the pod on open room, or None."""
        assert pod.group is not None
        fits = self.fits(pod.group)
        if not fits.any():
            return None
        mask = fits & self._draft.field.allowed(pod)
        if pod.nominated is not None:
            at = self._draft.scene.index.get(pod.nominated)
            if at is not None and mask[at]:
                return at
        able = np.flatnonzero(mask)
        if not len(able):
            return None
        fresh = able[~self._scored[able]]
        if len(fresh):
            self._scores[fresh] = self._draft.scores(fresh, self._row)
            self._scored[fresh] = True
        return int(able[np.argmin(self._scores[able])])
