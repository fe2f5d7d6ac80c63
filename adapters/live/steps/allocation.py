"""The ``status.allocation`` of a ResourceClaim, as drivers and kubelets read it.

Follows the allocator of kube-scheduler (KEP-4381): configuration of classes first, then that of the
claim. All devices are those of one node, since only such are planned.
"""

from collections.abc import Iterable, Mapping, Sequence
from uuid import NAMESPACE_OID, uuid5

from ....models import AllocatedDevice
from .writing import Data


def allocation_of(
    claim: Data, devices: Sequence[AllocatedDevice], configs: Mapping[str, list[Data]], node: str
) -> Data:
    """Return what a claim is given.

    Parameters
    ----------
    claim
        The object as the server has it.
    configs
        By DeviceClass, its ``spec.config``.
    """
    asked = asked_for(claim)
    uid = str(claim["metadata"].get("uid"))
    results = [_result(d, asked.get(d.request, {}), f"{uid} {n}") for n, d in enumerate(devices)]
    named = list(dict.fromkeys(d.request for d in devices))
    config = [
        *_of_classes(named, asked, configs),
        *_of_claim(named, claim["spec"].get("devices", {}).get("config") or ()),
    ]
    told: Data = {"results": results, **({"config": config} if config else {})}
    here = {"key": "metadata.name", "operator": "In", "values": [node]}
    selector = {"nodeSelectorTerms": [{"matchFields": [here]}]}
    return {"devices": told, **({"nodeSelector": selector} if results else {})}


def asked_for(claim: Data) -> dict[str, Data]:
    """Return what each request, or alternative of one (``request/alternative``), asks for."""
    out: dict[str, Data] = {}
    for r in claim["spec"].get("devices", {}).get("requests") or ():
        # v1beta1 has what is asked for beside the name.
        out[r["name"]] = r.get("exactly") or r
        out |= {f"{r['name']}/{a['name']}": a for a in r.get("firstAvailable") or ()}
    return out


def _result(d: AllocatedDevice, asked: Data, share: str) -> Data:
    out: Data = {"request": d.request, "driver": d.driver, "pool": d.pool, "device": d.device}
    if d.admin_access:
        out["adminAccess"] = True
    if d.multiple and not d.admin_access:
        # Which of several shares of the device it is: drivers keep their state by it (KEP-5075).
        out["shareID"] = str(uuid5(NAMESPACE_OID, share))
        if d.consumed:
            out["consumedCapacity"] = {name: _quantity(n) for name, n in d.consumed}
    if asked.get("tolerations"):
        out["tolerations"] = asked["tolerations"]
    return out


def _quantity(thousandths: int) -> str:
    whole, rest = divmod(thousandths, 1000)
    return f"{thousandths}m" if rest else str(whole)


def _of_classes(
    named: Iterable[str], asked: Mapping[str, Data], configs: Mapping[str, list[Data]]
) -> Iterable[Data]:
    """Give the configuration of each class once, for all requests that name the class."""
    requests: dict[str, list[str]] = {}
    for name in named:
        requests.setdefault(asked.get(name, {}).get("deviceClassName", ""), []).append(name)
    for kind, names in requests.items():
        for config in configs.get(kind, ()):
            yield {**config, "source": "FromClass", "requests": names}


def _of_claim(named: Iterable[str], config: Iterable[Data]) -> Iterable[Data]:
    """Give the claim's own configuration, but for what is meant for alternatives not taken."""
    known = {n for name in named for n in (name, name.partition("/")[0])}
    for one in config:
        if not one.get("requests") or known & set(one["requests"]):
            yield {**one, "source": "FromClaim"}
