"""Expected fragmentation: idle parts of GPUs that the expected mix could not use (FGD's measure).

Σ over nodes n and kinds m of the mix of weight(m) · (idle parts of n that m cannot use): all of n's
where m does not fit n, else those on devices with less left than m takes of one.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from ..models import Device, DeviceShare
from ..models.devices import GPU
from .device_places import kept_on, leaves, new_users, users_on
from .device_rows import DeviceNode, milli_of, opened_on
from .device_sizes import whole_devices
from .expected_mix import WHOLE, Expected, mix_of
from .ledger import Matrix
from .outcome import Outcome

if TYPE_CHECKING:
    from .board import Board, NodeClass, Term, Var


def fragment(kind: Expected, node: int, idle: Sequence[int], room: Matrix) -> int:
    """Return the idle parts on the node (by device) that the kind cannot use."""
    hosts = sum(x >= kind.milli for x in idle)
    if not kind.may[node] or hosts < kind.devices or (room < kind.row).any():
        return sum(idle)
    return sum(x for x in idle if x < kind.milli)


def idle_parts(outcome: Outcome, node: int) -> list[int]:
    """Return what is idle on each device of the node after the plan, in thousandths."""
    scene = outcome.scene
    devices = scene.nodes[node].devices
    if not devices:
        column = scene.ledger.column.get(GPU)
        left = 0 if column is None else max(0, int(outcome.room[node][column]))
        return [WHOLE] * (left // WHOLE)
    state = kept_on(outcome, node)
    coming = sorted(new_users(outcome).get(node, ()), key=lambda p: p.key)
    found = state.find(coming, fewest=True) or state.find(coming) or {}
    stay = [p for p in users_on(outcome.scene, node) if not leaves(outcome, p)]
    used: dict[int, int] = {}
    for p in stay:
        if p.spec.share is not None and len(p.devices) == p.spec.share.devices:
            _use(used, p.spec.share, p.devices, devices)
    for k, p in enumerate([*(p for p, _ in state.floating), *coming]):
        if p.spec.share is not None:
            _use(used, p.spec.share, found.get(k, ()), devices)
    whole = sum(map(whole_devices, (*stay, *coming)))
    free = sum(d.healthy and i not in used for i, d in enumerate(devices)) - whole
    rest = [max(0, WHOLE - n) for d, n in sorted(used.items()) if devices[d].healthy]
    return [*rest, *[WHOLE] * max(0, free)]


def _use(
    used: dict[int, int], share: DeviceShare, at: Iterable[int], devices: Sequence[Device]
) -> None:
    for d in at:
        if d < len(devices):
            used[d] = used.get(d, 0) + milli_of(share, devices[d])


@dataclass(frozen=True, slots=True)
class ExpectedFragmentation:
    """Σ weight · idle GPU parts that a kind of the expected mix cannot use."""

    name: str = "expected-fragmentation"
    unit: str = "millionths of a GPU"
    sense: Literal["max", "min"] = "min"

    def measure(self, outcome: Outcome) -> int:
        scene = outcome.scene
        mix = mix_of(scene)
        if not mix:
            return 0
        column = scene.ledger.column[GPU]
        total = 0
        for i in np.flatnonzero(scene.allocatable[:, column] > 0).tolist():
            idle = idle_parts(outcome, i)
            if idle:
                total += sum(m.weight * fragment(m, i, idle, outcome.room[i]) for m in mix)
        return total

    def cost(self, board: "Board") -> "Iterable[Term]":
        """Return the terms; of merged nodes, and where shares float, what is surely lost."""
        scene = board.scene
        mix = mix_of(scene)
        out: list[Term] = []
        if not mix:
            return out
        column = scene.ledger.column[GPU]
        stays = 0
        before = Outcome(scene, {}, ())
        for i in np.flatnonzero(scene.allocatable[:, column] > 0).tolist():
            if board.class_of(i) is None and (idle := idle_parts(before, i)):
                stays += sum(m.weight * fragment(m, i, idle, scene.room_later[i]) for m in mix)
        for cls in board.classes:
            if scene.allocatable[cls.nodes[0]][column] > 0:
                idle_of = _Idle.of(board, cls)
                constant, terms = (0, []) if idle_of is None else idle_of.priced(mix, self.name)
                stays += constant
                out += terms
        if stays:
            out.append((stays, board.integer(1, 1, "fragments that stay").var))
        return out


@dataclass
class _Idle:
    """What is idle on a class after the plan: constant and terms, whole devices and opened ones."""

    board: "Board"
    cls: "NodeClass"
    whole: int
    whole_terms: "list[Term]"
    """Devices that nobody uses: constant and terms."""
    opened: "list[tuple[int, list[Term], Var]]"
    """By device that shares may be on: its idle parts, if it is opened, and whether it is."""

    @classmethod
    def of(cls, board: "Board", c: "NodeClass") -> "_Idle | None":
        scene, i = board.scene, c.nodes[0]
        node = scene.nodes[i]
        noted = board.notes.get(("devices", c.index))
        column = scene.ledger.column[GPU]
        if not isinstance(noted, DeviceNode):
            here = [p for p, at in board.world.present if at in c.nodes]
            wide = scene.room_now[i][column] > scene.allocatable[i][column]
            if node.devices and (wide or any(p.spec.share is not None for p in here)):
                return None
            if any(s.sample.spec.share is not None for s, _ in board.on(c)):
                return None
            units = [(u.row[column] // WHOLE, board.lost(u)) for u in board.units_on(c)]
            users = [(-whole_devices(s.sample), x) for s, x in board.on(c)]
            there = max(0, int(c.room[column])) // WHOLE * c.size
            return cls(board, c, there, [t for t in (*users, *units) if t[0]], [])
        return cls._of_devices(board, c, noted)

    @classmethod
    def _of_devices(cls, board: "Board", c: "NodeClass", n: DeviceNode) -> "_Idle | None":
        if any(u.sample.spec.share is not None and not u.sample.devices for u in n.units):
            return None
        flags = opened_on(board, "expected-fragmentation", n)
        there = sum(d.healthy for d in n.state.node.devices) - n.state.whole
        terms: list[Term] = [(-1, f) for f in flags] + [(-k, x) for k, x in n.whole]
        for u in n.units:
            if k := whole_devices(u.sample):
                there -= k * len(u.pods)
                terms.append((k, board.lost(u)))
        known: dict[int, int] = {}
        leaving = {p.key for u in n.units for p in u.pods}
        for p, at in board.world.present:
            if at == c.nodes[0] and p.key not in leaving and (share := p.spec.share) is not None:
                if len(p.devices) != share.devices:
                    return None  # nobody knows where it is
                _use(known, share, p.devices, n.state.node.devices)
        opened: list[tuple[int, list[Term], Var]] = []
        for d, device in enumerate(n.state.node.devices):
            if not device.healthy:
                continue
            base = WHOLE - known.get(d, 0)
            used: list[Term] = [(-milli_of(s, device), y) for s, y in n.on[d]]
            for u in n.units:
                if d in u.sample.devices and u.sample.spec.share is not None:
                    each = milli_of(u.sample.spec.share, device)
                    base -= each * len(u.pods)
                    used.append((each, board.lost(u)))
            if base < 0:
                return None  # overfull as it stands
            opened.append((base, used, flags[d]))
        return cls(board, c, there, terms, opened)

    def priced(self, mix: Sequence[Expected], rule: str) -> "tuple[int, list[Term]]":
        """Return constant and terms of Σ weight · (idle − what the kind can use)."""
        board, top = self.board, WHOLE * max(1, len(self.opened) or self.whole)
        constant, out = 0, []
        parts: list[Var] = []
        for d, (base, used, flag) in enumerate(self.opened):
            # What is left on the device if shares are on it; else it is among the whole ones.
            part = board.integer(0, WHOLE, ("idle part", self.cls.index, d)).var
            less = [(-c, x) for c, x in used]
            board.at_most([(1, part), *less], base, rule, self.cls.label)
            board.at_most([(1, part), (-WHOLE, flag)], 0, rule, self.cls.label)
            more: list[Term] = [(-1, part), *used]
            board.at_most(more, -base, rule, self.cls.label, given=[flag])
            parts.append(part)
        for number, m in enumerate(mix):
            constant += m.weight * WHOLE * self.whole
            out += [(m.weight * WHOLE * c, x) for c, x in self.whole_terms]
            out += [(m.weight, p) for p in parts]
            used_by = self._usable(m, number, parts, top, rule)
            if used_by is not None:
                out.append((-m.weight, used_by))
        return constant, out

    def _usable(
        self, m: Expected, number: int, parts: "Sequence[Var]", top: int, rule: str
    ) -> "Var | None":
        """Return a variable: at most the idle parts that the kind can use; None: none for sure."""
        board, cls = self.board, self.cls
        if not any(m.may[i] for i in cls.nodes):
            return None
        usable = board.integer(0, top, ("usable", cls.index, number)).var
        whole = [(-WHOLE * c, x) for c, x in self.whole_terms]
        if cls.size > 1:
            board.at_most([(1, usable), *whole], WHOLE * self.whole, rule, cls.label)
            return usable
        runs = board.flag(("could run", cls.index, number))
        board.at_most([(1, usable), (-top, runs)], 0, rule, cls.label)
        hosts: list[Term] = [(-c, x) for c, x in self.whole_terms]
        gains: list[Term] = list(whole)
        for d, part in enumerate(parts):
            if m.milli < WHOLE:
                able = board.flag(("hosts", cls.index, number, d))
                gain = board.integer(0, WHOLE, ("gain", cls.index, number, d)).var
                board.at_most([(m.milli, able), (-1, part)], 0, rule, cls.label)
                board.at_most([(1, gain), (-1, part)], 0, rule, cls.label)
                board.at_most([(1, gain), (-WHOLE, able)], 0, rule, cls.label)
                hosts.append((-1, able))
                gains.append((-1, gain))
        given = [runs]
        board.at_most(hosts, self.whole - m.devices, rule, cls.label, given=given)
        board.at_most([(1, usable), *gains], WHOLE * self.whole, rule, cls.label, given=given)
        for r, v in enumerate(m.row):
            asks: list[Term] = [(s.row[r], x) for s, x in board.on(cls) if s.row[r]]
            freed: list[Term] = [(-u.row[r], board.lost(u)) for u in board.units_on(cls)]
            if v:
                board.at_most([*asks, *freed], int(cls.room[r]) - int(v), rule, cls.label, given)
        return usable
