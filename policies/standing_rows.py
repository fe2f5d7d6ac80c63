"""In and out as the solver sees them: constants where they are known, variables elsewhere."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from ..models import GroupKey, QueueName
from .members import Item, Standing
from .places import ranks_of
from .standing import AS_IT_IS, Measure, StandingTable, items_of

if TYPE_CHECKING:
    from .board import Board, GroupType, Term, Var, Victim


def running_items(board: "Board", victim: "Victim") -> list[Item]:
    """Return the items of the victim that run: its minimum first, then its elastic members."""
    return items_of(board.scene, victim.members, ())


def out_parts(
    board: "Board",
    table: StandingTable,
    victim: "Victim",
    queue: QueueName,
    measure: Measure,
    asks: tuple[int, ...],
) -> "tuple[Var | bool, list[Var | bool]]":
    """Say whether the victim's minimum is beyond the measure there, and each elastic member."""
    items = running_items(board, victim)
    whole: Var | bool = False  # without a minimum, all of it is single pods
    single: list[Var | bool] = []
    for item in items:
        answer = out_var(board, table, item, queue, measure, asks=asks)
        if item.kind == "minimum":
            whole = answer
        else:
            single.append(answer)
    return whole, single


def _before(
    board: "Board", table: StandingTable, item: Item, queue: QueueName
) -> "tuple[list[int], list[tuple[tuple[int, ...], Var, int]], set[GroupKey]]":
    """Return what stands before the item in the queue's order, itself included.

    The sum of what runs; the counts that add to it when they start; the groups whose running
    items are in the sum.
    """
    base = [0] * len(board.scene.ledger.resources)
    running: set[GroupKey] = set()
    waiting: dict[GroupKey, set[str]] = {}
    sizes: dict[GroupKey, tuple[int, ...]] = {}
    for other, row in ranks_of(table)[queue]:
        m = board.scene.roster[other.group.key]
        if other.new or m.standing is Standing.NEW:
            waiting.setdefault(other.group.key, set()).add(other.kind)
            if other.kind == "minimum":
                sizes[other.group.key] = row
        elif other.broken and other.kind == "minimum" and other.position != AS_IT_IS:
            waiting.setdefault(other.group.key, set()).add("repair")
        else:
            base = [a + b for a, b in zip(base, row)]
            running.add(other.group.key)
        if other.id == item.id:
            break
    starts_of: list[tuple[tuple[int, ...], Var, int]] = []
    for t in board.types:
        kinds = waiting.get(t.sample.key)
        if not kinds:
            continue
        start = board.started(t)
        if kinds == {"minimum"} and start is not None:
            # Its elastic members come later.
            starts_of.append((sizes[t.sample.key], start, -1 - t.index))
        else:
            starts_of += [(r.shape.row, board.count(r), r.index) for r in board.rolesets_of(t)]
        if "repair" in kinds and start is not None and t.sample.key not in running:
            row = tuple(int(v) for v in board.scene.rows(t.sample.running))
            starts_of.append((row, start, -1 - t.index))
    return base, starts_of, running


def out_var(
    board: "Board",
    table: StandingTable,
    item: Item,
    queue: QueueName,
    measure: Measure = "entitlement",
    after: bool = False,
    asks: tuple[int, ...] | None = None,
) -> "Var | bool":
    """Say whether a running item is out at the queue: known, or a variable that implies it.

    With ``asks``: in a resource of these.

    The items before it are those of the static order. With ``after``, what the plan evicts no
    longer counts: that tells who would come back by right.
    """
    memo = ("out", item.id, queue, measure, after, asks)
    if memo in board.answers:
        return board.answers[memo]
    own = board.scene.rows(item.pods)
    base, starts, running = _before(board, table, item, queue)
    losses: list[tuple[tuple[int, ...], Var]] = []
    if after:
        losses = [
            (u.row, board.lost(u))
            for u in board.units
            if u.victim.members.key in running and u.victim.members.key != item.group.key
        ]
    e = table.within(measure)[queue]
    answer: Var | bool = False
    open_columns: list[tuple[int, int, list[Term]]] = []
    for r in sorted(table.columns):
        if not own[r] or (asks is not None and r not in asks):
            continue
        limit = int(e[r])  # a fraction is exceeded exactly when its integer part is
        terms: list[Term] = [(row[r], var) for row, var, _ in starts if row[r]]
        terms += [(-row[r], var) for row, var in losses if row[r]]
        least = base[r] + sum(min(0, c) * board.upper(v) for c, v in terms)
        most = base[r] + sum(max(0, c) * board.upper(v) for c, v in terms)
        if least > limit:
            answer = True
        elif most > limit:
            open_columns.append((r, limit + 1 - base[r], terms))
    if answer is False and open_columns:
        answer = board.flag(memo)
        which = []
        label = f"group {item.group.key} out at {queue}"
        for r, reach, terms in open_columns:
            flag = board.flag((*memo, r))
            which.append(flag)
            board.at_most([(-c, v) for c, v in terms], -reach, "preemption", label, given=[flag])
        board.at_most([(1, answer), *((-1, f) for f in which)], 0, "preemption", label)
    board.answers[memo] = answer
    return answer


def within_var(
    board: "Board",
    table: StandingTable,
    queues: Iterable[QueueName],
    asks: Sequence[int],
    measure: Measure,
) -> "Var | bool":
    """Say whether the queues stay within the measure on what is asked for, after the plan."""
    queues = tuple(queues)
    memo = ("within", queues, tuple(asks), measure)
    if memo in board.answers:
        return board.answers[memo]
    path = board.scene.tree.path
    rows: list[tuple[list[Term], int]] = []
    answer: Var | bool = True
    for q in queues:
        new_of: list[GroupType] = [t for t in board.types if q in path(t.queue)]
        units = [u for u in board.units if q in path(u.victim.queue)]
        for r in asks:
            if r not in table.columns:
                continue
            new: list[Term] = [
                (role.shape.row[r], board.count(role))
                for t in new_of
                for role in board.rolesets_of(t)
                if role.shape.row[r]
            ]
            lost: list[Term] = [(-u.row[r], board.lost(u)) for u in units if u.row[r]]
            limit = int(table.within(measure)[q][r]) - table.limits.use[q][r]
            if sum(c * board.upper(v) for c, v in lost) > limit:
                answer = False
            elif sum(c * board.upper(v) for c, v in new) > limit:
                rows.append(([*new, *lost], limit))
    if answer is True and rows:
        answer = board.flag(memo)
        for terms, limit in rows:
            board.at_most(terms, limit, "preemption", f"queue {queues[0]} within", given=[answer])
    board.answers[memo] = answer
    return answer
