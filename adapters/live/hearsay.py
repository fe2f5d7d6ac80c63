"""Changes that only tell people something: no plan depends on them, so no cycle follows.

The scheduler itself writes most of them, and would wake itself by its own words.
"""

from collections.abc import Mapping
from typing import Any

from ..kubernetes.body_group import GroupBody
from ..kubernetes.body_pod import PodBody
from ..kubernetes.body_queue import VolcanoQueue
from ..kubernetes.cards import GONE
from ..kubernetes.meta import Thing

_HEAD = ("uid", "labels", "annotations", "owner", "created_s", "deleted_s", "generation")


def is_hearsay(old: Thing, new: Thing) -> bool:
    """Say whether two readings of an object differ at most in what is written for people.

    That is the condition PodScheduled of pods that wait, counts and conditions of PodGroups, and
    all but the state in the status of a Queue.
    """
    if any(getattr(old, name) != getattr(new, name) for name in _HEAD):
        return False
    return type(old.body) is type(new.body) and _matters(old.body) == _matters(new.body)


def without_handshakes(notes: Mapping[str, str]) -> Mapping[str, str]:
    """Return a node's annotations without those by which device plug-ins say that they live.

    HAMi and Volcano write them anew every half a minute on every node. That a plug-in is gone
    stays, without the time of it.
    """
    if not any("handshake" in key for key in notes):
        return notes
    lively = {key: said for key, said in notes.items() if "handshake" not in key}
    gone = (key for key, said in notes.items() if "handshake" in key and said.startswith(GONE))
    return lively | dict.fromkeys(gone, GONE)


def _matters(body: Any) -> Any:
    """Return what of an object a plan may depend on."""
    status = getattr(body, "status", None)
    match body:
        case GroupBody():
            return body.spec, (status.phase if status is not None else None) or "Pending"
        case VolcanoQueue():
            return body.spec, (status.state if status is not None else None) or "Open"
        case PodBody() if status is not None:
            conditions = [
                c
                for c in status.conditions or ()
                if (c.type, c.status) != ("PodScheduled", "False")
            ]
            rest = (getattr(status, f) for f in status.__struct_fields__ if f != "conditions")
            return body.spec, conditions, *rest
        case PodBody():
            return (body.spec,)
    return body
