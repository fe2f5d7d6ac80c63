"""Topology: pods that must be near each other lie in one domain of the level that they require."""

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..models import GroupKey, Pod, PodKey, Violation
from .bonds import Bond, Bonds, Layer, Numbers
from .outcome import Outcome
from .scene import Scene
from .tracker import Choice, Mask, World

if TYPE_CHECKING:
    from .board import Board, GroupType, Var


@dataclass(frozen=True, slots=True)
class Topology:
    """|{domain of p : p in the bond, running after the plan}| = 1 where any of it starts.

    A bond is a group or a subgroup of it. Nodes outside the level serve nobody who requires it;
    running members stay where they are, and pin the domain.
    """

    name: str = "topology"

    def track(self, world: World) -> "_Near":
        return _Near(world)

    def tells(self, scene: Scene, pod: Pod) -> Hashable:
        """Tell pods apart by group and subgroups where they have bonds."""
        return (pod.group, pod.subgroups) if scene.bonds.of(pod) else None

    def splits(self, scene: Scene) -> Sequence[Numbers]:
        """Tell nodes apart by their domains."""
        return [layer.numbers for layer in scene.bonds.layers]

    def check(self, outcome: Outcome) -> Iterable[Violation]:
        scene = outcome.scene
        for key, started in outcome.started.items():
            for bond in scene.bonds.of_group(key):
                level = bond.required
                if level is None or not any(bond.holds(p) for p in started):
                    continue
                found = domains_of(outcome, bond, level)
                if -1 in found:
                    yield Violation(
                        self.name, bond.label,
                        f"{found[-1]} of its pods would be outside every {level.told}",
                    )  # fmt: skip
                elif len(found) > 1:
                    names = ", ".join(
                        f"{n} in {level.domains[d]}" for d, n in sorted(found.items())
                    )
                    yield Violation(
                        self.name, bond.label, f"its pods must share one {level.told}: {names}"
                    )

    def constrain(self, board: "Board") -> None:
        for t in board.types:
            for bond in board.scene.bonds.of_group(t.sample.key):
                if bond.required is not None:
                    self._one_domain(board, t, bond, bond.required)

    def _one_domain(self, board: "Board", t: "GroupType", bond: Bond, level: Layer) -> None:
        pins = set(pinned(board.scene, bond, level))
        flags = presence(board, t, bond, level, self.name)
        allowed = set(flags) - {-1} if not pins else pins - {-1} if len(pins) == 1 else set()
        for d, flag in flags.items():
            if d not in allowed:
                board.at_most([(1, flag)], 0, self.name, bond.label)
        board.at_most([(1, f) for f in flags.values()], 1, self.name, bond.label)


def domains_of(outcome: Outcome, bond: Bond, level: Layer) -> Counter[int]:
    """Count the bond's pods by domain, those that run and those that start.

    A group that starts pods loses none in the same plan, so that all that run stay.
    """
    index = outcome.scene.index
    new = [outcome.places[p.key] for p in outcome.started.get(bond.group, ()) if bond.holds(p)]
    starting = Counter(int(level.numbers[index[n]]) for n in new if n in index)
    return pinned(outcome.scene, bond, level) + starting


def pinned(scene: Scene, bond: Bond, level: Layer) -> Counter[int]:
    """Count the bond's running pods by domain; those on unknown nodes are left out."""
    running = (p for p in scene.roster[bond.group].running if bond.holds(p))
    return Counter(
        int(level.numbers[scene.index[p.node]]) for p in running if p.node in scene.index
    )


def presence(
    board: "Board", t: "GroupType", bond: Bond, level: Layer, rule: str
) -> "dict[int, Var]":
    """Return, by domain, a 0-1 variable that is 1 where any pod of the bond starts there."""
    cells: dict[int, list[Var]] = {}
    most = 0
    seen: set[int] = set()
    for r in board.rolesets_of(t):
        if not bond.holds(r.shape.sample):
            continue
        most += board.upper(board.count(r))
        if r.shape.index not in seen:
            seen.add(r.shape.index)
            for d, some in board.cells_by_domain(r.shape, level.numbers).items():
                cells.setdefault(d, []).extend(some)
    out: dict[int, Var] = {}
    for d, some in sorted(cells.items()):
        name = ("bond", bond.group, bond.subgroup, id(level), d)
        flag = out[d] = board.flag(name)
        if not board.once(name):
            continue
        top = min(most, sum(board.upper(v) for v in some))
        board.at_most([*((1, v) for v in some), (-top, flag)], 0, rule, bond.label)
    return out


class _Near:
    """Where the bonds' pods stand while a plan grows."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._bonds: Bonds | None = world.bonds if world.bonds else None
        self.is_idle = self._bonds is None
        self._changes: dict[GroupKey, list[tuple[Pod, int, int]]] = {}
        self._standing: dict[int, Counter[int]] = {}
        bonds = self._bonds
        for p, i in world.present if bonds is not None else ():
            if bonds is not None and bonds.of_group(p.group):
                self.add(p, i)

    def add(self, pod: Pod, node: int, times: int = 1) -> None:
        if self._bonds is None or pod.group is None or not self._bonds.of_group(pod.group):
            return
        self._changes.setdefault(pod.group, []).append((pod, node, times))
        for bond in self._bonds.of(pod):
            if id(bond) in self._standing:
                self._standing[id(bond)][node] += times

    def _nodes(self, bond: Bond) -> list[int]:
        """Return the nodes on which pods of the bond stand."""
        if id(bond) not in self._standing:
            count = self._standing[id(bond)] = Counter[int]()
            for p, i, n in self._changes.get(bond.group, ()):
                if bond.holds(p):
                    count[i] += n
        return [i for i, n in self._standing[id(bond)].items() if n > 0]

    def allows(self, pod: Pod) -> Mask | None:
        if self._bonds is None:
            return None
        mask: Mask | None = None
        for bond in self._bonds.of(pod):
            if bond.required is not None:
                left = self._left(bond, bond.required)
                mask = left if mask is None else mask & left
        return mask

    def opens(self, pod: Pod) -> Mask | None:
        return self.allows(pod)

    def _left(self, bond: Bond, level: Layer) -> Mask:
        """Say which nodes are left to the bond by those of its pods that stand."""
        pins = {int(level.numbers[i]) for i in self._nodes(bond)}
        if not pins:
            return np.asarray(level.numbers >= 0, dtype=np.bool_)
        if len(pins) > 1 or -1 in pins:
            return np.zeros(len(level.numbers), dtype=np.bool_)
        return np.asarray(level.numbers == pins.pop(), dtype=np.bool_)

    def choices(self, pods: Sequence[Pod]) -> list[Choice]:
        """Return, for each bond of these pods, the domains that it may choose from."""
        if self._bonds is None:
            return []
        out: list[Choice] = []
        for key in dict.fromkeys(p.group for p in pods):
            for bond in self._bonds.of_group(key):
                mine = frozenset(p.key for p in pods if p.group == key and bond.holds(p))
                if mine:
                    out.append(self._choice(bond, mine))
        return out

    def _choice(self, bond: Bond, pods: frozenset[PodKey]) -> Choice:
        level = bond.required
        inside = None if level is None else self._left(bond, level)
        hard = [] if level is None or inside is None else _domains(level, inside)
        nearer = []
        for wish in reversed(bond.wished):
            pins = {int(wish.numbers[i]) for i in self._nodes(bond)}
            if pins:
                there = np.isin(wish.numbers, sorted(pins))
                nearer.append([there if inside is None else there & inside])
            else:
                nearer.append(_domains(wish, inside))
        return Choice(bond, pods, level is not None, hard, nearer)


def _domains(level: Layer, inside: Mask | None) -> list[Mask]:
    """Return the domains of a level as masks, those within others' reach only."""
    numbers = level.numbers if inside is None else np.where(inside, level.numbers, -1)
    return [numbers == d for d in np.unique(numbers) if d >= 0]
