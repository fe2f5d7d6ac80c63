"""What an eviction costs: section 6 of docs/design/order.md."""

from collections.abc import Iterable

from ..models import Pod, PodSpec
from .members import Members, Standing
from .scene import Scene


def devices_milli(scene: Scene, pod: Pod) -> int:
    """Return the devices that the pod holds, in thousandths; whole cores where it has none."""
    known = scene.once("devices held", _nothing_known)
    if id(pod.spec) not in known:
        known[id(pod.spec)] = milli_of(pod.spec)
    return known[id(pod.spec)]


def milli_of(spec: PodSpec) -> int:
    """Return :func:`devices_milli` of a pod of this spec."""
    requests = spec.requests
    held = sum(
        v
        for r, v in requests.items()
        if "/" in r and not r.startswith(("kubernetes.io/", "attachable-volumes"))
    )
    return held or -(-requests["cpu"] // 1000) * 1000


def _nothing_known(_: Scene) -> dict[int, int]:
    return {}


def age_s(scene: Scene, pod: Pod) -> int:
    """Return how long the pod has existed, in seconds."""
    return max(0, scene.snapshot.taken_at_s - pod.created_s) if pod.created_s else 0


def run_s(scene: Scene, pod: Pod) -> int:
    """Return how long the pod has run, in seconds; since its creation where that is not known."""
    start = pod.started_s if pod.started_s is not None else pod.created_s
    return max(0, scene.snapshot.taken_at_s - start) if start else 0


def lost_work(scene: Scene, pod: Pod) -> int:
    """Return the work that is lost with the pod, in thousandths of device-seconds."""
    (lost,) = losses_of(scene, (pod,))
    return lost


def losses_of(scene: Scene, pods: Iterable[Pod]) -> list[int]:
    """Return :func:`lost_work` of each of the pods; of many, what is known is looked up once."""
    held = scene.once("devices held", _nothing_known)
    out: list[int] = []
    for p in pods:
        milli = held.get(id(p.spec))
        if milli is None:
            milli = devices_milli(scene, p)
        out.append(milli * run_s(scene, p))
    return out


def spare_members(m: Members) -> int:
    """Return how many single pods may leave while the group stays whole, roles not looked at."""
    if m.standing is not Standing.WHOLE:
        return 0
    return len(m.running) - m.least
