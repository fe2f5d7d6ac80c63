"""Devices, classes and claims as Kubernetes objects, for tests."""

from typing import Any

from kubernetes_objects import Data, obj, pod

API = "resource.k8s.io/v1"
CLASS = "gpu.nvidia.com"
GPU = "nvidia.com/gpu"


def kind(name: str = CLASS, expression: str | None = None, **spec: Any) -> Data:
    cel = {"cel": {"expression": expression or f'device.driver == "{CLASS}"'}}
    return obj(API, "DeviceClass", name, None, spec={"selectors": [cel], **spec})


def slice_of(on: str | None, *devices: Any, **more: Any) -> Data:
    told = [{"name": d} if isinstance(d, str) else d for d in devices]
    pool = {"name": on or "net", "generation": 1, "resourceSliceCount": 1, **more.pop("pool", {})}
    where = {"nodeName": on} if on else {"allNodes": True}
    name = more.pop("name", f"{on}-{CLASS}")
    spec = {"driver": CLASS, "pool": pool, **where, "devices": told, **more}
    return obj(API, "ResourceSlice", name, None, spec=spec)


def exactly(count: int | None = None, name: str = "r", **more: Any) -> Data:
    asked = {"deviceClassName": CLASS, **({"count": count} if count is not None else {}), **more}
    return {"name": name, "exactly": asked}


def claim(name: str = "c", *requests: Data, status: Data | None = None, **devices: Any) -> Data:
    asked = {"requests": list(requests) or [exactly()], **devices}
    return obj(API, "ResourceClaim", name, spec={"devices": asked}, status=status or {})


def allocated(*devices: str, on: str = "n1") -> Data:
    results = [{"request": "r", "driver": CLASS, "pool": on, "device": d} for d in devices]
    terms = [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": [on]}]}]
    return {"allocation": {"devices": {"results": results},
                           "nodeSelector": {"nodeSelectorTerms": terms}}}  # fmt: skip


def uses(name: str = "p", *claims: str, **more: Any) -> Data:
    asked = [{"name": c, "resourceClaimName": c} for c in claims or ("c",)]
    return pod(name, resourceClaims=asked, **more)


def ids(*names: str, on: str = "n1") -> tuple[str, ...]:
    return tuple(f"{CLASS}/{on}/{n}" for n in names)
