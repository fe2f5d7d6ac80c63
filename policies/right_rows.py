"""Rights told to the solver: constants where no plan changes them, variables elsewhere."""

from typing import TYPE_CHECKING

from .min_runtime import has_yet_to_run
from .rights import cross_branches, limit_of
from .standing import MEASURES, Measure, StandingTable, standing_of
from .standing_rows import out_parts, within_var

if TYPE_CHECKING:
    from .board import Board, Claimant, Term, Var, Victim


def tell_rights(board: "Board", rule: str) -> None:
    """Fill the board's rights: constants where they are known, variables elsewhere."""
    standing = standing_of(board.scene)
    for c in board.claimants:
        for v in board.victims:
            if v.given_up:
                continue
            right = _right(board, rule, standing, c, v)
            if right is not False and has_yet_to_run(board.scene, c.queue, v.members):
                right = _in_part(board, rule, v, right)
            board.rights[c, v.index] = right


def _right(
    board: "Board", rule: str, table: StandingTable, c: "Claimant", v: "Victim"
) -> "Var | bool":
    if not c.may_preempt:
        return False
    limit = limit_of(board.scene, c.queue, v.queue, c.priority)
    if limit is not None and v.lowest >= limit:
        return False
    if c.queue == v.queue:
        return limit is None or v.priority < limit or _lower(board, rule, v, limit, True)
    memo = ("right", c.queue, c.asks, v.index)  # beyond that, priority plays no part here
    if memo not in board.answers:
        board.answers[memo] = _across(board, rule, table, c, v)
    right = board.answers[memo]
    if limit is None or v.priority < limit or right is False:
        return right
    return _lower(board, rule, v, limit, right)


def _in_part(board: "Board", rule: str, v: "Victim", right: "Var | bool") -> "Var | bool":
    """Return the right where it is one to pods of a group that does not go as a whole."""
    if not v.surplus:
        return False
    memo = ("right to a part", v.index, right)
    if memo not in board.answers:
        part = board.flag(memo)
        label = f"group {v.members.key}"
        if not isinstance(right, bool):
            board.at_most([(1, part), (-1, right)], 0, rule, label)
        lost: list[Term] = [(1, board.lost(u)) for u in board.units_of(v)]
        running = len(v.members.running)
        board.at_most([*lost, (1, part)], running, rule, label)
        board.answers[memo] = part
    return board.answers[memo]


def _lower(board: "Board", rule: str, v: "Victim", priority: int, right: "Var | bool") -> "Var":
    """Return the right where it is one to pods of lower priority alone."""
    memo = ("right to lower", v.index, priority, right)
    if memo in board.answers:
        known = board.answers[memo]
        assert not isinstance(known, bool)
        return known
    lower = board.flag(memo)
    label = f"group {v.members.key}"
    if not isinstance(right, bool):
        board.at_most([(1, lower), (-1, right)], 0, rule, label)
    for u in board.units_of(v):
        if u.priority >= priority:
            board.at_most([(1, board.lost(u)), (len(u.pods), lower)], len(u.pods), rule, label)
    board.answers[memo] = lower
    return lower


def _across(
    board: "Board", rule: str, table: StandingTable, c: "Claimant", v: "Victim"
) -> "Var | bool":
    ways: list[Var] = []
    for measure in MEASURES:
        way = _way(board, rule, table, c, v, measure)
        if way is True:
            return True
        if way is not False:
            ways.append(way)
    if not ways:
        return False
    right = board.flag(("right", c.queue, c.asks, v.index))
    label = f"group {v.members.key}"
    board.at_most([(1, right), *((-1, w) for w in ways)], 0, rule, label)
    return right


def _way(
    board: "Board",
    rule: str,
    table: StandingTable,
    c: "Claimant",
    v: "Victim",
    measure: Measure,
) -> "Var | bool":
    """Say whether the claimant has a right, by the measure, to what goes of the victim."""
    branches = cross_branches(board.scene, c.queue, v.queue, c.asks, measure)
    if branches is None:
        return False
    within = within_var(board, table, branches.claimant, c.asks, measure)
    if within is False:
        return False
    whole, single = out_parts(board, table, v, branches.victim, measure, c.asks)
    singles = single if v.surplus else []
    if not v.whole:
        whole = False
    if whole is False and all(s is False for s in singles):
        return False
    if within is True and whole is True and all(s is True for s in singles):
        return True
    label = f"group {v.members.key} beyond"
    way = board.flag(("way", c.queue, c.asks, v.index, measure))
    if not isinstance(within, bool):
        board.at_most([(1, way), (-1, within)], 0, rule, label)
    gone = board.gone(v)
    if whole is not True:
        # It may go as a whole only where its minimum is beyond.
        also: list[Term] = [] if whole is False else [(-1, whole)]
        board.at_most([(1, way), (1, gone), *also], 1, rule, label)
    units = board.units_of(v)
    total = sum(len(u.pods) for u in units)
    open_ones: list[Term] = [(-1, s) for s in singles if not isinstance(s, bool)]
    board.at_most(
        [*((1, board.lost(u)) for u in units), (-total, gone), *open_ones],
        sum(s is True for s in singles), rule, label, given=[way],
    )  # fmt: skip
    return way
