"""Victims: running groups without which a held group would have its room, told by counting."""

from collections import Counter
from collections.abc import Collection, Sequence

import numpy as np

from ...models import GroupKey, Pod
from ...policies.columns import Flags
from ...policies.fitting import Field
from ...policies.ledger import Matrix, copies_by_room
from ...policies.members import Members
from ...policies.outcome import Outcome
from .fewest import fewest


class Room:
    """What nodes have room for beside a plan, and what each running group would add to it.

    Each kind of the pods that are wanted is counted by itself: a no is certain, a yes is not.
    """

    def __init__(self, outcome: Outcome, groups: Sequence[Members], wanted: Sequence[Pod]) -> None:
        scene = outcome.scene
        samples = {id(p.spec): p for p in wanted}
        asked = Counter(id(p.spec) for p in wanted)
        self._kinds = [(scene.row(p), scene.mask(p), asked[k]) for k, p in samples.items()]
        self._number = {m.key: k for k, m in enumerate(groups)}
        size = len(scene.nodes)
        of = [
            (self._number[m.key], scene.index[p.node], scene.columns.number[id(p.spec)])
            for m in groups
            for p in m.running
            if p.node in scene.index and p.key not in outcome.evicted
        ]
        table = np.array(of, dtype=np.int64).reshape(-1, 3)
        pairs, at = np.unique(table[:, 0] * size + table[:, 1], return_inverse=True)
        self._groups, self._nodes = pairs // size, pairs % size
        """Of each pair of a group and a node where it runs: which, and what it has there."""
        self._freed: Matrix = np.zeros((len(pairs), len(scene.ledger.resources)), np.int64)
        rows = scene.spec_rows[table[:, 2]]
        if rows.dtype == object:
            self._freed = self._freed.astype(object)
        np.add.at(self._freed, at.reshape(-1), rows)
        self._room = outcome.room
        self._outcome, self._wanted = outcome, wanted

    def suffices(self) -> list[bool]:
        """Say of each group whether its going alone could make the room."""
        out: Flags = np.ones(len(self._number), dtype=np.bool_)
        for row, mask, need in self._kinds:
            before = copies_by_room(self._room, row, mask)
            after = copies_by_room(self._room[self._nodes] + self._freed, row, mask[self._nodes])
            more = np.zeros(len(self._number), dtype=np.int64)
            np.add.at(more, self._groups, (after - before[self._nodes]).astype(np.int64))
            out &= int(before.sum()) + more >= need
        return [bool(v) for v in out]

    def suffice(self, groups: Collection[GroupKey]) -> bool:
        """Say whether the going of all of them could make the room."""
        gone = np.zeros(len(self._number), dtype=np.bool_)
        gone[[self._number[k] for k in groups]] = True
        here = gone[self._groups]
        room = self._room.copy()
        np.add.at(room, self._nodes[here], self._freed[here])
        return all(int(copies_by_room(room, row, mask).sum()) >= n for row, mask, n in self._kinds)

    def several(self, groups: Sequence[Members]) -> list[Members]:
        """Return groups of which none could stay, by counting; [] where all are not enough."""
        if not self.suffice([m.key for m in groups]):
            return []
        return fewest(groups, lambda some: self.suffice([m.key for m in some]))

    def fits_without(self, groups: Sequence[Members]) -> bool:
        """Say whether nodes would have places, were these groups gone; a plan may say no yet."""
        scene, outcome = self._outcome.scene, self._outcome
        gone = outcome.evicted | {p.key for m in groups for p in m.running}
        without = Outcome(scene, outcome.places, gone, bound=())
        world = scene.world(gone)
        world.present.extend(without.new_pods)
        return Field(scene, without.room, world).place(self._wanted).places is not None

    def bears(self, groups: Sequence[Members]) -> bool:
        """Say the same, by counting first: that takes less by far, and its no is certain."""
        return self.suffice([m.key for m in groups]) and self.fits_without(groups)
