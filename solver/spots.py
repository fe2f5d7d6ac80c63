"""Spots: the best node for one pod after the other, kept for each kind of pod."""

from typing import TYPE_CHECKING

import numpy as np

from ..models import GroupKey, Pod
from ..policies.ledger import Matrix
from ..policies.tracker import Mask
from .scores import Nodes, fills_up, scores

if TYPE_CHECKING:
    from .draft import Draft


LINE = 4
"""For so many equal pods at least, the nodes that come next are kept in order."""
FIRST = 16
"""Of nodes that seem best and are not, so many are looked at next, and then ever more."""


class Spots:
    """Nodes with open room for pods of one spec, and how good they are: what changed is redone.

    A pod changes the room of its node alone; what other rules leave is asked anew for each. Room
    that a group has freed for itself is looked at beside.
    """

    def __init__(self, draft: "Draft", pod: Pod, group: GroupKey | None) -> None:
        """``group``: for pods of a group that has a right to what was freed somewhere."""
        self._draft = draft
        self._group = group
        self._row = draft.scene.row(pod)
        self._asked = np.flatnonzero(self._row)
        self._need = self._row[self._asked]
        self._needs = list(zip(self._asked.tolist(), self._need.tolist(), strict=True))
        size = len(draft.scene.nodes)
        self._able: Mask = draft.scene.mask(pod)
        self._fits: Mask = np.zeros(size, dtype=np.bool_)
        self._scores = np.full(size, np.inf)
        self._scored = np.zeros(size, dtype=np.bool_)
        self._open: Mask = np.zeros(size, dtype=np.bool_)
        """Nodes with room that filters leave, but for those of which it is known that they do not
        take such a pod by what is on each of them."""
        self._found: Nodes | None = None
        """The open nodes, as long as they are the same."""
        self._seen = len(draft.changes)
        """How many changes of the draft are in here."""
        self._last = -1
        """Where the last pod went."""
        self._line: list[int] = []
        """The nodes that come next behind that one, the best at the end; empty where not known."""
        if group is None:
            self._look_at(np.arange(size))
        else:
            self._follow(draft.spots_of_all(pod))

    def _follow(self, all_: "Spots") -> None:
        """Take over what anybody may use; only what the group has freed is another thing."""
        all_._catch_up()
        all_._last = -1  # who looks next finds that nothing has changed, not that its pod has come
        self._fits, self._scores = all_._fits.copy(), all_._scores.copy()
        self._scored, self._open = all_._scored.copy(), all_._open.copy()
        assert self._group is not None
        mine = sorted(self._draft.claims_of.get(self._group, ()))
        self._look_at(np.array(mine, dtype=np.intp))

    def _look_at(self, nodes: Nodes) -> None:
        if len(nodes) == 1:
            self._look_at_one(int(nodes[0]))
            return
        fits = self._have_room(nodes)
        self._fits[nodes] = fits
        self._scored[nodes] = False
        self._open[nodes] = fits & self._able[nodes]
        self._found = None

    def _look_at_one(self, node: int) -> None:
        fits = self._has_room(node)
        self._fits[node] = fits
        self._scored[node] = False
        is_open = fits and bool(self._able[node])
        if is_open != self._open[node]:
            self._open[node] = is_open
            self._leave_out(node, is_open)

    def _has_room(self, node: int) -> bool:
        draft, group = self._draft, self._group
        if group is not None and node in draft.claims_of.get(group, ()):
            room = draft.open_room_on(group, node).tolist()
            return all(room[r] >= n for r, n in self._needs)
        room, common = draft.field.room[node].tolist(), draft.pools.common[node].tolist()
        return all(room[r] >= n and common[r] >= n for r, n in self._needs)

    def _have_room(self, nodes: Nodes) -> Mask:
        draft = self._draft
        fits = np.ones(len(nodes), dtype=np.bool_)
        for r, n in self._needs:
            fits &= draft.field.room[nodes, r] >= n
            fits &= draft.pools.common[nodes, r] >= n
        mine = draft.claims_of.get(self._group, ()) if self._group is not None else ()
        for k in np.flatnonzero(np.isin(nodes, list(mine))).tolist() if mine else ():
            fits[k] = self._has_room(int(nodes[k]))
        return fits

    def _leave_out(self, node: int, is_open: bool = False) -> None:
        """Find the open nodes anew, where it is more than that one is no longer among them."""
        known = self._found
        self._found = None if is_open or known is None else known[known != node]

    def _nodes(self) -> Nodes:
        """Return the open nodes."""
        if self._found is None:
            self._found = np.flatnonzero(self._open)
        return self._found

    def _room(self, nodes: Nodes) -> Matrix:
        """Return the open room of nodes, of what is asked for."""
        draft = self._draft
        room = np.minimum(draft.field.room[nodes], np.maximum(draft.pools.common[nodes], 0))
        mine = draft.claims_of.get(self._group, ()) if self._group is not None else ()
        for k in np.flatnonzero(np.isin(nodes, list(mine))).tolist() if mine else ():
            room[k] = draft.open_room_on(self._group, int(nodes[k]))
        return np.asarray(room[:, self._asked])

    def _catch_up(self) -> bool:
        """Take in what has changed; say whether that is the node of the last pod alone."""
        changes = self._draft.changes
        if self._seen == len(changes):
            return False
        nodes = set(changes[self._seen :])
        self._seen = len(changes)
        if len(nodes) == 1:
            (node,) = nodes
            self._look_at_one(node)
            return node == self._last
        self._look_at(np.array(list(nodes), dtype=np.intp))
        return False

    def hold(self, number: int) -> bool:
        """Say whether room and filters alone speak for so many pods."""
        self._catch_up()
        self._last = -1
        nodes = np.flatnonzero(self._fits)
        if len(nodes) >= number:
            return True
        return (
            bool(len(nodes)) and int((self._room(nodes) // self._need).min(axis=1).sum()) >= number
        )

    def best(self, pod: Pod, alike: int = 1) -> int | None:
        """Return the best node for the pod on open room, or None.

        ``alike``: how many pods like this one, itself included, are about to ask one by one.
        """
        goes_on = self._catch_up()
        last, self._last = self._last, -1
        line, self._line = self._line, []
        draft = self._draft
        if goes_on and pod.nominated is None:
            if self._goes_on(pod, last):
                # It has less left over than before: no other became better.
                self._last, self._line = last, line
                return last
            if line and not self._open[last] and draft.field.takes(pod, line[-1]):
                self._last, self._line = line.pop(), line
                return self._last
        nodes = self._nodes()
        able = draft.field.left_among(pod, nodes)
        if draft.fragments is not None:  # their scores are dear: only of what takes the pod
            able = np.flatnonzero(draft.field.sifted(pod, self._mask_of(able)))
        if pod.nominated is not None:
            at = draft.scene.index.get(pod.nominated)
            if at is not None and at in able and draft.field.sifts(pod, at):
                return at
        if not len(able):
            return None
        fresh = able[~self._scored[able]]
        if len(fresh):
            self._scores[fresh] = scores(draft, fresh, pod)
            self._scored[fresh] = True
        found = self._first(pod, able)
        if found is not None:
            self._last = found
            if alike >= LINE and able is nodes:
                self._line = self._behind(found, able, alike)
        return found

    def _behind(self, best: int, able: Nodes, number: int) -> list[int]:
        """Return so many of the nodes that come behind the best one, the first at the end."""
        of = self._scores[able]
        if number < len(able):
            some = of <= np.partition(of, number)[number]
            able, of = able[some], of[some]
        order: list[int] = able[np.argsort(of, kind="stable")].tolist()
        return order[: order.index(best) : -1] if best in order else []

    def _goes_on(self, pod: Pod, last: int) -> bool:
        """Say whether the node of the last pod takes this one, and is the better for that one."""
        fits = bool(self._fits[last]) and fills_up(self._draft, last)
        return fits and self._draft.field.takes(pod, last)

    def _first(self, pod: Pod, able: Nodes) -> int | None:
        """Return the best of the nodes that takes the pod; those behind it are not looked at."""
        best = int(able[np.argmin(self._scores[able])])
        if self._draft.field.sifts(pod, best):
            return best
        self._open[best] = False
        self._leave_out(best)
        order = able[np.argsort(self._scores[able], kind="stable")]
        at, width = 1, FIRST
        while at < len(order):
            if found := self._taking(pod, order[at : at + width]):
                return found[0]
            at, width = at + width, 4 * width
        return None

    def _taking(self, pod: Pod, nodes: Nodes) -> list[int]:
        """Return those of the nodes that take the pod, in their order."""
        mask = self._mask_of(nodes)
        takes = self._draft.field.sifted(pod, mask)
        if takes is mask:
            return [int(n) for n in nodes]
        self._open[nodes] = takes[nodes]
        self._found = None
        return [int(n) for n in nodes if takes[n]]

    def _mask_of(self, nodes: Nodes) -> Mask:
        mask = np.zeros(len(self._fits), dtype=np.bool_)
        mask[nodes] = True
        return mask
