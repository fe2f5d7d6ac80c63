"""Vendors whose devices HAMi shares: by which names pods ask, and where nodes and pods say what.

Those are here whose plug-ins register the devices of a node as NVIDIA's does: ``uuid,slots,MiB,
cores,model,cell,healthy`` each. Sources: HAMi 2, its devices hygon and iluvatar, and the names of
its default configuration.
"""

from dataclasses import dataclass

from ...models.devices import GPU


@dataclass(frozen=True, slots=True)
class Vendor:
    """The words of one kind of devices."""

    resource: str
    """How many devices; shares are charged as parts of it."""
    memory: str
    cores: str
    """Percent of a device."""
    register: str
    """The annotation of a node that lists its devices."""
    word: str
    """What devices are called in annotations of pods."""
    to_allocate: str
    allocated: str
    percent: str = ""
    """Percent of a device's memory."""
    memory_mib: int = 1
    """How many MiB one of ``memory`` is."""
    models: str = ""
    not_models: str = ""
    uuids: tuple[str, ...] = ()
    not_uuids: tuple[str, ...] = ()

    @property
    def resources(self) -> frozenset[str]:
        """Resources of a container that say something of a share."""
        return frozenset(r for r in (self.resource, self.memory, self.cores, self.percent) if r)

    @property
    def annotations(self) -> tuple[str, ...]:
        """Annotations of a pod that say something of a share."""
        keys = (self.models, self.not_models, *self.uuids, *self.not_uuids)
        return tuple(k for k in keys if k)


def _iluvatar(chip: str) -> Vendor:
    return Vendor(
        f"iluvatar.ai/{chip}-vgpu", f"iluvatar.ai/{chip}.vMem", f"iluvatar.ai/{chip}.vCore",
        f"hami.io/node-{chip}-register", chip,
        f"hami.io/{chip}-devices-to-allocate", f"hami.io/{chip}-devices-allocated",
        memory_mib=256,
        uuids=(f"hami.io/use-{chip}-uuid",), not_uuids=(f"hami.io/no-use-{chip}-uuid",),
    )  # fmt: skip


NVIDIA = Vendor(
    GPU, "nvidia.com/gpumem", "nvidia.com/gpucores", "hami.io/node-nvidia-register", "NVIDIA",
    "hami.io/vgpu-devices-to-allocate", "hami.io/vgpu-devices-allocated",
    percent="nvidia.com/gpumem-percentage",
    models="nvidia.com/use-gputype", not_models="nvidia.com/nouse-gputype",
    uuids=("volcano.sh/vgpu-use-gpuuuid", "nvidia.com/use-gpuuuid"),
    not_uuids=("volcano.sh/vgpu-nouse-gpuuuid", "nvidia.com/nouse-gpuuuid"),
)  # fmt: skip
HYGON = Vendor(
    "hygon.com/dcunum", "hygon.com/dcumem", "hygon.com/dcucores", "hami.io/node-dcu-register",
    "DCU", "hami.io/dcu-devices-to-allocate", "hami.io/dcu-devices-allocated",
    models="hygon.com/use-dcutype", not_models="hygon.com/nouse-dcutype",
    uuids=("hygon.com/use-gpuuuid",), not_uuids=("hygon.com/nouse-gpuuuid",),
)  # fmt: skip
OTHERS = (HYGON, *map(_iluvatar, ("MR-V100", "MR-V50", "BI-V150", "BI-V100")))
"""All but NVIDIA: known as shares where a node has registered such devices."""
_OF_RESOURCE = {v.resource: v for v in (NVIDIA, *OTHERS)}


def vendor_of(resource: str) -> Vendor:
    """Return whose devices the resource counts; raises KeyError where none are known by it."""
    return _OF_RESOURCE[resource]
