"""Ways: what running work is beyond a measure by which a claimant could take it, as a draft grows.

A claimant has the same ways to all work below one branch. What each branch has beyond is looked at
again only where something has started below it since.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..models import QueueName
from ..policies.ledger import Matrix
from ..policies.rights import cross_branches
from ..policies.standing import MEASURES, Measure
from ..policies.tracker import Mask

if TYPE_CHECKING:
    from .draft import Draft

Numbers = NDArray[np.int64]
Way = tuple[Measure, tuple[QueueName, ...], QueueName]
"""A measure, the claimant's queues that have to stay within it, and the victims' branch."""

_Known = tuple[list[Way], dict[QueueName, Numbers]]
"""All ways of a claimant, and the runners below each branch."""


class Ways:
    """The ways of all claimants of one draft."""

    def __init__(self, draft: "Draft") -> None:
        self._draft = draft
        self._of: dict[tuple[QueueName, tuple[int, ...]], _Known] = {}
        self._found: dict[object, _Found] = {}

    def beyond(
        self, queue: QueueName, asks: tuple[int, ...], row: Matrix
    ) -> tuple[Mask, Numbers] | None:
        """Return of each runner whether its minimum is beyond, and how many elastic members are.

        By whichever measure the claimant's queues stay within, were it to use so much more; None if
        they stay within none.
        """
        ways, runners = self._known(queue, asks)
        within: dict[tuple[Measure, tuple[QueueName, ...]], bool] = {}
        draft = self._draft
        open_: dict[QueueName, tuple[Measure, ...]] = {}
        for measure, claimant, branch in ways:
            case = (measure, claimant)
            if case not in within:
                within[case] = draft.table.holds_within(measure, draft.use, claimant, asks, row)
            if within[case]:
                open_[branch] = (*open_.get(branch, ()), measure)
        if not open_:
            return None
        key = (queue, asks, tuple(open_.items()))
        if key not in self._found:
            self._found[key] = _Found(len(draft.herd.runners))
        found = self._found[key]
        for branch, measures in open_.items():
            found.update(draft, branch, measures, asks, runners[branch])
        return found.minimum, found.elastic

    def _known(self, queue: QueueName, asks: tuple[int, ...]) -> _Known:
        if (queue, asks) not in self._of:
            herd, scene = self._draft.herd, self._draft.scene
            ways: dict[Way, None] = {}
            below: dict[QueueName, set[int]] = {}
            for k, victim in enumerate(herd.queues):
                for measure in MEASURES if victim != queue else ():
                    found = cross_branches(scene, queue, victim, asks, measure)
                    if found is not None:
                        ways[measure, found.claimant, found.victim] = None
                        below.setdefault(found.victim, set()).add(k)
            runners = {
                branch: np.concatenate([herd.of_queue[k] for k in sorted(of)])
                for branch, of in below.items()
            }
            self._of[queue, asks] = (list(ways), runners)
        return self._of[queue, asks]


class _Found:
    """What is beyond at some branches, by their versions."""

    def __init__(self, size: int) -> None:
        self.minimum: Mask = np.zeros(size, dtype=np.bool_)
        self.elastic: Numbers = np.zeros(size, dtype=np.int64)
        self._versions: dict[QueueName, int] = {}

    def update(
        self,
        draft: "Draft",
        branch: QueueName,
        measures: Sequence[Measure],
        asks: tuple[int, ...],
        runners: Numbers,
    ) -> None:
        version = draft.standings.version(branch)
        if self._versions.get(branch) == version:
            return
        self._versions[branch] = version
        found = [draft.standings.beyond(branch, m, asks) for m in measures]
        first, elastic = (of[runners] for of in found[0])
        for more, members in found[1:]:
            first, elastic = first | more[runners], np.maximum(elastic, members[runners])
        self.minimum[runners], self.elastic[runners] = first, elastic
