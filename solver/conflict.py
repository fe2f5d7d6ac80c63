"""A conflict: a smallest set of (rule, subject) that cannot hold together while a group starts.

Found by dividing (QuickXplain, Junker 2004) over the rows of the group alone: leave any member out,
and the rest can be kept. Which of several such sets is found follows the order of the subjects.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..models import GroupKey
from ..policies.board import Var
from ..policies.scene import Scene
from .alone import Alone, alone
from .linear import Goal, Linear
from .process import SolverProcess
from .search import parameters_of
from .subjects import Subject

NOTHING = Goal((), ())


@dataclass(frozen=True)
class Conflict:
    """Subjects that cannot hold together; ``minimal``: none of them could be left out."""

    subjects: tuple[Subject, ...]
    minimal: bool
    told: Alone


def conflict_of(
    scene: Scene, key: GroupKey, process: SolverProcess, limit_s: float = 10.0
) -> Conflict | None:
    """Return why the group could not run even if it came first; None where the rows see no reason.

    ``limit_s`` bounds the search; when it ends, the set is sufficient and perhaps not smallest.
    """
    told = alone(scene, key)
    asks = _Asks(told, process, parameters_of(scene.config), limit_s)
    subjects = told.subjects
    if asks.can_hold(subjects) is not False:
        return None
    found = _part(asks, [], False, subjects)
    return Conflict(tuple(found), asks.sure, told)


class _Asks:
    """Whether some of the subjects can hold together."""

    def __init__(
        self, told: Alone, process: SolverProcess, parameters: dict[str, object], limit_s: float
    ) -> None:
        self._process, self._parameters = process, {**parameters, "num_workers": 1}
        self._parameters.pop("subsolvers", None)
        self._until = time.monotonic() + limit_s
        board = told.board
        self._model = Linear(list(board.lower), list(board.upper_))
        for row in told.hard:
            self._model.add(row)
        self._flag: dict[Subject, int] = {}
        for subject, rows in told.rows.items():
            self._flag[subject] = len(self._model.lower)
            self._model.lower.append(0)
            self._model.upper.append(1)
            for row in rows:
                self._model.add(replace(row, given=(*row.given, Var(self._flag[subject]))))
        self.sure = True
        """No question was left open so far."""
        self.asked = 0

    def can_hold(self, subjects: Sequence[Subject]) -> bool | None:
        """Say whether the subjects can hold together; None where time ends before that is known."""
        left = self._until - time.monotonic()
        if left <= 0:
            self.sure = False
            return None
        self.asked += 1
        chosen = set(subjects)
        fixed = [(v, int(s in chosen)) for s, v in self._flag.items()]
        reply = self._process.solve(self._model, NOTHING, (), None, self._parameters, left, fixed)
        if reply.status == "INFEASIBLE":
            return False
        if reply.values is not None:
            return True
        self.sure = False
        return None


def _part(asks: _Asks, kept: list[Subject], grew: bool, among: list[Subject]) -> list[Subject]:
    """Return what of ``among`` is needed for a conflict beside what is kept."""
    if grew and asks.can_hold(kept) is False:
        return []
    if len(among) == 1:
        return among
    half = len(among) // 2
    first, second = among[:half], among[half:]
    of_second = _part(asks, [*kept, *first], bool(first), second)
    of_first = _part(asks, [*kept, *of_second], bool(of_second), first)
    return [*of_first, *of_second]
