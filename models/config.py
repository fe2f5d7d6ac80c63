"""The configuration of a cycle: every setting with its default, unit and reason."""

import hashlib
from collections.abc import Mapping
from typing import Any, Literal

from .value import Value, to_json

Packing = Literal["binpack", "spread", "fragmentation", "expected-fragmentation"]
Evictions = Literal["all", "queue", "none"]
Engine = Literal["auto", "greedy"]
Unready = Literal["report", "release"]
Within = Literal["groups", "namespaces", "users"]


class QueueShare(Value, frozen=True):
    """What our own configuration says about a queue, beside the Queue object."""

    within: Within = "groups"
    """Between whom the queue's share is divided fairly."""
    capability_percent: Mapping[str, int] = {}
    """Limit per resource, in percent of the cluster (0 to 100); the Queue's own limit stays."""
    deserved_percent: Mapping[str, int] = {}
    """Due per resource, in percent of the cluster; replaces the Queue's own."""
    guarantee_percent: Mapping[str, int] = {}
    """Kept per resource, in percent of the cluster; replaces the Queue's own."""
    namespaces: tuple[str, ...] | None = None
    """Namespaces that may use the queue; None: as the Queue object says, else all."""


class ExpectedPod(Value, frozen=True):
    """One kind of pod in a mix that is expected."""

    weight: int
    """How often it comes, beside the others."""
    gpu_milli: int
    """Thousandths of a GPU; below 1000 a part of one device, else whole ones."""
    cpu_milli: int = 0
    memory_bytes: int = 0


class TierSettings(Value, frozen=True):
    """How the objective is cut into tiers."""

    slices: int = 8
    """Slices of fill position that share out what is inside entitlements (1 to 64)."""
    packing: Packing = "binpack"
    """Whether used nodes are filled first, or load is spread, or large holes are kept, or what the
    expected mix of pods can use."""
    mix: tuple[ExpectedPod, ...] = ()
    """What is expected; (): as what waits and what came lately."""


class Config(Value, frozen=True):
    """Settings of one cycle."""

    budget_ms: int = 5000
    """Time for one plan, from the snapshot in memory to the verified plan."""
    polish_ms: int | None = None
    """Time for better places where everything starts that can, and nobody leaves; None: the budget.
    Nothing of it counts in deterministic mode."""
    seed: int = 1
    """Seed of every random choice."""
    deterministic: bool = False
    """One worker, deterministic limits, no clock in the answer: same input, same bytes."""
    evictions: Evictions = "all"
    """Which running work may make room: of every queue by right, of the own queue, or none."""
    engine: Engine = "auto"
    """``greedy`` leaves the solver out."""
    workers: int = 2
    """Threads of CP-SAT; two suit two cores best."""
    memory_limit_mib: int = 4096
    """Address space that the solver process may take before it is stopped."""
    moves: int = 0
    """So many running pods may be restarted elsewhere by one plan; 0: none ever is."""
    off: tuple[str, ...] = ()
    """Names of rules that are left out."""
    options: Mapping[str, Mapping[str, Any]] = {}
    """Options by rule name."""
    tiers: TierSettings = TierSettings()
    queues: Mapping[str, QueueShare] = {}
    """Settings by queue name."""
    literal_deserved: bool = False
    """A resource that a queue does not name in ``deserved`` is due to it as 0 (as in Volcano)."""
    priority_everywhere: bool = False
    """Priority counts across queues, not only inside one."""
    topology_labels: tuple[str, ...] = ()
    """Node labels that are levels of the network, the widest first, where no object says so."""
    grace_s: int = 60
    """How long a running gang may stay below its minimum before it is given up."""
    ready_within_s: int = 0
    """Live: so long after its last start a gang may take to be ready; 0: however long it takes."""
    unready: Unready = "report"
    """Live: whether a gang that is not ready in time is only told of, or all its pods evicted."""
    overcommit_percent: int = 120
    """Groups without pods are let in while use and reservations stay within so much of it all."""

    @property
    def digest(self) -> str:
        return "sha256:" + hashlib.sha256(to_json(self)).hexdigest()
