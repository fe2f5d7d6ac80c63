"""Amounts of resources, from a mapping of quantities; and what a pod asks for in all.

Σ of the containers and sidecars, at least the highest step of the init containers (each step with
the sidecars started before it), the pod-level amounts instead where given, plus overhead.
Sources: KEP-753 (sidecars), KEP-2837 (pod-level resources), KEP-1287 (in-place resize).
"""

from collections.abc import Iterable, Mapping
from typing import Any

from ...models import Amounts
from ...models.quantity import parse, parse_signed
from ..paths import below
from .body_pod import ContainerBody, ContainerStatusBody, PodBody, PodSpecBody, ResourcesBody
from .faults import Faults

Raw = Mapping[str, Any]
_POD_LEVEL = ("cpu", "memory")
_NONE: dict[str, int] = {}


def amounts(raw: Raw | None, path: str, faults: Faults, *, signed: bool = False) -> dict[str, int]:
    """Return the amounts in canonical units; what cannot be read is a fault."""
    out: dict[str, int] = {}
    for resource, quantity in (raw or _NONE).items():
        if quantity is None:
            continue
        try:
            out[resource] = (parse_signed if signed else parse)(quantity, resource)
        except ValueError as e:
            faults.add(below(path, resource), str(e))
    return out


class Defaults:
    """What LimitRanges give to containers that do not say it themselves."""

    def __init__(self, requests: Mapping[str, int], limits: Mapping[str, int]) -> None:
        self.requests = {**limits, **requests}


def requests_of(pod: PodBody, defaults: Defaults | None, faults: Faults) -> Amounts:
    """Return what the scheduler counts for the pod, without its pod slot."""
    spec = pod.spec or PodSpecBody()
    given = _given(pod)
    infeasible = _resize_is_infeasible(pod)

    def of(containers: list[ContainerBody] | None, path: str) -> list[tuple[bool, dict[str, int]]]:
        out = []
        for i, c in enumerate(containers or ()):
            asked = _container(c.resources, f"{path}[{i}].resources", defaults, faults)
            status = given.get(c.name or "")
            if status is not None:
                asked = _resized({} if infeasible else asked, status, faults)
            out.append((c.restart_policy == "Always", asked))
        return out

    total, peak = dict[str, int](), dict[str, int]()
    for _, asked in of(spec.containers, "spec.containers"):
        _add(total, asked)
    sidecars: dict[str, int] = {}
    for stays, asked in of(spec.init_containers, "spec.initContainers"):
        if stays:
            _add(total, asked)
            _add(sidecars, asked)
        step = dict(sidecars)
        if not stays:
            _add(step, asked)
        _raise(peak, step)
    _raise(total, peak)
    if spec.resources is not None:
        total.update(_pod_level(spec.resources, total, faults))
    _add(total, amounts(spec.overhead, "spec.overhead", faults))
    total.pop("pods", None)
    return Amounts(total)


def _container(
    resources: ResourcesBody | None, path: str, defaults: Defaults | None, faults: Faults
) -> dict[str, int]:
    """Return the requests; a limit stands for a missing request, then the namespace's default."""
    out: dict[str, int] = {}
    if resources is not None:
        out = amounts(resources.limits, f"{path}.limits", faults)
        out.update(amounts(resources.requests, f"{path}.requests", faults))
    if defaults is not None:
        out = {**defaults.requests, **out}
    return out


def _pod_level(
    resources: ResourcesBody, total: Mapping[str, int], faults: Faults
) -> dict[str, int]:
    asked = amounts(resources.requests, "spec.resources.requests", faults)
    limits = amounts(resources.limits, "spec.resources.limits", faults)
    for r, v in limits.items():
        if r not in asked and r not in total:
            asked[r] = v
    return {r: v for r, v in asked.items() if r in _POD_LEVEL or r.startswith("hugepages-")}


def _given(pod: PodBody) -> dict[str, ContainerStatusBody]:
    """Return the statuses that say what a container was given, by container name."""
    status = pod.status
    if status is None:
        return {}
    both: Iterable[ContainerStatusBody] = (
        *(status.container_statuses or ()),
        *(status.init_container_statuses or ()),
    )
    return {s.name or "": s for s in both if s.resources is not None}


def _resized(asked: dict[str, int], status: ContainerStatusBody, faults: Faults) -> dict[str, int]:
    out = dict(asked)
    path = "status.containerStatuses"
    if status.resources is not None:
        _raise(out, amounts(status.resources.requests, f"{path}.resources.requests", faults))
    _raise(out, amounts(status.allocated_resources, f"{path}.allocatedResources", faults))
    return out


def _resize_is_infeasible(pod: PodBody) -> bool:
    status = pod.status
    if status is None:
        return False
    return status.resize == "Infeasible" or any(
        c.type == "PodResizePending" and c.reason == "Infeasible" for c in status.conditions or ()
    )


def _add(into: dict[str, int], more: Mapping[str, int]) -> None:
    for r, v in more.items():
        into[r] = into.get(r, 0) + v


def _raise(into: dict[str, int], to: Mapping[str, int]) -> None:
    for r, v in to.items():
        if v > into.get(r, 0) or r not in into:
            into[r] = v
