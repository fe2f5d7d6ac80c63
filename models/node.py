"""A node: what it offers and what it says about itself."""

from collections.abc import Mapping

from .amounts import ZERO, Amounts
from .blocks import DeviceBlocks
from .devices import GPU, Device
from .names import NodeName
from .numa import Numa
from .resource_claim import PoolDevice
from .value import Value


class Taint(Value, frozen=True, order=True):
    """A mark that pods must tolerate."""

    key: str
    effect: str
    value: str = ""

    def __str__(self) -> str:
        return (
            f"{self.key}={self.value}:{self.effect}" if self.value else f"{self.key}:{self.effect}"
        )


class Node(Value, frozen=True, dict=True):
    """Allocatable amounts (pods included), labels, taints and whether it takes new pods."""

    name: NodeName
    allocatable: Amounts = ZERO
    labels: Mapping[str, str] = {}
    taints: tuple[Taint, ...] = ()
    unschedulable: bool = False
    ready: bool = True
    elsewhere: bool = False
    """It is of another shard: other schedulers fill it."""
    created_s: int = 0
    drivers: Mapping[str, int | None] = {}
    """CSI drivers that the node has, and how many volumes each may attach yet; None: any number.

    And the classes of which it has local volumes, with how many of these are free.
    """
    devices: tuple[Device, ...] = ()
    """Its devices by index; () where no pod asks for a share of one."""
    hands_out: tuple[str, ...] = ()
    """Ways in which a device gets to a pod here: ``whole``, and those of shares."""
    device_resource: str = GPU
    """What those devices are counted as."""
    blocks: tuple[DeviceBlocks, ...] = ()
    """Resources whose devices lie in blocks."""
    numa: Numa | None = None
    """None: it says nothing about its cells."""
    pool_devices: tuple[PoolDevice, ...] = ()
    """Devices that claims are served from, in the order of their ids."""
    counters: Mapping[str, int] = {}
    """What the devices that share it have in all, by ``driver/pool/set/counter``.

    And the capacity of devices that may be allocated several times: ``driver/pool/name/capacity``.
    """
    plugged: Mapping[str, int] = {}
    """Of resources that claims are charged as: what a device plug-in offers."""

    def is_plugged(self, resource: str) -> bool:
        """Say whether a device plug-in has any of the extended resource here at all."""
        offers = self.plugged if self.pool_devices else self.allocatable
        return bool(resource) and offers.get(resource, 0) > 0

    @property
    def takes_pods(self) -> bool:
        """Say whether the node is neither cordoned nor not ready nor of another shard."""
        return self.ready and not self.unschedulable and not self.elsewhere
