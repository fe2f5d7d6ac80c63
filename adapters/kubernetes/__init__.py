"""The door for Kubernetes objects: what ``kubectl get -o yaml`` prints, as a snapshot."""

from .door import snapshot_from
from .options import QueuesFrom, ReadOptions

__all__ = ["QueuesFrom", "ReadOptions", "snapshot_from"]
