"""Claims: room that victims free is for those with a right to them, on nodes and in queues.

Any set of starting groups uses at most the room before plus what is freed by victims to which one
of the set has a right (docs/design/order.md, section 4).
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, TypeVar

from .api import Rule
from .limits import limits_of
from .scene import Scene

if TYPE_CHECKING:
    from .board import Board, Claimant, NodeClass, Term, Unit, Var

T = TypeVar("T")
_Sign = bool | tuple[str, int]
"""A right that is known, or the variable that says it."""
_Kind = tuple[_Sign, ...]
"""The rights of equal claimants to what may go somewhere."""

SUBSETS = 5
"""Of up to so many kinds of claimants every subset gets its row; of more, the main ones."""
CLOSED_SETS = 150
"""Where no more sets of kinds than these say something of their own, the solver is told of all."""
PAIRS = 12
"""Of up to so many kinds the solver is told of every pair as well."""


def subsets(kinds: Sequence[T]) -> Iterable[Sequence[T]]:
    """Every non-empty subset where there are few kinds; single ones and all of them beyond."""
    if len(kinds) <= SUBSETS:
        for n in range(1, len(kinds) + 1):
            yield from combinations(kinds, n)
    else:
        for k in kinds:
            yield (k,)
        yield tuple(kinds)


def limited(scene: Scene) -> bool:
    """Say whether queues have limits at all: the rule that keeps them can be turned off."""
    return any(isinstance(rule, Rule) and rule.name == "quota" for rule in scene.rules)


def tell_claims(board: "Board", rule: str) -> None:
    """Tell the same to the solver, once it knows the rights."""
    for cls in board.classes:
        if board.units_on(cls):
            _on_node(board, rule, cls)
    _in_queues(board, rule)


def _on_node(board: "Board", rule: str, cls: "NodeClass") -> None:
    new: dict[Claimant, list[tuple[tuple[int, ...], Var]]] = {}
    for s, var in board.on(cls):
        if s.claimant is not None:
            new.setdefault(s.claimant, []).append((s.row, var))
    _claim_rows(board, rule, new, board.units_on(cls), [max(0, r) for r in cls.room], cls.label)


def _in_queues(board: "Board", rule: str) -> None:
    if not limited(board.scene):
        return
    limits = limits_of(board.scene)
    path = board.scene.tree.path
    for q in board.scene.tree.downwards:
        tops = limits.limit[q]
        units = [u for u in board.units if q in path(u.victim.queue)]
        if not units or all(v is None for v in tops):
            continue
        new: dict[Claimant, list[tuple[tuple[int, ...], Var]]] = {}
        for role in board.rolesets:
            claimant = role.shape.claimant
            if claimant is not None and q in path(role.type.queue):
                new.setdefault(claimant, []).append((role.shape.row, board.count(role)))
        room = [
            None if top is None else max(0, top - limits.use[q][r]) for r, top in enumerate(tops)
        ]
        _claim_rows(board, rule, new, units, room, f"queue {q}")


def _claim_rows(
    board: "Board",
    rule: str,
    new: "Mapping[Claimant, Sequence[tuple[tuple[int, ...], Var]]]",
    units: "Sequence[Unit]",
    room: Sequence[int | None],
    label: str,
) -> None:
    kinds: dict[_Kind, list[Claimant]] = {}
    for c in new:
        mine = tuple(_sign(board.right(c, u.victim)) for u in units)
        kinds.setdefault(mine, []).append(c)
    if not kinds or (len(kinds) == 1 and all(m is True for m in next(iter(kinds)))):
        return
    for chosen in _closures(list(kinds)):
        claimants = [c for k in chosen for c in kinds[k]]
        freed = [(u, _freed(board, rule, claimants, u)) for u in units]
        for r, free in enumerate(room):
            if free is None:
                continue
            terms: list[Term] = [(row[r], v) for c in claimants for row, v in new[c] if row[r]]
            if terms:
                back = [(-u.row[r], f) for u, f in freed if f is not None and u.row[r]]
                about = f"{label} {board.scene.ledger.resources[r]} claims"
                board.at_most([*terms, *back], free, rule, about)


def _closures(kinds: Sequence[_Kind]) -> Iterable[Sequence[_Kind]]:
    """Every set of kinds with all that have no right beyond it: their rows say the most.

    Where there are too many of these: those of the main sets.
    """
    able = [k for k in kinds if any(k)]
    closed = _Closed(kinds)
    first = closed.of(())
    seen, fresh = {first: None}, [first]
    while fresh and len(seen) <= CLOSED_SETS:
        found = fresh.pop()
        inside = set(found)
        for k in able:
            if k not in inside and (more := closed.of((*found, k))) not in seen:
                seen[more] = None
                fresh.append(more)
    if not fresh:
        return [of for of in seen if of]
    pairs = combinations(able, 2) if len(able) <= PAIRS else ()
    main = dict.fromkeys(closed.of(chosen) for chosen in [(), *subsets(able), *pairs])
    return [of for of in main if of]


class _Closed:
    """Which kinds have no right beyond those of others: rights are bits of a number."""

    def __init__(self, kinds: Sequence[_Kind]) -> None:
        bits: dict[tuple[int, _Sign], int] = {}
        every: dict[int, int] = {}
        """By unit, all that somebody has a right by: who may always, has it by each of them."""
        for k in kinds:
            for u, sign in enumerate(k):
                if sign:
                    bit = bits.setdefault((u, sign), 1 << len(bits))
                    every[u] = every.get(u, 0) | bit
        self._asks = {k: sum({bits[u, s] for u, s in enumerate(k) if s}) for k in kinds}
        self._gives = {
            k: sum(every[u] if s is True else bits[u, s] for u, s in enumerate(k) if s)
            for k in kinds
        }

    def of(self, chosen: Sequence[_Kind]) -> tuple[_Kind, ...]:
        """Return the kinds that have no right beyond those of the chosen ones."""
        reach = 0
        for k in chosen:
            reach |= self._gives[k]
        return tuple(k for k, asks in self._asks.items() if not asks & ~reach)


def _freed(
    board: "Board", rule: str, claimants: "Sequence[Claimant]", unit: "Unit"
) -> "Var | None":
    """How many pods of the unit are evicted to which one of the claimants has a right."""
    rights = [board.right(c, unit.victim) for c in claimants]
    if any(r is True for r in rights):
        return board.lost(unit)
    open_ones = sorted({r for r in rights if not isinstance(r, bool)})
    if not open_ones:
        return None
    n = len(unit.pods)
    memo = ("freed", unit.index, tuple(open_ones))
    freed = board.integer(0, n, memo).var
    label = f"pod {unit.sample.key}"
    board.at_most([(1, freed), (-1, board.lost(unit))], 0, rule, label)
    board.at_most([(1, freed), *((-n, r) for r in open_ones)], 0, rule, label)
    return freed


def _sign(right: "Var | bool") -> _Sign:
    return right if isinstance(right, bool) else ("variable", right)
