"""What shares take of a device, and what it holds: memory, cores, shares."""

from ..models import Device, DeviceShare, Pod, PodSpec
from ..models.devices import GPU, SHARED_GPU, WHOLE_GPU, WHOLE_PPM
from ..models.mig import PREFIX

CORE = 1_000
"""Units of one percent of cores; a share without cores takes one unit, so that a device whose
cores are all given away takes none of those either."""
ANY_NUMBER = 1 << 20

Room = tuple[int, int, int]
"""Memory (in millionths of MiB, or of the device where that is not known), cores, shares."""


def room_of(device: Device) -> Room:
    """Return what an idle device holds."""
    if not device.healthy:
        return (0, 0, 0)
    return (max(1, device.memory_mib) * WHOLE_PPM, 100 * CORE, device.slots or ANY_NUMBER)


def size_of(share: DeviceShare, device: Device) -> Room:
    """Return what the share takes of the device."""
    mib = max(1, device.memory_mib)
    memory = max(share.memory_mib * WHOLE_PPM, share.memory_ppm * mib)
    if share.cores_percent >= 100:
        memory = mib * WHOLE_PPM  # all cores: nobody else is on the device
    cores = 0
    if share.by in ("volcano", "hami"):
        cores = share.cores_percent * CORE if share.cores_percent else 1
    return (memory, cores, 1)


def fits(size: Room, room: Room) -> bool:
    return size[0] <= room[0] and size[1] <= room[1] and size[2] <= room[2]


def less(room: Room, size: Room) -> Room:
    return (room[0] - size[0], room[1] - size[1], room[2] - size[2])


def whole_devices(pod: Pod) -> int:
    """Return how many whole devices the pod asks for."""
    asks = pod.spec.requests
    if pod.spec.share is not None or GPU not in asks:
        return 0
    if WHOLE_GPU in asks:
        return asks[WHOLE_GPU] // 1000
    for r in asks:  # asked of every pod again and again
        if r == SHARED_GPU or r.startswith(PREFIX):
            return 0
    return asks[GPU] // 1000


def uses_devices(pod: Pod) -> bool:
    return uses(pod.spec)


def uses(spec: PodSpec) -> bool:
    """Say whether pods of the spec use devices: shares of them, or whole ones."""
    return spec.share is not None or spec.requests[GPU] >= 1000
