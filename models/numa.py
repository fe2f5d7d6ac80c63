"""NUMA cells of a node, and what the containers of a pod ask of them."""

from typing import Literal

from .amounts import ZERO, Amounts
from .value import Value

NumaPolicy = Literal["none", "best-effort", "restricted", "single-numa-node"]
NumaScope = Literal["container", "pod"]


class Cell(Value, frozen=True):
    """One NUMA cell: the resources that the kubelet hands out by cell, and how much of each."""

    id: int
    allocatable: Amounts = ZERO
    capacity: Amounts = ZERO
    """With what the kubelet keeps for itself; a resource not named: as allocatable."""
    free: Amounts | None = None
    """What the node agent reported as free; None: nothing was reported."""


class Numa(Value, frozen=True):
    """How the kubelet's topology manager is set, and its cells by id.

    A resource that no cell names is not handed out by cell.
    """

    policy: NumaPolicy = "none"
    scope: NumaScope = "container"
    cells: tuple[Cell, ...] = ()

    @property
    def strict(self) -> bool:
        """Say whether the kubelet refuses pods for the cells' sake."""
        return self.policy in ("restricted", "single-numa-node")


class CellShare(Value, frozen=True):
    """What a running pod holds of one cell."""

    cell: int
    amounts: Amounts


class AlignedAsk(Value, frozen=True):
    """What one container asks for that a kubelet may hand out by cell, in order of start.

    Whole CPUs, memory and huge pages of a pod of class Guaranteed, and devices of any pod.
    """

    amounts: Amounts
    init: bool = False
    """Ends before the next starts (no sidecar)."""
