"""In and out as the solver sees them: constants where they are known, variables elsewhere."""

from collections.abc import Hashable, Iterable, Mapping, Sequence, Set
from functools import cached_property
from typing import TYPE_CHECKING

from ..models import GroupKey, PodKey, PodState, QueueName
from .items import AS_IT_IS, Item, items_of
from .loss_rows import Losses
from .ranks import ranks_of
from .standing import Measure, StandingTable

if TYPE_CHECKING:
    from .board import Board, GroupType, RoleSet, Term, Var, Victim


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


class _Order:
    """A queue's items in order, so far as the board asks what stands before one of them."""

    def __init__(self, board: "Board", table: StandingTable, queue: QueueName) -> None:
        self._board, self._table, self._queue = board, table, queue
        ranks = ranks_of(table)[queue]
        self._items = [item for item, _ in ranks.ordered]
        self.rank = ranks.of
        total = [0] * len(board.scene.ledger.resources)
        self.base: list[list[int]] = []
        """By position: the sum of what runs there and before."""
        self._waiting: list[int] = []
        """By position: how many items there and before do not simply run."""
        waiting = 0
        for item, row in ranks.ordered:
            if self._runs(item):
                total = [a + b for a, b in zip(total, row, strict=True)]
            else:
                waiting += 1
            self.base.append(total)
            self._waiting.append(waiting)
        self._starts: dict[int, list[tuple[tuple[int, ...], Var]]] = {}

    @staticmethod
    def _repairs(item: Item) -> bool:
        return item.broken and item.kind == "minimum" and item.position != AS_IT_IS

    def _runs(self, item: Item) -> bool:
        return not self._repairs(item) and item.pods[0].state is PodState.RUNNING

    @cached_property
    def losses(self) -> Losses:
        runs = ((n, item) for n, item in enumerate(self._items) if self._runs(item))
        return Losses(self._board, self._queue, runs)

    def starts(self, position: int) -> "list[tuple[tuple[int, ...], Var]]":
        """Return the variables that add to the sum when something starts there or before."""
        waiting = self._waiting[position]
        if waiting not in self._starts:
            self._starts[waiting] = list(self._tell(position))
        return self._starts[waiting]

    def _tell(self, position: int) -> "Iterable[tuple[tuple[int, ...], Var]]":
        board = self._board
        minimum: dict[GroupKey, Item] = {}
        elastic: dict[GroupKey, set[PodKey]] = {}
        for item in self._items[: position + 1]:
            key = item.group.key
            if item.kind == "minimum":
                if self._repairs(item) or not self._runs(item):
                    minimum[key] = item
            elif item.pods[0].state is not PodState.RUNNING:
                elastic.setdefault(key, set()).update(p.key for p in item.pods)
        touched = {board.type_of(k) for k in (*minimum, *elastic)}
        for t in sorted((t for t in touched if t is not None), key=lambda t: t.index):
            unlisted = _unlisted(self._table, t)
            yield from _starting(board, t, minimum, elastic, unlisted)


def _order(board: "Board", table: StandingTable, queue: QueueName) -> _Order:
    note = ("order", queue)
    if note not in board.notes:
        board.notes[note] = _Order(board, table, queue)
    known = board.notes[note]
    assert isinstance(known, _Order)
    return known


def _starting(
    board: "Board",
    t: "GroupType",
    minimum: Mapping[GroupKey, Item],
    elastic: Mapping[GroupKey, set[PodKey]],
    unlisted: Set[PodKey],
) -> "Iterable[tuple[tuple[int, ...], Var]]":
    """What starts of the type and comes before: so many minima, and so many elastic members.

    An auxiliary count may be lower than what it counts, never higher: work is out only if it is.
    """
    # Of a broken group the missing pods start; those that run are counted where they are.
    first = [
        [p for p in minimum[m.key].pods if p.state is not PodState.RUNNING]
        for m in t.members
        if m.key in minimum
    ]
    singles = set[PodKey]().union(*(elastic.get(m.key, ()) for m in t.members))
    sets = board.rolesets_of(t)
    before = singles.union(p.key for pods in first for p in pods)
    if all(r.pods <= before | unlisted for r in sets):
        singles, before = singles | unlisted, before | unlisted
    if all(r.pods <= before for r in sets):
        yield from ((r.shape.row, board.count(r)) for r in sets)
        return
    start = board.started(t)
    if first and start is not None:
        minima = _some(board, ("minima", t.index), len(first), [(1, start)])
        size = len(first[0])
        if len(sets) == 1 or len(t.sample.pending) == size:
            yield tuple(int(v) for v in board.scene.rows(first[0])), minima
        else:
            # Which members form it is open: so many of those that start.
            parts = [
                (r, board.integer(0, board.upper(board.count(r)), ("of minima", r.index)).var)
                for r in sets
            ]
            for r, part in parts:
                board.at_most([(1, part), (-1, board.count(r))], 0, "preemption", t.label)
                yield r.shape.row, part
            board.at_most(
                [*((1, part) for _, part in parts), (-size, minima)], 0, "preemption", t.label
            )
    own = {p.key for p in t.sample.first}
    for r in sets:
        n = len(r.pods & singles)
        if n:
            needed = len(r.pods & own)
            if start is None or not needed:
                yield r.shape.row, _some(board, ("singles", r.index), n, [(1, board.count(r))])
            else:
                yield r.shape.row, _singles(board, r, n, needed, start)


def _singles(board: "Board", r: "RoleSet", most: int, needed: int, start: "Var") -> "Var":
    """Return how many start of the set beyond what the minimum needs of it; none if it has fewer.

    Members of other sets may make up the minimum in their stead.
    """
    some = board.integer(0, most, ("singles", r.index, most)).var
    any_ = board.flag(("any singles", r.index, most))
    board.at_most([(1, some), (-most, any_)], 0, "preemption", r.type.label)
    terms: list[Term] = [(1, some), (-1, board.count(r)), (needed, start)]
    board.at_most(terms, 0, "preemption", r.type.label, given=[any_])
    return some


def _unlisted(table: StandingTable, t: "GroupType") -> Set[PodKey]:
    """Return pending pods of the type that could not run beside its others.

    They make no demand, and come where the last of their group comes.
    """
    listed = {p.key for m in t.members for p in table.usable[m.key]}
    return {p.key for m in t.members for p in m.pending} - listed


def _some(board: "Board", name: Hashable, most: int, terms: "list[Term]") -> "Var":
    """Return a variable of at most ``most`` and at most the terms."""
    if len(terms) == 1 and board.upper(terms[0][1]) <= most:
        return terms[0][1]
    some = board.integer(0, most, (name, most)).var
    board.at_most([(1, some), *((-c, v) for c, v in terms)], 0, "preemption", str(name))
    return some


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

    The items before it are those of the order that no plan changes. With ``after``, what the plan
    evicts no longer counts: that tells who would come back by right.
    """
    memo = ("out", item.id, queue, measure, after, asks)
    if memo in board.answers:
        return board.answers[memo]
    own = board.scene.rows(item.pods)
    order = _order(board, table, queue)
    position = order.rank(item)
    base, starts = order.base[position], order.starts(position)
    losses: list[tuple[tuple[int, ...], Var]] = []
    if after:
        losses += order.losses.before(position, item.group.key)
    e = table.within(measure)[queue]
    answer: Var | bool = False
    open_columns: list[tuple[int, int, list[Term]]] = []
    for r in sorted(table.columns):
        if not own[r] or (asks is not None and r not in asks):
            continue
        limit = int(e[r])  # a fraction is exceeded exactly when its integer part is
        terms: list[Term] = [(row[r], var) for row, var in starts if row[r]]
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
    """Say whether the queues stay within the measure on what is asked for, after the plan.

    Asked for those of the first queue that ask so and start something: what the least of their pods
    adds is part of the plan.
    """
    queues = tuple(queues)
    memo = ("within", queues, tuple(asks), measure)
    if memo in board.answers:
        return board.answers[memo]
    path = board.scene.tree.path
    rows: list[tuple[list[Term], int]] = []
    answer: Var | bool = True
    mine = [
        role.shape.row
        for role in board.rolesets
        if (c := role.shape.claimant) is not None and (c.queue, c.asks) == (queues[0], tuple(asks))
    ]
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
            least = min((row[r] for row in mine), default=0)
            if limit < 0 or least + sum(c * board.upper(v) for c, v in lost) > limit:
                answer = False
            elif sum(c * board.upper(v) for c, v in new) > limit:
                rows.append(([*new, *lost], limit))
    if answer is True and rows:
        answer = board.flag(memo)
        for terms, limit in rows:
            board.at_most(terms, limit, "preemption", f"queue {queues[0]} within", given=[answer])
    board.answers[memo] = answer
    return answer
