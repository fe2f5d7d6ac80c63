"""Amounts of resources, from a mapping of quantities; and what a pod asks for in all.

Σ of the containers and sidecars, at least the highest step of the init containers (each step with
the sidecars started before it), the pod-level amounts instead where given, plus overhead.
Sources: KEP-753 (sidecars), KEP-2837 (pod-level resources), KEP-1287, KEP-5419 (in-place resize).
"""

from collections.abc import Iterable, Mapping
from typing import Any

from ...models import Amounts
from ...models.quantity import parse, parse_signed
from ..paths import below
from .body_pod import (
    ContainerBody,
    ContainerStatusBody,
    PodBody,
    PodSpecBody,
    PodStatusBody,
    ResourcesBody,
)
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
    wanted = [
        [
            (c, _container(c.resources, f"{path}[{i}].resources", defaults, faults))
            for i, c in enumerate(containers or ())
        ]
        for containers, path in (
            (spec.containers, "spec.containers"),
            (spec.init_containers, "spec.initContainers"),
        )
    ]
    given = _given(pod)
    # A resize is one step for all containers: the largest of the sums, not the sum of the largest.
    total = dict[str, int]()
    if not given or not _resize_is_infeasible(pod):
        _raise(total, _sum(*wanted))
    for of in (_allocated, _actual) if given else ():
        _raise(total, _sum(*([(c, of(given, c, a, faults)) for c, a in cs] for cs in wanted)))
    if spec.resources is not None:
        total.update(_pod_level(pod, spec.resources, total, faults))
    _add(total, amounts(spec.overhead, "spec.overhead", faults))
    total.pop("pods", None)
    return Amounts(total)


def steps_of(spec: PodSpecBody) -> list[list[Amounts]]:
    """Return the requests of containers that run at once, step by step.

    First each init container with the sidecars started before it, then all others.
    """
    out: list[list[Amounts]] = []
    sidecars: list[Amounts] = []
    for c in spec.init_containers or ():
        asked = Amounts(_container(c.resources, "", None, Faults()))
        if c.restart_policy == "Always":
            sidecars.append(asked)
        else:
            out.append([*sidecars, asked])
    rest = [Amounts(_container(c.resources, "", None, Faults())) for c in spec.containers or ()]
    return [*out, [*sidecars, *rest]]


def asked_by(container: ContainerBody) -> Mapping[str, int]:
    """Return what one container asks for, in canonical units; what cannot be read is left out."""
    return _container(container.resources, "", None, Faults())


_Asking = list[tuple[ContainerBody, dict[str, int]]]


def _sum(containers: _Asking, before: _Asking) -> dict[str, int]:
    """Return what containers, and the init containers before them, need in all."""
    total, peak, sidecars = dict[str, int](), dict[str, int](), dict[str, int]()
    for _, asked in containers:
        _add(total, asked)
    for c, asked in before:
        step = dict(sidecars)
        _add(step, asked)
        _raise(peak, step)
        if c.restart_policy == "Always":
            _add(total, asked)
            _add(sidecars, asked)
    _raise(total, peak)
    return total


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
    pod: PodBody, resources: ResourcesBody, total: Mapping[str, int], faults: Faults
) -> dict[str, int]:
    """Return what is asked for the pod as a whole; while it is resized, the most of all."""
    asked = amounts(resources.requests, "spec.resources.requests", faults)
    limits = amounts(resources.limits, "spec.resources.limits", faults)
    for r, v in limits.items():
        if r not in asked and r not in total:
            asked[r] = v
    given = _given_to_the_pod(pod.status, faults)
    if given and _resize_is_infeasible(pod):
        asked.update((r, v) for r, v in given.items() if r in asked)
    else:
        _raise(asked, {r: v for r, v in given.items() if r in asked})
    return {r: v for r, v in asked.items() if r in _POD_LEVEL or r.startswith("hugepages-")}


def _given_to_the_pod(status: PodStatusBody | None, faults: Faults) -> dict[str, int]:
    """Return the most of what the kubelet has promised to the pod as a whole, and what it has."""
    if status is None:
        return {}
    given = amounts(status.allocated_resources, "status.allocatedResources", faults)
    actual = status.resources.requests if status.resources is not None else None
    _raise(given, amounts(actual, "status.resources.requests", faults))
    return given


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


_Given = Mapping[str, ContainerStatusBody]


def _allocated(
    given: _Given, c: ContainerBody, asked: dict[str, int], faults: Faults
) -> dict[str, int]:
    """Return what the kubelet has promised; where it says nothing of that, what it has done."""
    status = given.get(c.name or "")
    if status is None or status.allocated_resources is None:
        return _actual(given, c, asked, faults)
    return amounts(
        status.allocated_resources, "status.containerStatuses.allocatedResources", faults
    )


def _actual(
    given: _Given, c: ContainerBody, asked: dict[str, int], faults: Faults
) -> dict[str, int]:
    status = given.get(c.name or "")
    if status is None or status.resources is None:
        return asked
    path = "status.containerStatuses.resources.requests"
    return amounts(status.resources.requests, path, faults)


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
