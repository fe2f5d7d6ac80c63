"""Claims of devices (resource.k8s.io): what the plan gives them, and for whom they are reserved.

The kubelet starts a pod only once each of its claims is allocated and reserved for it. Both are
written as one change of the claim's status, for the version that was read.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import msgspec
from msgspec.structs import replace

from ....models import AllocatedDevice, Allocation, GroupKey, Plan, Pod
from ...kubernetes import body_devices as body
from ...kubernetes.device_claims import devices_of
from ...kubernetes.extended_resources import CLAIM_NAME, OF_EXTENDED
from ..access import Api, LostError, RefusedError
from ..binder import ToBind
from ..discovery import Resource
from ..mirror import Kind
from ..prepare import NotReadyError
from . import extended_claims as extended
from .allocation import allocation_of, asked_for
from .waiting import POD, Seen, is_at, split, together
from .writing import Data, is_free, pod_path, read, send, telling, version_of

_GROUP = "resource.k8s.io"
CLAIM: Kind = (_GROUP, "ResourceClaim")
CLASS: Kind = (_GROUP, "DeviceClass")
OF_POD = "resource.kubernetes.io/pod-claim-name"
FINALIZER = "resource.kubernetes.io/delete-protection"
TRIES = 5
"""So often a claim is read anew when somebody else has changed it meanwhile."""
RETRY_S = 1.0


@dataclass(slots=True)
class _Wanted:
    """A claim, the pods that it is to be reserved for, and what it is given if it has nothing."""

    key: str
    pods: list[ToBind]
    given: Allocation | None = None
    extends: Pod | None = None
    """The pod whose extended resources it serves: nobody but the scheduler makes it."""

    @property
    def title(self) -> str:
        return f"ResourceClaim {self.key}"


@dataclass(slots=True)
class _Giving:
    """To whom a device is given."""

    key: str
    version: str = ""
    """Of the claim when it had the device; "" before."""


@dataclass(slots=True)
class Claims:
    """Has the claims of pods allocated and reserved.

    Parameters
    ----------
    resources
        Where the server has the kinds, in the version that it prefers; the feed knows.
    """

    api: Api
    seen: Seen
    resources: Mapping[Kind, Resource]
    _configs: dict[tuple[str, str], list[Data]] = field(default_factory=dict)
    """By class and version of it."""
    _giving: dict[str, _Giving] = field(default_factory=dict)
    """Devices on their way to claims that are not seen to have them yet."""

    def concerns(self, pods: Sequence[ToBind], plan: Plan) -> bool:
        return any(b.pod.spec.claims for b in pods)

    async def prepare(self, group: GroupKey, pods: Sequence[ToBind], plan: Plan) -> None:
        wanted: dict[str, _Wanted] = {}
        for b in pods:
            for name, key in self._keys(b.pod):
                given = _given(plan, b.pod, name, key)
                extends = b.pod if name == CLAIM_NAME else None
                if extends is not None and given is None and not _is_named(b.pod, name):
                    continue  # a device plug-in of the node serves it
                if not key:
                    said = f"pod {b.pod.key} waits for the ResourceClaim {name} to be made"
                    raise NotReadyError(said, RETRY_S)
                w = wanted.setdefault(key, _Wanted(key, []))
                w.pods.append(b)
                w.given = w.given or given
                w.extends = extends
        self._check_free(wanted.values())
        try:
            await together(*(self._hold(w) for w in wanted.values()))
        finally:
            # What was not written is not on its way any more.
            self._giving = {
                d: g for d, g in self._giving.items() if g.version or g.key not in wanted
            }

    async def undo(self, group: GroupKey, pods: Sequence[ToBind]) -> None:
        keys = {key for b in pods for _, key in self._keys(b.pod)}
        self._giving = {d: g for d, g in self._giving.items() if g.key not in keys}
        free = [b for b in pods if b.pod.spec.claims and await is_free(self.api, b)]
        gone: dict[str, set[str]] = {}
        for b in free:
            for _, key in self._keys(b.pod):
                gone.setdefault(key, set()).add(b.pod.uid)
        for key in sorted(gone.keys() - {""}):
            with suppress(RefusedError, LostError, NotReadyError, msgspec.DecodeError):
                await self._let_go(key, gone[key])
        for b in free:
            if any(c.name == CLAIM_NAME for c in b.pod.spec.claims):
                with suppress(RefusedError, LostError, NotReadyError, msgspec.DecodeError):
                    path = self._path(extended.key_of(b.pod))
                    await self._discard(await read(self.api, path), path)

    def _check_free(self, wanted: Iterable[_Wanted]) -> None:
        """Raise NotReadyError if a device is another claim's: no server looks after that."""
        self._giving = {d: g for d, g in self._giving.items() if not self._is_seen(g)}
        has: dict[str, str] = {}
        for entry in self.seen.entries(CLAIM):
            status: body.ClaimStatus | None = entry.thing.body.status
            if status is not None and status.allocation is not None:
                has |= dict.fromkeys(devices_of(status.allocation), entry.thing.key)
        has |= {d: g.key for d, g in self._giving.items()}
        given = [
            (w, d.id)
            for w in wanted
            if w.given
            for d in w.given.devices
            if not d.admin_access and not d.multiple
        ]
        for w, device in given:
            if has.get(device, w.key) != w.key:
                said = f"device {device} is that of ResourceClaim {has[device]} by now"
                raise NotReadyError(f"{w.title}: {said}", RETRY_S)
        self._giving |= {device: _Giving(w.key) for w, device in given}

    def _is_seen(self, g: _Giving) -> bool:
        """Say whether what became of the claim since is seen, so that this counts."""
        entry = self.seen.entry(CLAIM, *split(g.key))
        return bool(g.version) and (entry is None or is_at(entry, g.version))

    def _keys(self, pod: Pod) -> Iterator[tuple[str, str]]:
        """Give each claim of the pod, as it calls it, with its object's key; "": not made yet."""
        for claim in pod.spec.claims:
            key = claim.claim or pod.claim_names.get(claim.name, "")
            if claim.name == CLAIM_NAME:
                yield claim.name, key or extended.key_of(pod)
                continue
            yield claim.name, key or self._made(pod, claim.name)

    def _made(self, pod: Pod, name: str) -> str:
        """Return the claim that was made for the pod since the plan."""
        for entry in self.seen.entries(CLAIM):
            thing, owner = entry.thing, entry.thing.owner
            if owner is not None and owner.uid == pod.uid and thing.annotations.get(OF_POD) == name:
                return thing.key
        return ""

    # Holding

    async def _hold(self, w: _Wanted) -> None:
        """Have the claim allocated as the plan says, and reserved for the pods."""
        about = f"allocating {w.title} for pod {w.pods[0].pod.key}"
        with telling(about):
            for left in reversed(range(TRIES)):
                try:
                    await self._try(w)
                    return
                except RefusedError as e:
                    if e.status != 409 or not left:
                        raise

    async def _try(self, w: _Wanted) -> None:
        path = self._path(w.key)
        claim = await (read(self.api, path) if w.extends is None else self._extending(w, path))
        if claim["metadata"].get("deletionTimestamp"):
            raise NotReadyError(f"{w.title} is being deleted")
        status: Data = claim.get("status") or {}
        change: Data = {}
        if status.get("allocation"):
            _check_same(w, status["allocation"])
        elif w.given is None:
            raise NotReadyError(f"{w.title} has lost its devices", RETRY_S)
        else:
            change["allocation"] = await self._allocation(claim, w.given)
            claim = await self._protected(claim, path)
        before = status.get("reservedFor") or []
        there = {r.get("uid") for r in before}
        more = [_consumer(b.pod) for b in w.pods if b.pod.uid not in there]
        if more:
            change["reservedFor"] = [*before, *more]
        if change:
            claim = await self._write(claim, path, change)
        for giving in self._giving.values():
            if giving.key == w.key:
                giving.version = version_of(claim)
        if w.extends is not None:
            await self._tell(w.extends, claim["status"]["allocation"])

    # Extended resources

    async def _extending(self, w: _Wanted, path: str) -> Data:
        """Return the claim that serves extended resources of a pod; make it if it is not there."""
        assert w.extends is not None
        try:
            claim = await read(self.api, path)
        except RefusedError as e:
            if e.status != 404 or w.given is None:
                raise
            resource = self._where(CLAIM)
            made = extended.claim_for(w.extends, w.given, f"{resource.group}/{resource.version}")
            return await send(self.api, "POST", path.rpartition("/")[0], made)
        has = (claim.get("status") or {}).get("allocation")
        if w.given is None or has or extended.asks_alike(claim, w.extends, w.given):
            return claim
        await self._discard(claim, path)
        raise NotReadyError(f"{w.title} was for another node; it is made anew", RETRY_S)

    async def _tell(self, pod: Pod, allocation: Data) -> None:
        """Write into the status of the pod which container has which devices."""
        entry = self.seen.entry(POD, pod.namespace, pod.name)
        if entry is None or entry.thing.body.spec is None:
            raise NotReadyError(f"pod {pod.key} is gone")
        status = extended.status_of(pod, entry.thing.body.spec, allocation)
        change = {"metadata": {"uid": pod.uid}, "status": status}
        await send(self.api, "PATCH", f"{pod_path(pod)}/status", change)

    async def _discard(self, claim: Data, path: str) -> None:
        """Delete a claim of extended resources that nobody has."""
        if claim["metadata"].get("annotations", {}).get(OF_EXTENDED) != "true":
            return
        there = claim["metadata"].get("finalizers") or []
        if FINALIZER in there:
            rest = [f for f in there if f != FINALIZER]
            meta = {"resourceVersion": version_of(claim), "finalizers": rest or None}
            await send(self.api, "PATCH", path, {"metadata": meta})
        uid = {"preconditions": {"uid": claim["metadata"].get("uid")}}
        await send(self.api, "DELETE", path, uid)

    async def _allocation(self, claim: Data, given: Allocation) -> Data:
        classes = {a.get("deviceClassName", "") for a in asked_for(claim).values()} - {""}
        configs = {name: await self._config(name) for name in sorted(classes)}
        return allocation_of(claim, given.devices, configs, given.node)

    async def _config(self, name: str) -> list[Data]:
        entry = self.seen.entry(CLASS, "", name)
        if entry is None:
            raise NotReadyError(f"DeviceClass {name} is gone")
        if (name, entry.version) not in self._configs:
            found = await read(self.api, self._where(CLASS).path("", name))
            self._configs = {k: v for k, v in self._configs.items() if k[0] != name}
            self._configs[name, entry.version] = found["spec"].get("config") or []
        return self._configs[name, entry.version]

    async def _protected(self, claim: Data, path: str) -> Data:
        """Return the claim once it cannot vanish while it has devices."""
        there = claim["metadata"].get("finalizers") or []
        if FINALIZER in there:
            return claim
        meta = {"resourceVersion": version_of(claim), "finalizers": [*there, FINALIZER]}
        return await send(self.api, "PATCH", path, {"metadata": meta})

    # Letting go

    async def _let_go(self, key: str, uids: set[str]) -> None:
        """Take the reservations back, and the devices where nobody else is to have them."""
        path = self._path(key)
        claim = await read(self.api, path)
        before = (claim.get("status") or {}).get("reservedFor") or []
        rest = [r for r in before if r.get("uid") not in uids]
        if len(rest) == len(before):
            return
        change: Data = {"reservedFor": rest or None}
        if not rest:
            change["allocation"] = None
        await self._write(claim, path, change)

    async def _write(self, claim: Data, path: str, status: Data) -> Data:
        meta = {"uid": claim["metadata"].get("uid"), "resourceVersion": version_of(claim)}
        change = {"metadata": meta, "status": status}
        return await send(self.api, "PATCH", f"{path}/status", change)

    def _path(self, key: str) -> str:
        return self._where(CLAIM).path(*split(key))

    def _where(self, kind: Kind) -> Resource:
        found = self.resources.get(kind)
        if found is None:
            raise NotReadyError(f"the server serves no {kind[1]} any more")
        return found


def _given(plan: Plan, pod: Pod, name: str, key: str) -> Allocation | None:
    """Return what the plan gives the claim; one of several pods is listed with one of them."""
    for a in plan.allocations:
        if (a.pod, a.claim) == (pod.key, name) or a.resource_claim == key:
            return a
    return None


def _is_named(pod: Pod, name: str) -> bool:
    """Say whether the claim had its devices before the plan."""
    return any(c.claim for c in pod.spec.claims if c.name == name)


def _consumer(pod: Pod) -> dict[str, Any]:
    return {"resource": "pods", "name": pod.name, "uid": pod.uid}


def _check_same(w: _Wanted, has: Data) -> None:
    """Raise NotReadyError if the claim has other devices than the plan gives it."""
    if w.given is None:
        return
    results: Iterable[Data] = has.get("devices", {}).get("results") or ()
    there = Counter(
        AllocatedDevice(
            r.get("request", ""), r["driver"], r["pool"], r["device"], bool(r.get("adminAccess"))
        )
        for r in results
    )
    given = Counter(replace(d, multiple=False, consumed=()) for d in w.given.devices)
    if there != given:
        said = ", ".join(sorted(d.id for d in there)) or "none"
        raise NotReadyError(f"{w.title} was allocated by somebody else: it has {said}", RETRY_S)
