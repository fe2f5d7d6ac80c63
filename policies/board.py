"""The board: what a rule may see and touch of the solver's model.

It speaks of merged things: shapes of pods, classes of equal nodes, types of equal groups. The model
is integer variables and named rows Σ coefficient · variable ≤ bound, each perhaps only where some
0-1 variables are 1: what CP-SAT, an LP and a MIP engine all read, so that a rule is told once.
See docs/design/board.md.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import gcd
from typing import Any, NewType

import numpy as np
from numpy.typing import NDArray

from ..models import GroupKey
from .api import Granting
from .levels import Levels
from .members import Standing
from .parts import (
    NOBODY,
    Claimant,
    GroupType,
    NodeClass,
    Parts,
    RoleSet,
    Shape,
    Unit,
    Victim,
)
from .scene import Scene
from .tracker import World

__all__ = [
    "NOBODY", "Board", "Bounded", "Claimant", "GroupType", "NodeClass", "Parts", "RoleSet", "Row",
    "Shape", "Term", "Unit", "Var", "Victim",
]  # fmt: skip

Var = NewType("Var", int)
"""A variable of the model: its number."""
Term = tuple[int, Var]
"""Coefficient and variable."""
ROW_LIMIT = 1 << 31
"""Rows whose terms could add up to more are divided and rounded to the safe side."""


@dataclass(frozen=True, slots=True)
class Bounded:
    """A variable with the largest value it can take."""

    var: Var
    upper: int


@dataclass(frozen=True, slots=True)
class Row:
    """Σ coefs · vars ≤ bound, wherever all of ``given`` are 1."""

    vars: tuple[Var, ...]
    coefs: tuple[int, ...]
    bound: int
    rule: str
    about: str
    given: tuple[Var, ...] = ()
    equal: bool = False
    """Σ = bound instead."""


@dataclass
class Board:
    """A model under construction, seen through merged things."""

    scene: Scene
    parts: Parts
    levels: Levels
    exact: bool = True
    """False once a row had to be rounded: the model may then refuse what is legal."""
    lower: list[int] = field(default_factory=list)
    upper_: list[int] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)

    def __post_init__(self) -> None:
        p = self.parts
        self.world: World = self.scene.world()
        self._memo: dict[Hashable, Var] = {}
        self._choices: dict[str, list[Var]] = {}
        self.rights: dict[tuple[Claimant, int], Var | bool] = {}
        self.answers: dict[Hashable, Var | bool] = {}
        self.notes: dict[Hashable, Any] = {}
        """What rules worked out about the board and want to keep."""
        self._numbers: dict[Hashable, int] = {}
        self._class_of_node = {i: c for c in p.classes for i in c.nodes}
        self._start = [
            None if t.standing is Standing.WHOLE else self._new(len(t.members)) for t in p.types
        ]
        self._count = [self._new(r.limit * len(r.type.members)) for r in p.rolesets]
        self._gone = [self._new(1) for _ in p.victims]
        self._lost = [self._new(len(u.pods)) for u in p.units]
        self._type_of = {m.key: t for t in p.types for m in t.members}
        self._victim_of = {v.members.key: v for v in p.victims}
        self._units_on: dict[int, list[Unit]] = {}
        self._units_of: dict[int, list[Unit]] = {}
        for u in p.units:
            self._units_of.setdefault(u.victim.index, []).append(u)
            if u.node >= 0:
                self._units_on.setdefault(self._class_of_node[u.node].index, []).append(u)
        self._rolesets_of_shape: list[list[RoleSet]] = [[] for _ in p.shapes]
        self._rolesets_of_type: list[list[RoleSet]] = [[] for _ in p.types]
        for r in p.rolesets:
            self._rolesets_of_shape[r.shape.index].append(r)
            self._rolesets_of_type[r.type.index].append(r)
        for rule in self.scene.rules:
            if isinstance(rule, Granting):
                rule.grant(self)
        self._open_places()

    def _open_places(self) -> None:
        """Make the variables of places, now that rights are known.

        Where its claimant has a right to nothing a shape goes as its pool, which has room only for
        what claims nothing. A pod that has a right may go as its pool all the same: what the pool
        uses is taken from the room of every set of claimants.
        """
        p = self.parts
        self._x: dict[tuple[int, int], Var] = {}
        self._cells: list[list[tuple[NodeClass, Var]]] = [[] for _ in p.shapes]
        self._on: list[list[tuple[Shape, Var]]] = [[] for _ in p.classes]
        for (s, c), most in sorted(p.fits.items()):
            shape = p.shapes[s]
            if shape.pool is not None and not self._claims(shape, p.classes[c]):
                continue
            var = self._x[s, c] = self._new(most)
            self._cells[s].append((p.classes[c], var))
            self._on[c].append((shape, var))
        self._pooled = {
            s.index: self._new(
                sum(r.limit * len(r.type.members) for r in self._rolesets_of_shape[s.index])
            )
            for s in p.shapes
            if s.pool is not None
        }
        for shape in p.shapes:
            i = shape.index
            placed = [(1, v) for _, v in self._cells[i]]
            counted = [(-1, self._count[r.index]) for r in self._rolesets_of_shape[i]]
            if shape.pool is not None:
                placed.append((1, self._pooled[i]))
            given = [(-1, self._pooled[t.index]) for t in p.shapes if t.pool == i]
            there = len(p.settled.get(i, ()))
            self.equal([*placed, *counted, *given], -there, "placement", shape.label)

    def _claims(self, shape: Shape, cls: NodeClass) -> bool:
        """Say whether the shape may have a right on the class that not everybody has."""
        return any(
            not u.victim.given_up and self.right(shape.claimant, u.victim) is not False
            for u in self.units_on(cls)
        )

    @property
    def main(self) -> list[Var]:
        """The variables that make up a decision: starts, counts, places, evictions."""
        starts = [v for v in self._start if v is not None]
        pooled = self._pooled.values()
        return [*starts, *self._count, *self._x.values(), *pooled, *self._gone, *self._lost]

    @property
    def evictions(self) -> list[Var]:
        """The variables that say what is evicted."""
        return [*self._gone, *self._lost]

    # What there is

    @property
    def shapes(self) -> tuple[Shape, ...]:
        return self.parts.shapes

    @property
    def classes(self) -> tuple[NodeClass, ...]:
        return self.parts.classes

    @property
    def types(self) -> tuple[GroupType, ...]:
        return self.parts.types

    @property
    def rolesets(self) -> tuple[RoleSet, ...]:
        return self.parts.rolesets

    @property
    def victims(self) -> tuple[Victim, ...]:
        return self.parts.victims

    @property
    def units(self) -> tuple[Unit, ...]:
        return self.parts.units

    # Variables

    def started(self, groups: GroupType) -> Var | None:
        """How many groups of the type get their minimum; None where they run whole already."""
        return self._start[groups.index]

    def count(self, role: RoleSet) -> Var:
        """How many pods of the role set start, over all groups of its type."""
        return self._count[role.index]

    def pods(self, shape: Shape, nodes: NodeClass) -> Var | None:
        """How many pods of the shape go to the class; None where none fits."""
        return self._x.get((shape.index, nodes.index))

    def pooled(self, shape: Shape) -> Var | None:
        """How many pods of the shape go where claimants do not matter; None if all places do."""
        return self._pooled.get(shape.index)

    def cells(self, shape: Shape) -> Sequence[tuple[NodeClass, Var]]:
        """Where the shape can go, with the variable of each class."""
        return self._cells[shape.index]

    def on(self, nodes: NodeClass) -> Sequence[tuple[Shape, Var]]:
        """What can go to the class."""
        return self._on[nodes.index]

    def rolesets_of(self, groups: GroupType) -> Sequence[RoleSet]:
        return self._rolesets_of_type[groups.index]

    def gone(self, victim: Victim) -> Var:
        """Whether the victim goes as a whole."""
        return self._gone[victim.index]

    def lost(self, unit: Unit) -> Var:
        """How many pods of the unit are evicted."""
        return self._lost[unit.index]

    def units_on(self, nodes: NodeClass) -> Sequence[Unit]:
        return self._units_on.get(nodes.index, ())

    def units_of(self, victim: Victim) -> Sequence[Unit]:
        return self._units_of.get(victim.index, ())

    def type_of(self, group: GroupKey) -> GroupType | None:
        """The type that the group is one of; None where nothing of it can start."""
        return self._type_of.get(group)

    def victim_of(self, group: GroupKey) -> Victim | None:
        """The group as a victim; None where nobody could evict it."""
        return self._victim_of.get(group)

    def class_of(self, node: int) -> NodeClass | None:
        return self._class_of_node.get(node)

    def cells_by_domain(
        self, shape: Shape, numbers: NDArray[np.int64]
    ) -> Mapping[int, Sequence[Var]]:
        """Where the shape can go, by domain number (a class lies in its first node's domain)."""
        out: dict[int, list[Var]] = {}
        for cls, var in self._cells[shape.index]:
            out.setdefault(int(numbers[cls.nodes[0]]), []).append(var)
        return out

    # Further variables

    def _new(self, upper: int, lower: int = 0) -> Var:
        self.lower.append(lower)
        self.upper_.append(upper)
        return Var(len(self.upper_) - 1)

    def upper(self, var: Var) -> int:
        """Return the largest value that the variable can take."""
        return self.upper_[var]

    def bounded(self, var: Var) -> Bounded:
        return Bounded(var, self.upper_[var])

    def integer(self, lower: int, upper: int, name: Hashable) -> Bounded:
        """Return the integer variable of that name, made on first use."""
        if name not in self._memo:
            self._memo[name] = self._new(upper, lower)
        return self.bounded(self._memo[name])

    def flag(self, name: Hashable) -> Var:
        """Return the 0-1 variable of that name, made on first use."""
        return self.integer(0, 1, name).var

    def choice(self, kind: str, name: str) -> Var:
        """Return a 0-1 variable; of one kind at most one is 1."""
        memo = ("choice", kind, name)
        if memo not in self._memo:
            self._memo[memo] = self._new(1)
            self._choices.setdefault(kind, []).append(self._memo[memo])
        return self._memo[memo]

    def once(self, name: Hashable) -> bool:
        """Say whether nobody has asked with this name before: rows of shared variables."""
        before = len(self._numbers)
        self._numbers.setdefault(("once", name), before)
        return len(self._numbers) > before

    def number(self, thing: Hashable) -> int:
        """Return a small number that stands for the thing."""
        return self._numbers.setdefault(thing, len(self._numbers))

    def present(self, shape: Shape, key: str, domain: int, cells: Iterable[Var]) -> Var:
        """Return a 0-1 variable that is 1 where any pod of the shape is in the domain."""
        memo = ("present", shape.index, key, domain)
        if memo not in self._memo:
            flag = self._new(1)
            self._memo[memo] = flag
            for var in cells:
                top = self.upper_[var]
                self.at_most([(1, var), (-top, flag)], 0, "placement", f"{shape.label} {key}")
        return self._memo[memo]

    def displaces(self, shape: Shape, unit: Unit, rule: str, cls: NodeClass | None = None) -> None:
        """Let the shape onto the class (the unit's own, if none is named) only in the unit's stead.

        All pods of the unit must go, and the shape's group must have a right to them.
        """
        at = cls if cls is not None else self._class_of_node[unit.node]
        var = self._x.get((shape.index, at.index))
        if var is None:
            return
        here = self.present(shape, "class", at.index, [var])
        label = f"{shape.label} {unit.sample.key}"
        self.at_most([(len(unit.pods), here), (-1, self._lost[unit.index])], 0, rule, label)
        right = self.right(shape.claimant, unit.victim)
        if right is not True:
            self.at_most([(1, here), *([] if right is False else [(-1, right)])], 0, rule, label)

    def right(self, claimant: Claimant | None, victim: Victim) -> Var | bool:
        """Say whether the claimant may evict the victim: always, never, or where a variable is 1.

        Answered by the preemption rule, which fills :attr:`rights` first; without it: always.
        """
        if victim.given_up or claimant is None:
            return True
        if claimant is NOBODY:
            return False
        return self.rights.get((claimant, victim.index), True)

    def is_wanted(self, victim: Victim) -> bool:
        """Say whether anybody might have a right to the victim in some plan."""
        return any(self.right(c, victim) is not False for c in self.claimants)

    @cached_property
    def claimants(self) -> tuple[Claimant, ...]:
        """Return all claimants, in the order of shapes, which is the same in every process."""
        return tuple(dict.fromkeys(s.claimant for s in self.shapes if s.claimant is not None))

    # Constraints

    def at_most(
        self,
        terms: Iterable[Term],
        bound: int,
        rule: str,
        about: str,
        given: Sequence[Var] = (),
    ) -> None:
        """Require Σ coefficient · variable ≤ bound (all integers), where every ``given`` is 1.

        Divides by what the coefficients share; where the terms could still add up to more than
        2^31, divides by a power of two, as amounts often are multiples of one, and rounds to the
        safe side, and the board is no longer exact.
        """
        kept = [(c, v) for c, v in terms if c]
        vars_, coefs = [v for _, v in kept], [c for c, _ in kept]
        share = gcd(*coefs)
        if share > 1:
            bound //= share
            coefs = [c // share for c in coefs]
        upper = self.upper_
        most = reach = 0
        for c, v in zip(coefs, vars_, strict=True):
            term = c * upper[v]
            most += max(0, term)
            reach += abs(term)
        if most <= bound:
            return
        if max(reach, abs(bound)) >= ROW_LIMIT:
            least = -(-max(reach, abs(bound)) // (ROW_LIMIT - 1 - len(coefs)))
            by = 1 << (least - 1).bit_length()
            coefs = [-(-c // by) for c in coefs]
            bound //= by
            self.exact = False
        self.rows.append(Row(tuple(vars_), tuple(coefs), bound, rule, about, tuple(given)))

    def equal(self, terms: Iterable[Term], value: int, rule: str, about: str) -> None:
        """Require Σ coefficient · variable = value; small coefficients only."""
        kept = [(c, v) for c, v in terms if c]
        if kept or value:
            vars_, coefs = tuple(v for _, v in kept), tuple(c for c, _ in kept)
            self.rows.append(Row(vars_, coefs, value, rule, about, (), True))

    def close(self) -> None:
        """Finish: add what the choices made so far imply."""
        for kind, flags in sorted(self._choices.items()):
            self.at_most([(1, f) for f in flags], 1, "placement", kind)
        self._choices.clear()
