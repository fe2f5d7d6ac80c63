"""A volume of a pod, as far as it says where the pod may be."""

from typing import Literal

from .selector import NodeSelectorTerm
from .value import Value

Sharing = Literal["", "node", "pod"]


class Volume(Value, frozen=True, order=True):
    """One volume claim of a pod; what its object, its class and its volume say is resolved."""

    claim: str = ""
    """``namespace/name`` where several pods of the snapshot have it; "" if it is this pod's own."""
    places: tuple[tuple[NodeSelectorTerm, ...], ...] = ()
    """Of each tuple some term has to match the node; an empty tuple matches none."""
    driver: str = ""
    """The CSI driver that attaches it, or the class that it takes a local volume of; "": none."""
    sharing: Sharing = ""
    """Pods that share it are on one ``node`` (ReadWriteOnce), or only one ``pod`` has it."""
    keys: tuple[str, ...] = ()
    """Not bound yet: the pods that share it are on nodes with equal values of these labels."""
    made_in: str = ""
    """The namespace in which its claim is still to be made, if a ResourceQuota bounds that."""
    size: int = 0
    """Bytes that a claim which is still to be made asks for."""
    storage_class: str = ""
    """The class of such a claim."""
    problem: str = ""
    """Why no node will do: the claim is missing, or waits for its volume."""
