"""Capacity: how many more copies of a group would start, now and with nodes added.

A number is found by planning: copies are submitted, the youngest of all, and the plan is asked
whether all of them start. Places beside the plan without them say where to begin, and counting room
gives a number that no plan can exceed.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from msgspec.structs import replace

from ...models import Config, GroupKey, Node, Plan, Snapshot
from ...models.edit import edited
from ...models.edit_groups import group_named
from ...models.edits import AddNodes, CopyGroup
from ...models.snapshot import API_VERSION
from ...models.value import Value, to_data
from ...policies.exchange import exchange
from ...policies.limits import limits_of
from ...policies.outcome import Outcome
from ...policies.registry import rules_for
from ...policies.scene import Scene
from ...solver.entry import plan
from ...solver.process import SolverProcess
from .fewest import last_of
from .trial import is_small

MOST = 4096
"""More copies than this are not looked for."""
MOST_BESIDE = 64
"""So many are given places one by one."""


class Fit(Value, frozen=True, omit_defaults=False):
    """How many copies would start beside everything else."""

    copies: int
    counted: int
    """What no plan can exceed, by counting room on nodes and in queues."""
    exact: bool
    """One copy more does not start in a plan that nothing cut short, or counting says so."""


class PerNode(Value, frozen=True, omit_defaults=False):
    """How many copies would start with nodes added."""

    like: str
    nodes: int
    fit: Fit


class Capacity(Value, frozen=True, omit_defaults=False):
    """How often a group would fit more than it is there."""

    group: GroupKey
    now: Fit
    added: tuple[PerNode, ...] = ()


def capacity(
    snapshot: Snapshot,
    config: Config,
    group: GroupKey,
    *,
    models: Sequence[str] = (),
    numbers: Sequence[int] = (1, 2, 4),
    process: SolverProcess | None = None,
) -> Capacity:
    """Say how many more copies of a group would start, now and with nodes like ``models`` added.

    A copy fits where its minimum starts at once or is promised a place, nothing is evicted that
    would not be evicted anyway, nobody is moved, and all else starts that would start without the
    copies. With nodes added, more than is likely is asked for on small clusters only.

    Raises
    ------
    InputError
        If there is no such group or node.
    """
    group_named(snapshot, group)
    config = replace(config, moves=0)
    now = _Asks(snapshot, config, group, process).fit()
    added = [
        PerNode(
            like,
            n,
            _Asks(edited(snapshot, [AddNodes(like, n)]), config, group, process).fit(prove=False),
        )
        for like in models
        for n in numbers
    ]
    return Capacity(group, now, tuple(added))


@dataclass
class _Asks:
    snapshot: Snapshot
    config: Config
    group: GroupKey
    process: SolverProcess | None
    _known: dict[int, bool] = field(default_factory=dict)
    _sure: dict[int, bool] = field(default_factory=dict)
    """Of numbers that were planned, whether it is certain that so many do not start."""

    def fit(self, *, prove: bool = True) -> Fit:
        """Return the number of copies; ``prove``: ask plans whether more would start.

        What is likely is planned first: as many as have places beside the plan without them, or
        more where greedy's draft, which is soon made, says so.
        """
        most = min(MOST, self._counted())
        low, high, likely = 0, most + 1, [self._beside(most)]
        if likely[0] < most and self.config.engine != "greedy":
            # Out of time at once: it is not put in order, and is asked for no answer.
            config = replace(self.config, engine="greedy", deterministic=False, budget_ms=1)
            near = _Asks(self.snapshot, config, self.group, self.process)
            likely.append(near.between(likely[0], high))
        for n in sorted(set(likely), reverse=True):
            if low < n < high:
                low, high = (n, high) if self.starts(n) else (low, n)
        if prove or not low or is_small(self.snapshot):
            low = self.between(low, high)
        is_most = low == most < MOST
        return Fit(low, most, exact=is_most or self._sure.get(low + 1, False))

    def _beside(self, most: int) -> int:
        """Return how many copies have places beside the plan without them, up to some."""
        most = min(most, MOST_BESIDE)
        if not most:
            return 0
        changed = edited(self.snapshot, [CopyGroup(self.group, most)])
        scene = Scene(changed, self.config, rules_for(self.config))
        outcome = Outcome.of_plan(scene, self._without)
        copies = [g.key for g in changed.groups if g.key not in self.snapshot.groups_by_key]
        for n, key in enumerate(copies):
            found = exchange(outcome, key, ())
            if found is None:
                return n
            outcome = found
        return most

    def between(self, low: int, high: int) -> int:
        """Return how many copies start, where ``low`` do and ``high`` do not."""
        return last_of(self.starts, low, high)

    def starts(self, copies: int) -> bool:
        """Say whether so many copies all start beside what the plan without them does."""
        if copies not in self._known:
            base = self._without
            changed = edited(self.snapshot, [CopyGroup(self.group, copies)])
            made = self._planned(changed)
            new = {g.key for g in changed.groups} - {g.key for g in self.snapshot.groups}
            begun = {changed.pods_by_key[p].group for p in made.places}
            self._known[copies] = (
                new <= begun
                and {e.pod for e in made.evictions} <= {e.pod for e in base.evictions}
                and _starts(base) <= _starts(made)
            )
            # A plan that was cut short says nothing of what another might have started.
            made_whole = made.solver.order_proven or made.solver.status == "optimal"
            self._sure[copies] = made_whole and not self._known[copies]
        return self._known[copies]

    @cached_property
    def _without(self) -> Plan:
        """The plan without copies."""
        return self._planned(self.snapshot)

    def _planned(self, snapshot: Snapshot) -> Plan:
        return plan(snapshot, self.config, process=self.process)

    def _counted(self) -> int:
        """Return what room on nodes and in queues allows at most, each resource by itself."""
        scene = Scene(self.snapshot, self.config, rules_for(self.config))
        outcome = Outcome.of_plan(scene, self._without)
        m = scene.roster[self.group]
        members = [*m.running, *m.pending, *m.gated, *m.succeeded]
        need = max(1, m.group.effective_minimum)
        if len(members) < need:
            return 0
        asks = [sorted(int(v) for v in column) for column in np.array(
            [scene.row(p) for p in members], dtype=object).T]  # fmt: skip
        row = [sum(of[:need]) for of in asks]
        limits = limits_of(scene)
        most = MOST
        for q in scene.tree.path(m.group.queue):
            for r, top in enumerate(limits.limit[q]):
                if top is not None and row[r]:
                    most = min(most, max(0, top - int(outcome.use_after[q][r])) // row[r])
        open_ = [i for i, n in enumerate(scene.nodes) if n.takes_pods]
        for r, each in enumerate(row):
            if each:
                left = sum(int(outcome.room[i][r]) for i in open_)
                most = min(most, max(0, left) // each)
        # What starts may go elsewhere to make place for copies: room without it, node by node.
        room = Outcome(scene, {}, outcome.evicted, bound=()).room
        fits = 0
        for i in open_:
            parts = [max(0, int(room[i][r])) // of[0] for r, of in enumerate(asks) if of[0]]
            fits += min(parts, default=MOST)
        return max(0, min(most, fits // need))


def _starts(made: Plan) -> Counter[GroupKey]:
    """Count what starts or is promised a place, by group: which of equal pods does is free."""
    return Counter([b.group for b in made.binds]) + Counter([n.group for n in made.nominations])


def models_for(snapshot: Snapshot, group: GroupKey) -> list[Node]:
    """Return one node of each size that takes some pod of the group."""
    pods = snapshot.pods_by_group.get(group, ())
    seen: set[object] = set()
    out: list[Node] = []
    for n in snapshot.nodes:
        if n.allocatable not in seen and any(p.footprint.fits(n.allocatable) for p in pods):
            seen.add(n.allocatable)
            out.append(n)
    return out


def to_document(found: Capacity) -> dict[str, Any]:
    """Return the answer as plain data."""
    return {"apiVersion": API_VERSION, "kind": "Capacity", **to_data(found)}
