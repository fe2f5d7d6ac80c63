"""Equal parts of objects are kept once: pods of one job differ in little but their names."""

import sys
from typing import Any, TypeVar

import msgspec

from ..kubernetes.body_pod import PodBody, PodSpecBody, PodStatusBody
from ..kubernetes.meta import Thing

T = TypeVar("T")
_MOST = 10_000
"""So many parts are remembered; then it is begun anew, and what is shared already stays so."""
_SPEC = (
    "containers", "init_containers", "overhead", "resources", "node_selector", "affinity",
    "tolerations", "topology_spread_constraints", "resource_claims", "volumes",
)  # fmt: skip
_STATUS = ("conditions", "container_statuses", "init_container_statuses")
_WORDS = ("node_name", "scheduler_name", "priority_class_name", "preemption_policy")


class Sharing:
    """Puts one object in the place of equal ones. Nobody may change what is read of an object."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, bytes], Any] = {}
        self._encode = msgspec.msgpack.Encoder().encode

    def share(self, thing: Thing) -> None:
        """Share what the object has in common with others."""
        thing.namespace = sys.intern(thing.namespace)
        thing.labels = self._one("map", thing.labels)
        thing.annotations = self._one("map", thing.annotations)
        if thing.owner is not None:
            thing.owner = self._one("owner", thing.owner)
        if isinstance(thing.body, PodBody):
            self._share_pod(thing.body)

    def _share_pod(self, body: PodBody) -> None:
        for of, names in ((body.spec, _SPEC), (body.status, _STATUS)):
            if of is not None:
                self._share_parts(of, names)
        if body.spec is not None:
            for name in _WORDS:
                word = getattr(body.spec, name)
                if word:
                    setattr(body.spec, name, sys.intern(word))
        if body.status is not None and body.status.phase:
            body.status.phase = sys.intern(body.status.phase)

    def _share_parts(self, of: PodSpecBody | PodStatusBody, names: tuple[str, ...]) -> None:
        for name in names:
            part = getattr(of, name)
            if part:
                setattr(of, name, self._one(name, part))

    def _one(self, what: str, part: T) -> T:
        try:
            key = (what, self._encode(part))
        except OverflowError:  # an integer beyond 64 bits
            return part
        if len(self._known) > _MOST:
            self._known.clear()
        found: T = self._known.setdefault(key, part)
        return found
