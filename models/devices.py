"""Devices of a node, one by one, and shares of them that pods ask for."""

from collections import Counter
from collections.abc import Iterable

from .value import Value

GPU = "nvidia.com/gpu"
"""The resource whose devices can be shared."""
SHARED_GPU = "nvidia.com/gpu.shared"
"""Replicas of GPUs, where their plug-in gives them a name of their own."""
WHOLE_GPU = "nvidia.com/gpu (whole)"
"""Beside parts that are charged as GPUs: those that are whole; no queue is charged for it."""
WHOLE_PPM = 1_000_000


class Device(Value, frozen=True):
    """One device as its node describes it; equal devices are equal values but for the uuid."""

    memory_mib: int = 0
    """0: the node does not say it."""
    slots: int = 0
    """How many shares it takes at most; 0: any number."""
    healthy: bool = True
    model: str = ""
    uuid: str = ""
    mode: str = ""
    """How its plug-in divides it: hami-core, mig or mps; "" where nothing says it."""
    card: int = 0
    """Number of the card on its node that it is a part of; 0: it is a card itself."""


class DeviceShare(Value, frozen=True):
    """A part of each of some distinct devices; what is not stated is 0."""

    by: str = "reservation"
    """Whose protocol makes it true on a node: reservation, volcano, gpushare or hami."""
    devices: int = 1
    """How many distinct devices of one node."""
    memory_mib: int = 0
    """Device memory, on each."""
    memory_ppm: int = 0
    """Part of each device's memory, in millionths."""
    cores_percent: int = 0
    """Part of each device's cores."""
    mode: str = ""
    """The mode that the devices must have; "": any."""
    models: tuple[str, ...] = ()
    """Words one of which must be in the model's name."""
    not_models: tuple[str, ...] = ()
    uuids: tuple[str, ...] = ()
    not_uuids: tuple[str, ...] = ()
    resource: str = GPU
    """What its devices are counted as, and what it is charged as a part of."""
    per_card: int = 0
    """How many of its devices may be parts of one card; 0: any number."""

    def bears(self, device: Device) -> bool:
        """Say whether the share could ever be on the device, were that idle."""
        model = device.model.lower()
        return (
            device.healthy
            and (not self.mode or not device.mode or self.mode == device.mode)
            and (not self.models or any(m in model for m in self.models))
            and not any(m in model for m in self.not_models)
            and (not self.uuids or device.uuid in self.uuids)
            and device.uuid not in self.not_uuids
            and (not self.memory_mib or self.memory_mib <= device.memory_mib)
        )

    def spreads(self, devices: Iterable[Device]) -> bool:
        """Say whether no more of these devices are parts of one card than the share may have."""
        if not self.per_card:
            return True
        of_card = Counter(d.card for d in devices if d.card)
        return all(n <= self.per_card for n in of_card.values())
