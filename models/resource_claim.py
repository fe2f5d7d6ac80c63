"""Devices of nodes, and what pods claim of them (resource.k8s.io/v1), selectors resolved."""

from collections.abc import Mapping

from .selector import NodeSelectorTerm
from .value import Value


class PoolDevice(Value, frozen=True):
    """One device that a driver offers on a node."""

    id: str
    """``driver/pool/name``."""
    selections: tuple[str, ...] = ()
    """The selections that take it: a device class, with a mark for the selectors of a request."""
    attributes: Mapping[str, str] = {}
    """Those that some claim compares, by their full name, the type before the value."""
    counters: Mapping[str, int] = {}
    """What it takes of the counters that it shares with others, by ``driver/pool/set/counter``."""
    taken: bool = False
    """In use by somebody who is not in the snapshot."""
    multiple: bool = False
    """It may be allocated several times, each time a part of its capacity (KEP-5075)."""
    parts: Mapping[str, Mapping[str, int]] = {}
    """Where it is: by selection, what one allocation takes, by ``driver/pool/name/capacity``."""


class DeviceRequest(Value, frozen=True, order=True):
    """So many devices of one selection."""

    name: str
    selection: str
    count: int = 1
    all: bool = False
    """Every device of the node that the selection takes, one at least."""
    admin: bool = False
    """Looks at devices whoever uses them, and takes none."""
    resource: str = ""
    """The extended resource that it serves, on nodes whose device plug-in has none of it."""


class DeviceMatch(Value, frozen=True, order=True):
    """The devices of these requests (none named: of all) have one value of the attribute."""

    attribute: str
    requests: tuple[str, ...] = ()
    distinct: bool = False
    """All values are different instead."""


class ClaimSpec(Value, frozen=True, order=True):
    """What a claim asks for: of each request one of its alternatives, the first that can be."""

    requests: tuple[tuple[DeviceRequest, ...], ...] = ()
    matches: tuple[DeviceMatch, ...] = ()


class PodClaim(Value, frozen=True, order=True):
    """A claim of a pod: its own, or one that it names."""

    name: str
    """As the pod calls it."""
    claim: str = ""
    """``namespace/name`` of a claim of the snapshot: several pods have it, or it is allocated."""
    spec: ClaimSpec = ClaimSpec()
    """What the pod's own claim asks for, or one that serves extended resources."""
    problem: str = ""
    """Why nothing can be allocated to it."""


class Claim(Value, frozen=True):
    """A claim that several pods have, or that has its devices before its pod has a node."""

    namespace: str
    name: str
    spec: ClaimSpec = ClaimSpec()
    allocated: bool = False
    devices: tuple[str, ...] = ()
    """Ids of its devices, those of admin access left out."""
    draws: Mapping[str, int] = {}
    """What it takes of the capacity of those that may be allocated several times."""
    nodes: tuple[NodeSelectorTerm, ...] | None = None
    """Allocated: where its devices can be used, by any of the terms; None: anywhere."""

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"
