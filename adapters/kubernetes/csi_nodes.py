"""CSINodes: which drivers a node has, and how many volumes each may attach yet."""

from . import body_storage as body
from .reader import Objects
from .storage import Storage, drivers_of


def node_drivers(objects: Objects, storage: Storage) -> dict[str, dict[str, int | None]]:
    """Return, by node, its CSI drivers and how many volumes each may attach yet.

    A volume that is attached for no pod that is known takes a place (kube-scheduler counts
    VolumeAttachments so).
    """
    out: dict[str, dict[str, int | None]] = {
        t.name: {d.name: d.allocatable.count if d.allocatable else None for d in drivers_of(t)}
        for t in objects.of("storage.k8s.io", "CSINode")
    }
    in_use = {
        c.body.spec.volume_name
        for key, c in storage.claims.items()
        if storage.users[key] and c.body.spec
    }
    for thing in objects.of("storage.k8s.io", "VolumeAttachment"):
        spec: body.AttachmentSpec = thing.body.spec or body.AttachmentSpec()
        name = spec.source.persistent_volume_name if spec.source else None
        left = out.get(spec.node_name, {}).get(spec.attacher)
        if left is not None and name is not None and name not in in_use:
            out[spec.node_name][spec.attacher] = max(0, left - 1)
    return out
