"""Leftovers: room that victims have freed beyond what they left for, lent to others with a right.

A gang leaves as a whole though few of its pods are in the way. Whoever else has a right to it may
use what it leaves; that costs nobody anything, so it is tried before anybody more is evicted.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..models import GroupKey, Pod
from ..policies.ledger import Matrix
from ..policies.rights import asks_of, limit_of
from ..policies.tracker import Mask
from .footing import rights_to
from .scores import scores

if TYPE_CHECKING:
    from .draft import Draft

SPARE = 4
"""So many nodes more than the pods may need are lent, as filters and devices may refuse some."""

Estate = tuple[int, GroupKey]
"""A node, and for whom somebody has left it."""


@dataclass(frozen=True, slots=True)
class Loan:
    """What a taker has freed on a node and another group uses."""

    node: int
    taker: GroupKey
    row: Matrix


class Leftovers:
    """Who has left which nodes for whom in a draft, and what of it others use."""

    def __init__(self, draft: "Draft") -> None:
        self._draft = draft
        self._victims: dict[Estate, Counter[int]] = {}
        """By node and taker, of which runners how many pods have left."""
        self._loans: dict[GroupKey, list[Loan]] = {}
        self._open: dict[GroupKey, list[Loan]] = {}
        """Loans of which it is not known yet what is used."""
        self._new: dict[GroupKey, set[int]] = {}
        """Nodes on which the group had no right before its open loans."""
        self._nodes: tuple[list[Estate], Matrix] | None = None

    def note(self, pod: Pod, node: int, taker: GroupKey, more: int) -> None:
        """Take note that the pod leaves its node for the taker (1), or stays after all (−1)."""
        runner = self._draft.herd.at.get(pod.group) if pod.group is not None else None
        if runner is None:
            return
        of = self._victims.setdefault((node, taker), Counter())
        of[runner] += more
        if of[runner] <= 0:
            del of[runner]
        if not of:
            del self._victims[node, taker]
        if len(of) <= 1:
            self._nodes = None

    def heirs_of(self, taker: GroupKey) -> list[GroupKey]:
        """Return who uses what others have left for the taker."""
        return [g for g, loans in self._loans.items() if any(n.taker == taker for n in loans)]

    # Lending

    def lend(self, group: GroupKey, pods: Sequence[Pod]) -> bool:
        """Let the group use what others leave idle where such pods would fit; say whether any."""
        draft = self._draft
        if not self._victims or not draft.scene.snapshot.group(group).may_preempt:
            return False
        may: Mask | None = None
        samples = {id(p.spec): p for p in pods}
        numbers = Counter(id(p.spec) for p in pods)
        for spec, pod in samples.items():
            estates = self._roomy(group, pod)
            if not estates:
                continue
            may = self._rights(group, pods) if may is None else may
            self._lend_some(group, pod, estates, may, numbers[spec])
        return group in self._open

    def _lend_some(
        self, group: GroupKey, pod: Pod, estates: list[Estate], may: Mask, number: int
    ) -> None:
        draft = self._draft
        asked = draft.scene.row(pod) > 0
        need = draft.scene.row(pod)[asked]
        count = seen = 0
        for node, taker in estates:
            if seen and count >= number + SPARE:
                return
            if not all(may[r] for r in self._victims[node, taker]):
                continue
            row = draft.pools.left(node, taker)
            if row is None or not (row[asked] > 0).any():
                continue
            if node not in draft.claims_of.get(group, ()):
                draft.claims_of.setdefault(group, set()).add(node)
                self._new.setdefault(group, set()).add(node)
            draft.pools.cede(node, taker, group, row)
            draft.changes.append(node)
            self._open.setdefault(group, []).append(Loan(node, taker, row))
            room = draft.open_room_on(group, node)[asked]
            count += max(0, int((room // need).min()))
            seen += 1

    def _roomy(self, group: GroupKey, pod: Pod) -> list[Estate]:
        """Return what was left for others where the pod would fit, the best nodes first."""
        draft = self._draft
        if self._nodes is None:
            estates = list(self._victims)
            self._nodes = (estates, np.array([n for n, _ in estates], dtype=np.intp))
        estates, nodes = self._nodes
        row = draft.scene.row(pod)
        asked = np.flatnonzero(row)
        fits = (draft.field.room[nodes][:, asked] >= row[asked]).all(axis=1)
        fits &= draft.scene.mask(pod)[nodes]
        fits &= (draft.pools.common[nodes][:, asked] < row[asked]).any(axis=1)
        at = np.flatnonzero(fits)
        if not len(at):
            return []
        order = np.argsort(scores(draft, nodes[at], pod), kind="stable")
        return [e for k in at[order].tolist() if (e := estates[k])[1] != group]

    def _rights(self, group: GroupKey, pods: Sequence[Pod]) -> Mask:
        """Say to which of the runners the group has a right, as much of them as has left."""
        draft, scene, herd = self._draft, self._draft.scene, self._draft.herd
        g = scene.snapshot.group(group)
        gone = draft.gone.of_runner
        may: Mask = np.zeros(len(herd.runners), dtype=np.bool_)
        beyond = draft.ways.beyond(g.queue, asks_of(scene, scene.roster[group]), draft.ask(pods))
        if beyond is not None:
            whole = (gone >= herd.running) & herd.has_minimum
            may = np.where(whole, beyond[0], gone <= beyond[1])
        for k, queue in enumerate(herd.queues):
            limit = limit_of(scene, g.queue, queue, g.priority)
            at = herd.of_queue[k]
            if queue == g.queue:
                may[at] = herd.priority[at] < (limit if limit is not None else g.priority)
            elif limit is not None:
                may[at] &= herd.priority[at] < limit
        if (soon := herd.yet_to_run(g.queue)) is not None:
            may &= ~soon | (gone < herd.running)
        if group in herd.at:
            may[herd.at[group]] = False
        return may

    # Giving back

    def settle(self, group: GroupKey) -> None:
        """Take back what the group does not use of what was lent to it."""
        draft = self._draft
        taken: dict[GroupKey, list[Pod]] = {}
        for loan in self._open.pop(group, ()):
            left = draft.pools.left(loan.node, group)
            unused = loan.row * 0 if left is None else np.minimum(loan.row, left)
            draft.pools.cede(loan.node, group, loan.taker, unused)
            draft.changes.append(loan.node)
            kept = loan.row - unused
            if kept.any():
                self._loans.setdefault(group, []).append(Loan(loan.node, loan.taker, kept))
                self._new.get(group, set()).discard(loan.node)
                for r in self._victims.get((loan.node, loan.taker), ()):
                    taken[draft.herd.runners[r].members.key] = []
        for node in self._new.pop(group, ()):
            if draft.pools.is_even(node, group):
                draft.pools.waive(node, group)
                draft.claims_of[group].discard(node)
        if not draft.claims_of.get(group, True):
            del draft.claims_of[group]
        if taken:
            draft.pledges.add(rights_to(draft, group, taken) or ())

    def give_back(self, group: GroupKey) -> None:
        """Take back all that was lent to a group that starts nothing."""
        self._new.pop(group, None)
        for loan in (*self._open.pop(group, ()), *self._loans.pop(group, ())):
            self._draft.pools.cede(loan.node, group, loan.taker, loan.row)
            self._draft.changes.append(loan.node)
