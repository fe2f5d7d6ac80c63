"""Which CSI driver does the work of an in-tree volume plug-in since (KEP-625)."""

from typing import Protocol

PROVISIONERS = {
    "kubernetes.io/aws-ebs": "ebs.csi.aws.com",
    "kubernetes.io/gce-pd": "pd.csi.storage.gke.io",
    "kubernetes.io/azure-disk": "disk.csi.azure.com",
    "kubernetes.io/azure-file": "file.csi.azure.com",
    "kubernetes.io/cinder": "cinder.csi.openstack.org",
    "kubernetes.io/vsphere-volume": "csi.vsphere.vmware.com",
    "kubernetes.io/portworx-volume": "pxd.portworx.com",
}
"""By the provisioner that a StorageClass names."""


class Sources(Protocol):
    """The disks that a PersistentVolume, or a volume of a pod, may name without a driver."""

    @property
    def aws_elastic_block_store(self) -> object: ...
    @property
    def gce_persistent_disk(self) -> object: ...
    @property
    def azure_disk(self) -> object: ...
    @property
    def cinder(self) -> object: ...
    @property
    def vsphere_volume(self) -> object: ...


def driver_of(volume: Sources) -> str:
    """Return the CSI driver of a volume that is such a disk; "": it is none."""
    sources = (
        (volume.aws_elastic_block_store, "kubernetes.io/aws-ebs"),
        (volume.gce_persistent_disk, "kubernetes.io/gce-pd"),
        (volume.azure_disk, "kubernetes.io/azure-disk"),
        (volume.cinder, "kubernetes.io/cinder"),
        (volume.vsphere_volume, "kubernetes.io/vsphere-volume"),
    )
    return next((PROVISIONERS[name] for source, name in sources if source is not None), "")
