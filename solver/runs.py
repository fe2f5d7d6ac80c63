"""Runs: single pods that wait one behind the other and are alike, started as one.

Item by item they would be looked at, filled and placed with the same answers each time. Equal pods
go onto one node after the other, as many as it takes; where anything but room has a say, or the
queue is limited, they are offered singly.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from ..models import Pod, QueueName
from ..policies.could_run import repels
from ..policies.items import Item, leaf_key, nominated_pods
from ..policies.members import Standing
from .scores import fills_up

if TYPE_CHECKING:
    from .draft import Draft
    from .lines import Line

LEAST = 3
"""Shorter runs are offered singly."""


class Runs:
    """Finds runs in the lines of a draft, and places them."""

    def __init__(self, draft: "Draft", slices: int) -> None:
        self._draft, self._slices = draft, slices
        self._scene, self._table = draft.scene, draft.table
        self._promised = nominated_pods(self._scene)
        self._repelled = repels(self._scene)
        self._plain: dict[int, bool] = {}

    def of(self, line: "Line", beside: Mapping[QueueName, Sequence[int]], before: int) -> list[int]:
        """Return the slices of the items at the head of the line that can start as one run.

        ``beside``: what is in at other leaves below each queue above the leaf. ``before``: the
        first slice in which something of another line comes. The first item is single.
        """
        first = line.waiting[0]
        g, pod = first.group, first.pods[0]
        path = self._scene.tree.path(line.queue)
        size = self._draft.ask(first.pods)
        if any(
            self._draft.limits.limit[q][r] is not None for q in path for r in np.flatnonzero(size)
        ):
            return []
        running = line.running_before(leaf_key(first), self._scene)
        asked = [r for r in sorted(self._table.columns) if size[r]]
        base = {r: line.started[r] + running[r] for r in asked}
        floors = self._table.floors["entitlement"]
        most = [
            (floors[q][r] - base[r] - (beside[q][r] if q in beside else 0)) // size[r]
            for q in path
            for r in asked
        ]
        out: list[int] = []
        for n, item in enumerate(islice(line.waiting, min(most, default=len(line.waiting)))):
            other = item.group
            same = (
                item.pods[0].spec is pod.spec and other.priority == g.priority
                and other.may_preempt == g.may_preempt and self.is_single(item)
            )  # fmt: skip
            if not same:
                break
            slice_ = max(
                (self._slice(line.queue, r, base[r] + (n + 1) * size[r]) for r in asked), default=0
            )
            if slice_ >= before:
                break
            out.append(slice_)
        if len(out) < LEAST:
            return []
        last = leaf_key(line.waiting[len(out) - 1])
        if line.running_before(last, self._scene) != running:
            return []
        return out if self._draft.pledges.bear(self._draft, path, size * len(out)) else []

    def is_single(self, item: Item) -> bool:
        """Say whether the item is all of its group, and one pod that only room has a say about."""
        if len(item.pods) != 1 or not item.group.preemptable:
            return False
        m, pod = self._scene.roster[item.group.key], item.pods[0]
        return (
            m.standing is Standing.NEW and len(m.pending) == 1 and pod.nominated is None
            and pod.key not in self._promised and self._is_plain(pod)
            and not self._scene.bonds.of_group(m.key)
        )  # fmt: skip

    def _is_plain(self, pod: Pod) -> bool:
        spec = pod.spec
        if id(spec) not in self._plain:
            tied = spec.sees_pods or spec.host_ports or spec.volumes or spec.claims or spec.share
            free = not tied and not spec.aligned and not self._repelled
            self._plain[id(spec)] = free and self._draft.field.says_nothing(pod)
        return self._plain[id(spec)]

    def _slice(self, queue: QueueName, r: int, total: int) -> int:
        """Return the slice of a fill, as :func:`slice_of` says of fractions."""
        e = self._table.entitlement[queue][r]
        return slice_of(total * e.denominator, e.numerator, self._slices)

    def place(self, items: Iterable[Item]) -> int:
        """Start as many of the items as there is room for, in order; return how many."""
        draft = self._draft
        pods = [i.pods[0] for i in items]
        spots = draft.spots_of(pods[0])
        asked = np.flatnonzero(self._scene.row(pods[0]))
        need = self._scene.row(pods[0])[asked]
        done = 0
        while done < len(pods) and (node := spots.best(pods[done], len(pods) - done)) is not None:
            fit = 1
            if fills_up(draft, node) and len(asked):
                fit = int((draft.open_room_on(None, node)[asked] // need).min())
            some = pods[done : done + max(1, fit)]
            draft.put_run(some, node)
            done += len(some)
        return done


def slice_of(part: int, whole: int, slices: int) -> int:
    """Return in which slice a fill of part / whole is; 0 / 0 is empty."""
    if not whole:
        return 0 if not part else slices - 1
    return max(0, min(slices - 1, -(-part * slices // whole) - 1))
