"""Edits: what a "what if" changes about a snapshot, each a value that says itself in words."""

from collections.abc import Mapping
from typing import Literal

from .end import span
from .group import Group
from .names import GroupKey
from .pod import Pod
from .podspec import Toleration
from .quantity import show
from .resource_claim import Claim
from .value import Value

QueueSetting = Literal["limit", "due", "guarantee"]


class AddNodes(Value, frozen=True, tag_field="edit", tag="addNodes"):
    """New nodes like one that there is: empty, ready, in the same domains.

    ``labels`` replace those of the model; with them the new nodes may be in other domains.
    """

    like: str
    count: int = 1
    labels: Mapping[str, str] = {}

    def __str__(self) -> str:
        said = ", ".join(f"{k}={v}" for k, v in sorted(self.labels.items()))
        more = f" with {said}" if said else ""
        return f"add {self.count} node{'s' if self.count != 1 else ''} like {self.like}{more}"


class RemoveNode(Value, frozen=True, tag_field="edit", tag="removeNode"):
    """The node is gone: our pods there come back pending, all others are gone with it."""

    node: str

    def __str__(self) -> str:
        return f"remove node {self.node}"


class Drain(Value, frozen=True, tag_field="edit", tag="drain"):
    """The node is cordoned and our pods there come back pending; other pods stay."""

    node: str

    def __str__(self) -> str:
        return f"drain node {self.node}"


class Cordon(Value, frozen=True, tag_field="edit", tag="cordon"):
    """The node takes no new pods."""

    node: str

    def __str__(self) -> str:
        return f"cordon node {self.node}"


class Uncordon(Value, frozen=True, tag_field="edit", tag="uncordon"):
    """The node takes pods again."""

    node: str

    def __str__(self) -> str:
        return f"uncordon node {self.node}"


class CopyGroup(Value, frozen=True, tag_field="edit", tag="copyGroup"):
    """Groups like one that there is, all their pods waiting, submitted at this moment."""

    like: GroupKey
    count: int = 1

    def __str__(self) -> str:
        return f"submit {self.count} cop{'ies' if self.count != 1 else 'y'} of group {self.like}"


class Submit(Value, frozen=True, tag_field="edit", tag="submit"):
    """Groups that were read from elsewhere, with their pods and the claims that they name."""

    groups: tuple[Group, ...]
    pods: tuple[Pod, ...] = ()
    claims: tuple[Claim, ...] = ()

    def __str__(self) -> str:
        return f"submit group{'s' if len(self.groups) > 1 else ''} " + ", ".join(
            g.key for g in self.groups
        )


class RemoveGroup(Value, frozen=True, tag_field="edit", tag="removeGroup"):
    """The group and all its pods are gone."""

    group: GroupKey

    def __str__(self) -> str:
        return f"remove group {self.group}"


class Wait(Value, frozen=True, tag_field="edit", tag="wait"):
    """The groups that are known to end in so many seconds are gone; the moment stays the same."""

    seconds: int

    def __str__(self) -> str:
        return f"wait {span(self.seconds)}"


class SetPriority(Value, frozen=True, tag_field="edit", tag="setPriority"):
    """The group and its pods have this priority."""

    group: GroupKey
    priority: int

    def __str__(self) -> str:
        return f"give group {self.group} priority {self.priority}"


class Resize(Value, frozen=True, tag_field="edit", tag="resize"):
    """The group (or one role of it) has so many members.

    Members that come wait; waiting ones go first. A minimum of all members stays one of all.
    """

    group: GroupKey
    members: int
    role: str = ""

    def __str__(self) -> str:
        of = f"role {self.role} of group {self.group}" if self.role else f"group {self.group}"
        return f"give {of} {self.members} member{'s' if self.members != 1 else ''}"


class SetMinimum(Value, frozen=True, tag_field="edit", tag="setMinimum"):
    """The group runs with so many members at least."""

    group: GroupKey
    minimum: int

    def __str__(self) -> str:
        some = f"{self.minimum} member" + ("s" if self.minimum != 1 else "")
        return f"let group {self.group} start with {some}"


class SetRequests(Value, frozen=True, tag_field="edit", tag="setRequests"):
    """The group's waiting pods ask for these amounts each, in canonical units."""

    group: GroupKey
    requests: Mapping[str, int]

    def __str__(self) -> str:
        said = ", ".join(f"{show(v, r)} {r}" for r, v in sorted(self.requests.items()))
        return f"let each waiting pod of group {self.group} ask for {said}"


class SetQueue(Value, frozen=True, tag_field="edit", tag="setQueue"):
    """An amount of a queue; None: it names the resource no more."""

    queue: str
    setting: QueueSetting
    resource: str
    amount: int | None

    def __str__(self) -> str:
        value = "nothing" if self.amount is None else show(self.amount, self.resource)
        return f"set the {self.setting} of queue {self.queue} to {value} {self.resource}"


class SetWeight(Value, frozen=True, tag_field="edit", tag="setWeight"):
    """The weight of a queue."""

    queue: str
    weight: int

    def __str__(self) -> str:
        return f"set the weight of queue {self.queue} to {self.weight}"


class SetQueuePriority(Value, frozen=True, tag_field="edit", tag="setQueuePriority"):
    """The priority of a queue."""

    queue: str
    priority: int

    def __str__(self) -> str:
        return f"set the priority of queue {self.queue} to {self.priority}"


class Relax(Value, frozen=True, tag_field="edit", tag="relax"):
    """A group (or subgroup) requires this level of its topology instead; "": none."""

    group: GroupKey
    level: str = ""
    subgroup: str = ""

    def __str__(self) -> str:
        who = f"group {self.group}" + (f" subgroup {self.subgroup}" if self.subgroup else "")
        if not self.level:
            return f"let {who} spread over the whole cluster"
        return f"let {who} require {self.level} instead"


class Tolerate(Value, frozen=True, tag_field="edit", tag="tolerate"):
    """The group's waiting pods tolerate this, too."""

    group: GroupKey
    toleration: Toleration

    def __str__(self) -> str:
        t = self.toleration
        taint = f"{t.key}={t.value}" if t.value else t.key
        return f"let group {self.group} tolerate {taint}:{t.effect}"


class DropSelector(Value, frozen=True, tag_field="edit", tag="dropSelector"):
    """The group's waiting pods ask for this node label no more; "": no node affinity at all."""

    group: GroupKey
    label: str = ""

    def __str__(self) -> str:
        what = f"the node selector {self.label}" if self.label else "the required node affinity"
        return f"let group {self.group} go without {what}"


Edit = (
    AddNodes
    | RemoveNode
    | Drain
    | Cordon
    | Uncordon
    | CopyGroup
    | Submit
    | RemoveGroup
    | Wait
    | SetPriority
    | Resize
    | SetMinimum
    | SetRequests
    | SetQueue
    | SetWeight
    | SetQueuePriority
    | Relax
    | Tolerate
    | DropSelector
)
