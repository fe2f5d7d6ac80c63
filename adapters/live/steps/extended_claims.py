"""The claim of a pod whose extended resources devices serve (KEP-5004): its object, its uses.

kube-scheduler makes such a claim for its pods, and so does whoever else binds one. The kubelet
finds it, and which container has which devices, in the status of the pod.
"""

import hashlib

from ....models import Allocation, ClaimSpec, Pod
from ...kubernetes.body_pod import PodSpecBody
from ...kubernetes.extended_resources import CLAIM_NAME, OF_EXTENDED, requests_of
from .writing import Data

_LONGEST = 253
"""Of the name of an object (RFC 1123)."""


def name_of(pod: Pod) -> str:
    """Return the name of the claim; always the same, so that a second try finds the first."""
    tail = f"-extended-resources-{hashlib.sha256(pod.uid.encode()).hexdigest()[:8]}"
    return pod.name[: _LONGEST - len(tail)] + tail


def key_of(pod: Pod) -> str:
    """Return ``namespace/name`` of the claim."""
    return f"{pod.namespace}/{name_of(pod)}"


def claim_for(pod: Pod, given: Allocation, api_version: str) -> Data:
    """Return the claim that asks for what the plan gives the pod."""
    owner = {
        "apiVersion": "v1", "kind": "Pod", "name": pod.name, "uid": pod.uid, "controller": True,
    }  # fmt: skip
    return {
        "apiVersion": api_version,
        "kind": "ResourceClaim",
        "metadata": {
            "name": name_of(pod),
            "namespace": pod.namespace,
            "annotations": {OF_EXTENDED: "true"},
            "ownerReferences": [owner],
        },
        "spec": {"devices": {"requests": _requests(pod, given)}},
    }


def asks_alike(claim: Data, pod: Pod, given: Allocation) -> bool:
    """Say whether a claim asks for what the plan gives: on other nodes it may be something else."""
    told = claim["spec"].get("devices", {}).get("requests") or ()
    return [r["name"] for r in told] == [r["name"] for r in _requests(pod, given)]


def status_of(pod: Pod, spec: PodSpecBody, allocation: Data) -> Data:
    """Return the ``status`` of a pod that has a claim of this allocation."""
    served = {r.get("request") for r in allocation.get("devices", {}).get("results") or ()}
    kinds = {r.resource: r.selection for [r] in _asked(pod).requests}
    mappings = [
        {"containerName": u.container, "resourceName": u.resource, "requestName": u.request}
        for u in requests_of(spec, kinds)[1]
        if u.request in served
    ]
    told = {"resourceClaimName": name_of(pod), "requestMappings": mappings}
    return {"extendedResourceClaimStatus": told}


def _requests(pod: Pod, given: Allocation) -> list[Data]:
    served = {d.request for d in given.devices}
    return [
        {"name": r.name, "exactly": {
            "deviceClassName": r.selection, "allocationMode": "ExactCount", "count": r.count}}
        for [r] in _asked(pod).requests
        if r.name in served
    ]  # fmt: skip


def _asked(pod: Pod) -> ClaimSpec:
    [spec] = [c.spec for c in pod.spec.claims if c.name == CLAIM_NAME]
    return spec
