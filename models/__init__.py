"""The nouns: plain frozen values and exact integers; no I/O, no clock, no randomness."""

from .amounts import Amounts
from .blocks import DeviceBlocks
from .budget import Budget
from .choice import Choice
from .config import Config, ExpectedPod, QueueShare, TierSettings
from .devices import Device, DeviceShare
from .end import End, EndBy
from .errors import ApportionError, BugError, InputError
from .group import Group
from .names import GroupKey, NodeName, PodKey, QueueName
from .namespace import Namespace, ResourceQuota
from .node import Node, Taint
from .notes import Reason, Rejected, Violation, Warned
from .numa import AlignedAsk, Cell, CellShare, Numa, NumaPolicy, NumaScope
from .plan import (
    Admission,
    AllocatedDevice,
    Allocation,
    Bind,
    Eviction,
    Held,
    Move,
    NewGeometry,
    Nomination,
    Plan,
    QueueRow,
    Settled,
    SolverRow,
    TierRow,
)
from .pod import Pod, PodState
from .podspec import HostPort, PodSpec, PodTerm, SpreadConstraint, Toleration
from .queue import UNLIMITED, Queue, QueueState, Reclaims
from .resource_claim import Claim, ClaimSpec, DeviceMatch, DeviceRequest, PodClaim, PoolDevice
from .selector import LabelSelector, NodeSelectorTerm, Requirement
from .snapshot import Snapshot, snapshot_of
from .topology import Level, Subgroup, Topology, TopologyRequest
from .volume import Volume

__all__ = [
    "UNLIMITED",
    "Admission",
    "AlignedAsk",
    "AllocatedDevice",
    "Allocation",
    "Amounts",
    "ApportionError",
    "Bind",
    "Budget",
    "BugError",
    "Cell",
    "CellShare",
    "Choice",
    "Claim",
    "ClaimSpec",
    "Config",
    "Device",
    "DeviceBlocks",
    "DeviceMatch",
    "DeviceRequest",
    "DeviceShare",
    "End",
    "EndBy",
    "Eviction",
    "ExpectedPod",
    "Group",
    "GroupKey",
    "Held",
    "HostPort",
    "InputError",
    "LabelSelector",
    "Level",
    "Move",
    "Namespace",
    "NewGeometry",
    "Node",
    "NodeName",
    "NodeSelectorTerm",
    "Nomination",
    "Numa",
    "NumaPolicy",
    "NumaScope",
    "Plan",
    "Pod",
    "PodClaim",
    "PodKey",
    "PodSpec",
    "PodState",
    "PodTerm",
    "PoolDevice",
    "Queue",
    "QueueName",
    "QueueRow",
    "QueueShare",
    "QueueState",
    "Reason",
    "Reclaims",
    "Rejected",
    "Requirement",
    "ResourceQuota",
    "Settled",
    "Snapshot",
    "SolverRow",
    "SpreadConstraint",
    "Subgroup",
    "Taint",
    "TierRow",
    "TierSettings",
    "Toleration",
    "Topology",
    "TopologyRequest",
    "Violation",
    "Volume",
    "Warned",
    "snapshot_of",
]
