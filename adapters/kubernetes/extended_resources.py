"""Extended resources that claims serve where no device plug-in offers them (KEP-5004).

A DeviceClass is asked for by its ``extendedResourceName``, and by a name that follows from its own.
Requests and mappings are named as kube-scheduler names them: drivers and kubelets read them.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ...models import DeviceRequest
from . import body_devices as body
from .body_pod import ContainerBody, PodSpecBody
from .meta import Thing
from .resources import asked_by

IMPLICIT = "deviceclass.resource.kubernetes.io/"
CLAIM_NAME = "<extended-resources>"
"""What such a claim is called before it is made; no pod can call a claim of its own so."""
OF_EXTENDED = "resource.kubernetes.io/extended-resource-claim"
_UNIT = 1000


@dataclass(frozen=True, slots=True)
class Use:
    """A container that uses what a request is given."""

    container: str
    resource: str
    request: str


def classes_by_resource(classes: Iterable[Thing]) -> dict[str, str]:
    """Return by resource the class whose devices serve it: of several the newest."""
    out: dict[str, str] = {}
    for t in sorted(classes, key=lambda t: (-(t.created_s or 0), t.name)):
        spec: body.ClassSpec = t.body.spec or body.ClassSpec()
        if spec.extended_resource_name:
            out.setdefault(spec.extended_resource_name, t.name)
        out[IMPLICIT + t.name] = t.name
    return out


def requests_of(
    spec: PodSpecBody, kinds: Mapping[str, str]
) -> tuple[tuple[DeviceRequest, ...], list[Use]]:
    """Return what the containers ask of the resources in ``kinds``, and who uses which request.

    Devices of a container that stays are used by the init containers before it as well. What init
    containers need beyond that they use one after the other: the largest request serves all.
    """
    containers = [*(spec.init_containers or ()), *(spec.containers or ())]
    first = len(spec.init_containers or ())
    asks = [asked_by(c) for c in containers]
    requests: list[DeviceRequest] = []
    uses: list[Use] = []
    for resource in sorted({r for a in asks for r in a if r in kinds and a[r]}):
        found, of = _served(resource, kinds[resource], containers, asks, first)
        requests += found
        uses += of
    return tuple(sorted(requests, key=lambda r: r.name)), uses


def _served(
    resource: str,
    kind: str,
    containers: Sequence[ContainerBody],
    asks: Sequence[Mapping[str, int]],
    first: int,
) -> tuple[list[DeviceRequest], list[Use]]:
    lasting: dict[int, DeviceRequest] = {}
    most: DeviceRequest | None = None
    stay: list[Use] = []
    steps: list[tuple[int, list[DeviceRequest], bool]] = []
    for i, c in enumerate(containers):
        n = -(-asks[i].get(resource, 0) // _UNIT)
        if n and (i >= first or c.restart_policy == "Always"):
            lasting[i] = _request(i, asks[i], resource, kind, n)
            stay.append(Use(c.name or "", resource, lasting[i].name))
    for i, c in enumerate(containers[:first]):
        n = -(-asks[i].get(resource, 0) // _UNIT)
        if not n or c.restart_policy == "Always":
            continue
        taken: list[DeviceRequest] = []
        for r in (lasting[j] for j in sorted(lasting) if j >= i):
            if n <= 0:
                break
            taken.append(r)
            n -= r.count
        if n > 0 and (most is None or most.count < n):
            most = _request(i, asks[i], resource, kind, n)
        steps.append((i, taken, n > 0))
    for i, taken, short in steps:
        served = [*taken, most] if short and most is not None else taken
        stay += (Use(containers[i].name or "", resource, r.name) for r in served)
    return [*([most] if most is not None else ()), *lasting.values()], stay


def _request(
    i: int, asks: Mapping[str, int], resource: str, kind: str, count: int
) -> DeviceRequest:
    name = f"container-{i}-request-{sorted(asks).index(resource)}"
    return DeviceRequest(name, kind, count, resource=resource)
