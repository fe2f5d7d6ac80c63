"""Vendors whose devices HAMi shares: by which names pods ask, and where nodes and pods say what.

Those are here whose plug-ins register the devices of a node as NVIDIA's does: ``uuid,slots,MiB,
cores,model,cell,healthy`` each. Sources: HAMi 2, its devices hygon, iluvatar, amd and ascend, and
the names, chips and templates of its default configuration.
"""

from dataclasses import dataclass

from ...models.devices import GPU

SOFT_MODE, SOFT_NODE, SOFT = "huawei.com/vnpu-mode", "hami-vnpu-core", "hami-core"
"""Annotations of pods and nodes: NPUs divided by HAMi itself, without templates."""


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
    handshake: str
    """The annotation of a node that says whether its plug-in still answers."""
    word: str
    """What devices are called in annotations of pods; "": by their models."""
    to_allocate: str
    allocated: str
    percent: str = ""
    """Percent of a device's memory."""
    memory_mib: int = 1
    """How many MiB one of ``memory`` is."""
    cores_unsaid: int = 0
    """Percent of the cores that a pod has which says nothing of them."""
    templates: tuple[tuple[int, str], ...] = ()
    """MiB and names of the parts that a device can be cut into; none: of any size."""
    runtime: str = ""
    """The annotation that tells the vendor's own runtime of the parts, as JSON."""
    models: str = ""
    not_models: str = ""
    uuids: tuple[str, ...] = ()
    not_uuids: tuple[str, ...] = ()

    def cut(self, mib: int) -> tuple[int, str]:
        """Return MiB and name of the smallest part with so much memory; 0: a whole device."""
        if not self.templates or not mib:
            return mib, ""
        return next(((size, name) for size, name in self.templates if mib <= size), (0, ""))

    @property
    def resources(self) -> frozenset[str]:
        """Resources of a container that say something of a share."""
        return frozenset(r for r in (self.resource, self.memory, self.cores, self.percent) if r)

    @property
    def annotations(self) -> tuple[str, ...]:
        """Annotations of a pod that say something of a share."""
        soft = SOFT_MODE if self.templates else ""
        keys = (self.models, self.not_models, *self.uuids, *self.not_uuids, soft)
        return tuple(k for k in keys if k)


def _iluvatar(chip: str) -> Vendor:
    return Vendor(
        f"iluvatar.ai/{chip}-vgpu", f"iluvatar.ai/{chip}.vMem", f"iluvatar.ai/{chip}.vCore",
        f"hami.io/node-{chip}-register", f"hami.io/node-handshake-{chip}", chip,
        f"hami.io/{chip}-devices-to-allocate", f"hami.io/{chip}-devices-allocated",
        memory_mib=256,
        uuids=(f"hami.io/use-{chip}-uuid",), not_uuids=(f"hami.io/no-use-{chip}-uuid",),
    )  # fmt: skip


def _ascend(chip: str, **templates: int) -> Vendor:
    return Vendor(
        f"huawei.com/{chip}", f"huawei.com/{chip}-memory", f"huawei.com/{chip}-core",
        f"hami.io/node-register-{chip}", f"hami.io/node-handshake-{chip}", chip,
        f"hami.io/{chip}-devices-to-allocate", f"hami.io/{chip}-devices-allocated",
        templates=tuple(sorted((mib, name) for name, mib in templates.items())),
        runtime=f"huawei.com/{chip}",
        uuids=(f"hami.io/use-{chip}-uuid",), not_uuids=(f"hami.io/no-use-{chip}-uuid",),
    )  # fmt: skip


NVIDIA = Vendor(
    GPU, "nvidia.com/gpumem", "nvidia.com/gpucores", "hami.io/node-nvidia-register",
    "hami.io/node-handshake", "NVIDIA",
    "hami.io/vgpu-devices-to-allocate", "hami.io/vgpu-devices-allocated",
    percent="nvidia.com/gpumem-percentage",
    models="nvidia.com/use-gputype", not_models="nvidia.com/nouse-gputype",
    uuids=("volcano.sh/vgpu-use-gpuuuid", "nvidia.com/use-gpuuuid"),
    not_uuids=("volcano.sh/vgpu-nouse-gpuuuid", "nvidia.com/nouse-gpuuuid"),
)  # fmt: skip
HYGON = Vendor(
    "hygon.com/dcunum", "hygon.com/dcumem", "hygon.com/dcucores", "hami.io/node-dcu-register",
    "hami.io/node-handshake-dcu", "DCU",
    "hami.io/dcu-devices-to-allocate", "hami.io/dcu-devices-allocated", cores_unsaid=100,
    models="hygon.com/use-dcutype", not_models="hygon.com/nouse-dcutype",
    uuids=("hygon.com/use-gpuuuid",), not_uuids=("hygon.com/nouse-gpuuuid",),
)  # fmt: skip
AMD = Vendor(
    "amd.com/gpu", "amd.com/gpumem", "amd.com/gpucores", "hami.io/node-amd-register",
    "hami.io/node-handshake-amd", "",
    "hami.io/amd-devices-to-allocate", "hami.io/amd-devices-allocated", cores_unsaid=100,
    models="amd.com/use-gputype", not_models="amd.com/nouse-gputype",
    uuids=("amd.com/use-gpu-uuid",), not_uuids=("amd.com/nouse-gpu-uuid",),
)  # fmt: skip
ASCEND = (
    _ascend("Ascend910A", vir02=2184, vir04=4369, vir08=8738, vir16=17476),
    _ascend("Ascend910B2", vir03_1c_8g=8192, vir06_1c_16g=16384, vir12_3c_32g=32768),
    _ascend("Ascend910B3", vir05_1c_16g=16384, vir10_3c_32g=32768),
    _ascend("Ascend910B4-1", vir05_1c_16g=16384, vir10_3c_32g=32768),
    _ascend("Ascend910B4", vir05_1c_8g=8192, vir10_3c_16g=16384),
    _ascend("Ascend310P", vir01=3072, vir02=6144, vir04=12288),
)
OTHERS = (HYGON, AMD, *ASCEND, *map(_iluvatar, ("MR-V100", "MR-V50", "BI-V150", "BI-V100")))
"""All but NVIDIA: known as shares where a node has registered such devices."""
_OF_RESOURCE = {v.resource: v for v in (NVIDIA, *OTHERS)}


def vendor_of(resource: str) -> Vendor:
    """Return whose devices the resource counts; raises KeyError where none are known by it."""
    return _OF_RESOURCE[resource]
