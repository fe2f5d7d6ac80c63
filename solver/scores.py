"""Scores: how good nodes are for a pod, and domains for pods, as a draft stands; low is good."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from ..models import Pod
from ..policies.ledger import Matrix
from ..policies.scene import Scene
from ..policies.tracker import Mask

if TYPE_CHECKING:
    from .draft import Draft

Score = Literal["tight", "spread", "align", "first"]
Scores = NDArray[np.float64]
Nodes = NDArray[np.intp]


def scores(draft: "Draft", nodes: Nodes, pod: Pod) -> Scores:
    """Score nodes: least left over of what is asked (tight), most (spread), best alignment.

    Or the first of them. Before tight comes what a place would cost the expected mix, where that
    is a goal.
    """
    if draft.score == "first":
        return nodes.astype(np.float64)
    scene, room = draft.scene, draft.field.room[nodes]
    row = scene.row(pod)
    capacity = scene.once("capacity to score by", _capacity)[nodes]
    left = (room - row).astype(float) / capacity
    asked = np.flatnonzero(row)
    if draft.score == "spread":
        return np.asarray(-left[:, asked].min(axis=1))
    if draft.score == "align":
        want = row.astype(float) / capacity
        have = room.astype(float) / capacity
        angle = (want * have).sum(axis=1) / np.maximum(np.linalg.norm(have, axis=1), 1e-9)
        return np.asarray(-angle)
    # Tight: prefer nodes already in use, then the least left over, devices first.
    now = _waits(draft, nodes, row)
    tight = left[:, asked].sum(axis=1) + 0.001 * left.sum(axis=1)
    if draft.fragments is not None:
        tight = draft.fragments.costs(pod, nodes, room, row) + 0.01 * tight
    return np.asarray(now * 100 + tight)


def _capacity(scene: Scene) -> Scores:
    return np.asarray(np.maximum(scene.allocatable.astype(float), 1.0))


def _waits(draft: "Draft", nodes: Nodes, row: Matrix) -> Mask:
    """Say where the pod, which there is room for later, would have to wait for terminating pods."""
    scene = draft.scene
    if not scene.once("short of room", _short):
        return np.zeros(len(nodes), dtype=np.bool_)
    room = draft.field.room[nodes] - (scene.room_later[nodes] - scene.room_now[nodes])
    asked = np.flatnonzero(row)
    return np.asarray((room[:, asked] < row[asked]).any(axis=1), dtype=np.bool_)


def fills_up(draft: "Draft", node: int) -> bool:
    """Say whether the node gets the better, the more is on it."""
    short = draft.scene.once("short of room", _short)
    return draft.score == "tight" and draft.fragments is None and node not in short


def _short(scene: Scene) -> frozenset[int]:
    """Return nodes with room that terminating pods still hold."""
    waits = (scene.room_later != scene.room_now).any(axis=1)
    return frozenset(map(int, np.flatnonzero(waits)))


def spare_room(draft: "Draft", mask: Mask, pods: Sequence[Pod]) -> float:
    """Return what a domain would have left of what the pods ask for: the least fits best."""
    asked = np.flatnonzero(draft.scene.row(pods[0]))
    whole = np.maximum(draft.scene.allocatable[:, asked].astype(float).sum(axis=0), 1.0)
    left = np.maximum(draft.field.room[mask][:, asked], 0).astype(float).sum(axis=0)
    return float((left / whole).sum())
