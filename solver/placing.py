"""Placing: pods onto open room, node by node where it is best, in domains where they share one."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..models import Pod
from ..policies.fitting import is_tied
from ..policies.ledger import Matrix
from ..policies.tracker import Choice
from .scores import fills_up, spare_room

if TYPE_CHECKING:
    from .draft import Draft

TRIES = 60
"""Up to so many choices of domains are tried for one request."""

Placed = list[tuple[Pod, int]]


def place_all(draft: "Draft", pods: Sequence[Pod]) -> Placed | None:
    """Place all the pods on open room, equal ones together; None, and nothing, if some fail.

    Pods that want to be near each other try one domain after the other.
    """
    choices = draft.field.choices(pods)
    if not choices:
        return _where_best(draft, pods)
    assert pods[0].group is not None
    return _Near(draft, draft.open_room(pods[0].group)).place(pods, choices)


class _Near:
    """Tries domains for pods that want to share one."""

    def __init__(self, draft: "Draft", room: Matrix) -> None:
        self._draft, self._room = draft, room
        self._tries = TRIES

    def place(self, pods: Sequence[Pod], choices: Sequence[Choice]) -> Placed | None:
        draft, room = self._draft, self._room
        if not choices:
            self._tries -= 1
            return _where_best(draft, pods)
        choice = choices[0]
        mine = [p for p in pods if p.key in choice.pods]
        for masks in (*choice.nearer, choice.domains):
            able = [m for m in masks if draft.field.might_bear(mine, m, room)]
            for mask in sorted(able, key=lambda m: spare_room(draft, m, mine)):
                if self._tries <= 0:
                    return None
                with draft.field.confined(choice.pods, mask):
                    done = self.place(pods, choices[1:])
                if done is not None:
                    return done
        return None if choice.hard else self.place(pods, choices[1:])


def _where_best(draft: "Draft", pods: Sequence[Pod]) -> Placed | None:
    if len(pods) > 1 and not _might_hold(draft, pods):
        return None
    done: Placed = []
    waiting: Sequence[Pod] = pods
    while waiting:
        left: list[Pod] = []
        at = end = 0
        while at < len(waiting):
            p = waiting[at]
            if at == end:
                end = _end_of_alike(draft, waiting, at)
            node = draft.spots_of(p).best(p, end - at)
            if node is None:
                # Who is alike would be told the same: nothing starts in between.
                some = waiting[at : end if _is_free(draft, p) else at + 1]
                left += some
            else:
                some = waiting[at : at + _together(draft, p, end - at, node)]
                draft.put_alike(some, node)
                done += [(q, node) for q in some]
            at += len(some)
        if len(left) == len(waiting):
            for p, _ in reversed(done):
                draft.take_back(p)
            return None
        waiting = left
    return done


def _end_of_alike(draft: "Draft", pods: Sequence[Pod], at: int) -> int:
    """Return where those end that follow the pod and are like it, room and rules aside."""
    first, end = pods[at], at + 1
    confined = draft.field.only
    there = confined.get(first.key)
    while (
        end < len(pods)
        and pods[end].spec is first.spec
        and pods[end].nominated is None
        and pods[end].labels == first.labels
        and confined.get(pods[end].key) is there
    ):
        end += 1
    return end


def _together(draft: "Draft", first: Pod, alike: int, node: int) -> int:
    """Return how many of some pods that are alike would find this node the best, the first did."""
    if alike == 1 or not fills_up(draft, node) or not _is_free(draft, first):
        return 1
    row = draft.scene.row(first)
    asked = row > 0
    room = (
        int((draft.open_room_on(first.group, node)[asked] // row[asked]).min()) if row.any() else 1
    )
    return max(1, min(alike, room, draft.field.surely(first, node)))


def _is_free(draft: "Draft", pod: Pod) -> bool:
    """Say whether where pods like this one stand has no say about where the next one may."""
    return not is_tied(pod) and not pod.spec.aligned and draft.field.asks_nobody(pod)


def _might_hold(draft: "Draft", pods: Sequence[Pod]) -> bool:
    """Say whether open room speaks for each kind of the pods, were it alone to come."""
    counts: dict[int, int] = {}
    for p in pods:
        counts[id(p.spec)] = counts.get(id(p.spec), 0) + 1
    samples = {id(p.spec): p for p in pods}
    return all(draft.spots_of(p).hold(counts[k]) for k, p in samples.items())
