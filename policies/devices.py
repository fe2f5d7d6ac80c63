"""Devices: shares sit on single devices of a node, whole devices are those that no share uses.

On every device Σ memory, Σ cores and the number of shares stay within what it has; a running share
keeps its device; a share has its number of distinct devices. Who makes that true on a node is one
hand-over: reservation pods, or the device plug-ins of HAMi or Volcano.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..models import DeviceShare, Node, Pod, Reason, Violation
from .api import NodeFeatures
from .device_packing import Devices as State
from .device_places import have_devices, kept_on, leaving_on, new_users
from .device_rows import tell_devices
from .device_sizes import fits, room_of, size_of, whole_devices
from .device_tracker import DeviceTracker
from .outcome import Outcome
from .podset import PodSet
from .tracker import World

if TYPE_CHECKING:
    from .board import Board

HANDOVERS = ("reservation", "volcano", "gpushare", "hami")
MIG_STRATEGY, REPLICAS = "nvidia.com/mig.strategy", "nvidia.com/gpu.replicas"


@dataclass(frozen=True, slots=True)
class Devices:
    """Σ of shares on each device ≤ what it has; whole devices and shared ones never mix."""

    handover: tuple[str, ...] = HANDOVERS
    """Ways in which shares may get to their devices."""
    new_geometry: bool = False
    """Say how idle GPUs could be cut anew for groups that wait for MIG slices."""
    name: str = "devices"

    def __post_init__(self) -> None:
        object.__setattr__(self, "handover", tuple(self.handover))
        for way in self.handover:
            if way not in HANDOVERS:
                raise ValueError(f"handover: {way!r} is none of {', '.join(HANDOVERS)}")

    # One pod and one node

    def sees(self, pods: PodSet) -> NodeFeatures:
        if pods.spec.share is None and not whole_devices(pods.sample):
            return NodeFeatures()
        return NodeFeatures(labels=frozenset((MIG_STRATEGY, REPLICAS)), devices=True)

    def refuse(self, pods: PodSet, node: Node) -> Reason | None:
        share, about = pods.spec.share, f"node {node.name}"
        if share is None:
            if whole_devices(pods.sample) and node.devices and "whole" not in node.hands_out:
                return Reason(self.name, about, "hands out shares of its devices only")
            return None
        if share.by not in self.handover or share.by not in node.hands_out:
            return Reason(self.name, about, self._nobody(share.by, node))
        if share.resource != node.device_resource:
            said = f"has no devices that are counted as {share.resource}"
            return Reason(self.name, about, said)
        able = 0
        of_card: Counter[int] = Counter()
        for d in node.devices:
            if not (share.bears(d) and fits(size_of(share, d), room_of(d))):
                continue
            of_card[d.card] += 1
            able += not (d.card and share.per_card) or of_card[d.card] <= share.per_card
            if able >= share.devices:
                return None
        most_mib = max((d.memory_mib for d in node.devices), default=0)
        if share.memory_mib and not most_mib:
            said = "does not say how much memory its devices have (label nvidia.com/gpu.memory)"
        elif share.memory_mib > most_mib:
            said = f"its devices have {most_mib} MiB at most, {share.memory_mib} are asked for"
        else:
            said = f"{able} of its devices could take the share, {share.devices} are asked for"
            if share.per_card:
                said += f", {share.per_card} of a card at most"
            said += _wishes(share)
        return Reason(self.name, about, said)

    def _nobody(self, way: str, node: Node) -> str:
        """Say why nobody hands out such shares on the node."""
        if way not in self.handover:
            return f"nobody may hand out shares by {way} here (option handover)"
        if way == "reservation" and node.labels.get(MIG_STRATEGY) in ("single", "mixed"):
            return "its GPUs are for MIG slices"
        if way == "reservation" and node.labels.get(REPLICAS, "1") not in ("", "0", "1"):
            return "its GPUs are replicated by the device plug-in"
        return f"has no device that is shared by {way}"

    # Pods together

    def track(self, world: World) -> DeviceTracker:
        return DeviceTracker(world)

    def check(self, outcome: Outcome) -> Iterable[Violation]:
        for i, pods in sorted(new_users(outcome).items()):
            state = kept_on(outcome, i)
            yield from self._placed(outcome, state, pods, i, "in the end")
            bound = [p for p in pods if p.key in outcome.bound]
            leaving = leaving_on(outcome, i) if bound else []
            if leaving:
                state = kept_on(outcome, i)
                for p in leaving:
                    state.add(p)
                yield from self._placed(outcome, state, bound, i, "at once")

    def _placed(
        self, outcome: Outcome, state: State, pods: Iterable[Pod], node: int, when: str
    ) -> Iterable[Violation]:
        about = f"node {outcome.scene.nodes[node].name}"
        rest: list[Pod] = []
        for p in pods:
            at = outcome.devices.get(p.key)
            if at is None or p.spec.share is None:
                rest.append(p)
                continue
            wrong = self._misplaced(state, p, at)
            if wrong:
                yield Violation(self.name, f"pod {p.key}", f"{wrong} {when} on {about}")
                return
            state.add(p, at=at)
        if not have_devices(outcome.scene, state, rest):
            yield Violation(
                self.name, about,
                f"its devices do not hold the shares and whole devices of all its pods {when}",
            )  # fmt: skip

    @staticmethod
    def _misplaced(state: State, pod: Pod, at: tuple[int, ...]) -> str:
        """Say what is wrong with the devices that the plan names for a share."""
        share = pod.spec.share
        assert share is not None
        devices = state.node.devices
        if len(set(at)) != share.devices or len(at) != share.devices:
            return f"asks for {share.devices} distinct devices, the plan names {list(at)}"
        for d in at:
            if not 0 <= d < len(devices):
                return f"is given device {d}, which is not there"
            if state.taken[d] or not share.bears(devices[d]):
                return f"is given device {d}, which cannot take it"
            if not fits(size_of(share, devices[d]), state.room[d]):
                return f"is given device {d}, which has too little left"
        if not share.spreads(devices[d] for d in at):
            return f"may have {share.per_card} devices of one card, the plan names {list(at)}"
        return ""

    def constrain(self, board: "Board") -> None:
        tell_devices(board, self.name)


def _wishes(share: DeviceShare) -> str:
    """Say which devices the share wants; "" if any will do."""
    wants = [*(f"model {m}" for m in share.models), *(f"device {u}" for u in share.uuids)]
    bars = [*(f"model {m}" for m in share.not_models), *(f"device {u}" for u in share.not_uuids)]
    said = [f"; it wants {' or '.join(wants[:4])}"] if wants else []
    return "".join([*said, f"; it bars {', '.join(bars[:4])}" if bars else ""])
