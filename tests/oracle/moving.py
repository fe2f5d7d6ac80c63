"""Brute force for moves: single pods of one resource, every set that could move, every place."""

from collections.abc import Sequence
from itertools import combinations, product


def fewest_moves(
    room: Sequence[int], running: Sequence[tuple[int, int]], waiting: Sequence[int], most: int
) -> int | None:
    """Return how many running pods have to move for all that waits to start; None: too many.

    Parameters
    ----------
    room
        What each node offers in all.
    running
        Size and node of each running pod.
    waiting
        Sizes of the pods that wait.
    most
        So many may move.
    """
    for n in range(most + 1):
        for moved in combinations(range(len(running)), n):
            if _fits(room, running, moved, waiting):
                return n
    return None


def _fits(
    room: Sequence[int],
    running: Sequence[tuple[int, int]],
    moved: Sequence[int],
    waiting: Sequence[int],
) -> bool:
    for places in product(range(len(room)), repeat=len(moved) + len(waiting)):
        if any(running[k][1] == at for k, at in zip(moved, places, strict=False)):
            continue
        left = list(room)
        for k, (size, at) in enumerate(running):
            left[places[moved.index(k)] if k in moved else at] -= size
        for size, at in zip(waiting, places[len(moved) :], strict=True):
            left[at] -= size
        if min(left) >= 0:
            return True
    return False
