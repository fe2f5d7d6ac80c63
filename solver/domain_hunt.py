"""Hunting where pods share a domain: in one domain after the other, and the cheapest is kept."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from heapq import heappop, heappush

import numpy as np
from numpy.typing import NDArray

from ..models import GroupKey, Pod
from ..policies.could_run import emptied
from ..policies.tracker import Choice, Mask
from .draft import Draft
from .hunt import Hunt
from .market import Cost
from .prey import prey_of

TRIES = 24
"""Up to so many choices of domains are hunted in."""


def make_room(draft: Draft, group: GroupKey, pods: Sequence[Pod], is_hopeless: bool) -> bool:
    """Start the pods where others have left idle room, and evict more only where that is not all.

    ``is_hopeless``: nobody could be evicted for them.
    """
    is_lent = draft.leftovers.lend(group, pods)
    done = is_lent and not draft.quota_gap(group, draft.ask(pods)) and bool(draft.place_all(pods))
    if not done and not is_hopeless:
        done = hunt(draft, group, pods)
    draft.leftovers.settle(group)
    return done


def hunt(draft: Draft, group: GroupKey, pods: Sequence[Pod]) -> bool:
    """Make room for the pods: where they share a domain, in the one where it costs least."""
    choices = [c for c in draft.field.choices(pods) if c.hard]
    if not choices:
        return Hunt(draft, group, pods).run()
    prey = prey_of(draft, group, pods)
    if prey is None:
        return False
    found: list[tuple[Cost, int, tuple[Mask, ...]]] = []
    for n, masks in enumerate(_combinations(draft, pods, choices)):
        one = Hunt(draft, group, pods, prey)
        with _confined(draft, choices, masks):
            done = one.finds_room()
        if done:
            found.append((one.total(), n, masks))
            one.undo()
    # What can be spared, and whether every rule bears it, is asked of the cheapest alone.
    for _, _, masks in sorted(found, key=lambda f: f[:2]):
        with _confined(draft, choices, masks):
            if Hunt(draft, group, pods, prey).run():
                return True
    return False


@contextmanager
def _confined(draft: Draft, choices: Sequence[Choice], masks: Sequence[Mask]) -> Iterator[None]:
    with ExitStack() as stack:
        for choice, mask in zip(choices, masks, strict=True):
            stack.enter_context(draft.field.confined(choice.pods, mask))
        yield


def _combinations(
    draft: Draft, pods: Sequence[Pod], choices: Sequence[Choice]
) -> Iterable[tuple[Mask, ...]]:
    """Return choices of domains: those with most room for the pods first, victims gone."""
    scene = draft.scene
    room = emptied(scene).room
    ranked: list[list[Mask]] = []
    for choice in choices:
        mine = [p for p in pods if p.key in choice.pods]
        asked = np.flatnonzero(scene.rows(mine))
        able = [m for m in choice.domains if draft.field.might_bear(mine, m, room)]

        def free(mask: Mask, asked: "NDArray[np.intp]" = asked) -> float:
            left = draft.field.room[mask][:, asked].astype(float)
            whole = np.maximum(scene.allocatable[:, asked].astype(float).sum(axis=0), 1.0)
            return float((np.maximum(left, 0).sum(axis=0) / whole).sum())

        ranked.append(sorted(able, key=free, reverse=True))
    if not all(ranked):
        return
    seen = {(0,) * len(ranked)}
    heap = [(0, (0,) * len(ranked))]
    for _ in range(TRIES):
        if not heap:
            return
        _, at = heappop(heap)
        yield tuple(r[i] for r, i in zip(ranked, at, strict=True))
        for k in range(len(at)):
            after = (*at[:k], at[k] + 1, *at[k + 1 :])
            if after[k] < len(ranked[k]) and after not in seen:
                seen.add(after)
                heappush(heap, (sum(after), after))
