"""Volumes of claims that wait for their first consumer: made where the pod goes, or chosen there.

A provisioner is told the node by an annotation of the claim, and takes it away again where it
fails. Of classes without provisioner the smallest volume that fits is given to the claim. The
protocol is that of kube-scheduler's VolumeBinding plug-in; unlike it, what was begun is taken back.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

import msgspec

from ....models import GroupKey, Node, Plan
from ...kubernetes import body_storage as body
from ...kubernetes.meta import Thing
from ...kubernetes.sites import Sites, size_of, size_of_volume
from ...kubernetes.storage import claim_key, default_class
from ..access import Api, LostError, RefusedError
from ..binder import ToBind
from ..mirror import Entry, Kind
from ..prepare import NotReadyError
from .waiting import POD, Means, Seen, Waiting, check_there, is_at, split, together
from .writing import Data, is_free, read, send, telling, version_of

CLAIM: Kind = ("", "PersistentVolumeClaim")
VOLUME: Kind = ("", "PersistentVolume")
CLASS: Kind = ("storage.k8s.io", "StorageClass")
SELECTED_NODE = "volume.kubernetes.io/selected-node"
BOUND_BY_CONTROLLER = "pv.kubernetes.io/bound-by-controller"
NO_PROVISIONER = "kubernetes.io/no-provisioner"
MADE_S = 30.0
"""The claim of a generic ephemeral volume is made by a controller within this time."""
RETRY_S = 1.0


@dataclass(slots=True)
class _Wanted:
    """A claim that has to be bound before its pods are."""

    key: str
    entry: Entry
    pods: list[ToBind]
    version: str = ""
    """Of what was written: the claim where a node was selected, else the volume."""
    volume: str = ""
    """The volume that it was given."""

    @property
    def title(self) -> str:
        return f"PersistentVolumeClaim {self.key}"

    @property
    def path(self) -> str:
        namespace, name = split(self.key)
        return f"/api/v1/namespaces/{namespace}/persistentvolumeclaims/{name}"

    @property
    def spec(self) -> body.ClaimSpec:
        return self.entry.thing.body.spec or body.ClaimSpec()


@dataclass(slots=True)
class Volumes:
    """Has the volumes of pods bound.

    Parameters
    ----------
    most_s
        How long a volume may take, in seconds.
    """

    api: Api
    seen: Seen
    means: Means = field(default_factory=Means)
    most_s: float = 600.0
    _given: dict[str, str] = field(default_factory=dict)
    """By claim that is being bound, the volume that was given to it."""
    _begun: list[_Wanted] = field(default_factory=list)
    """What is not done yet, or has failed and is not taken back yet."""

    def concerns(self, pods: Sequence[ToBind], plan: Plan) -> bool:
        return any(True for b in pods for _ in self._unbound(b))

    async def prepare(self, group: GroupKey, pods: Sequence[ToBind], plan: Plan) -> None:
        for b in pods:
            await self._ephemeral(b)
        wanted = sorted(self._wanted(pods), key=lambda w: (size_of(w.spec), w.key))
        self._begun += wanted
        try:
            await together(*(self._begin(w) for w in wanted))
            await self._all_bound(wanted)
        finally:
            for w in wanted:
                self._given.pop(w.key, None)
        self._forget(wanted)

    async def undo(self, group: GroupKey, pods: Sequence[ToBind]) -> None:
        uids = {b.pod.uid for b in pods}
        failed = [w for w in self._begun if any(b.pod.uid in uids for b in w.pods)]
        self._forget(failed)
        for w in failed:
            if all([await is_free(self.api, b) for b in w.pods]):
                with suppress(RefusedError, LostError, msgspec.DecodeError):
                    await self._take_back(w)

    def _forget(self, done: Iterable[_Wanted]) -> None:
        ids = {id(w) for w in done}
        self._begun = [w for w in self._begun if id(w) not in ids]

    # What is wanted

    def _claims(self, b: ToBind) -> Iterator[str]:
        """Give the keys of the pod's claims."""
        if not b.pod.spec.volumes:
            return
        entry = self.seen.entry(POD, b.pod.namespace, b.pod.name)
        spec = entry.thing.body.spec if entry is not None else None
        for raw in (spec.volumes if spec is not None else None) or ():
            key = claim_key(entry.thing, raw) if entry is not None else ""
            if key:
                yield key

    def _unbound(self, b: ToBind) -> Iterator[str]:
        for key in self._claims(b):
            entry = self.seen.entry(CLAIM, *split(key))
            if entry is None or not _is_bound(entry.thing):
                yield key

    def _wanted(self, pods: Iterable[ToBind]) -> list[_Wanted]:
        """Return the claims that are there and not bound, each with its pods."""
        found: dict[str, _Wanted] = {}
        for b in pods:
            for key in self._unbound(b):
                entry = self.seen.entry(CLAIM, *split(key))
                if entry is None:
                    raise NotReadyError(f"PersistentVolumeClaim {key} of pod {b.pod.key} is gone")
                found.setdefault(key, _Wanted(key, entry, [])).pods.append(b)
        return list(found.values())

    async def _ephemeral(self, b: ToBind) -> None:
        """Wait for the claims of the pod to be there; those of ephemeral volumes are its own."""
        waiting = Waiting(self.seen, self.means)
        entry = self.seen.entry(POD, b.pod.namespace, b.pod.name)
        spec = entry.thing.body.spec if entry is not None else None
        for raw in (spec.volumes if spec is not None else None) or ():
            if raw.ephemeral is None or entry is None:
                continue
            key = claim_key(entry.thing, raw)

            def made(key: str = key) -> Entry | None:
                check_there(self.seen, b)
                return self.seen.entry(CLAIM, *split(key))

            claim = await waiting.until(made, (POD, CLAIM), MADE_S)
            title = f"PersistentVolumeClaim {key}"
            if claim is None:
                raise NotReadyError(f"{title} of pod {b.pod.key} is not made yet", RETRY_S)
            owner = claim.thing.owner
            if owner is None or owner.uid != b.pod.uid:
                said = "is not its own; delete the claim or rename the pod"
                raise NotReadyError(f"{title}, which pod {b.pod.key} needs, {said}")

    # Beginning

    async def _begin(self, w: _Wanted) -> None:
        kind = self._class_of(w)
        if kind.body.provisioner == NO_PROVISIONER:
            await self._give(w, kind.name)
        else:
            await self._select(w)

    def _class_of(self, w: _Wanted) -> Thing:
        name = w.spec.storage_class_name
        if name is None:
            found = default_class(e.thing for e in self.seen.entries(CLASS))
        else:
            entry = self.seen.entry(CLASS, "", name)
            found = entry.thing if entry is not None else None
        if found is None:
            raise NotReadyError(f"{w.title} is not bound, and its StorageClass is gone")
        return found

    async def _select(self, w: _Wanted) -> None:
        """Tell the provisioner where the volume is to be usable."""
        node, before = w.pods[0].node, w.entry.thing.annotations.get(SELECTED_NODE)
        if before not in (None, node):
            raise NotReadyError(f"the volume of {w.title} is being made for node {before}", RETRY_S)
        if before == node:
            w.version = w.entry.version
            return
        with telling(f"selecting node {node} for {w.title}"):
            written = await self._annotate(w, w.entry.version, node)
        w.version = version_of(written)

    async def _annotate(self, w: _Wanted, version: str, node: str | None) -> Data:
        meta = {
            "uid": w.entry.uid, "resourceVersion": version, "annotations": {SELECTED_NODE: node},
        }  # fmt: skip
        return await send(self.api, "PATCH", w.path, {"metadata": meta})

    async def _give(self, w: _Wanted, kind: str) -> None:
        """Give the claim the smallest volume of the class that it can use on the node."""
        host, node = w.pods[0].host, w.pods[0].node
        given = [e for e in self.seen.entries(VOLUME) if self._is_given(e.thing, w)]
        sites, taken = Sites(), set(self._given.values())
        free = given or [
            e
            for e in self.seen.entries(VOLUME)
            if e.thing.name not in taken
            and sites.suits(e.thing, kind, w.spec)
            and (host is None or is_usable(sites, e.thing, host))
        ]
        if not free:
            said = f"no PersistentVolume of StorageClass {kind} that node {node} can use is free"
            raise NotReadyError(f"{w.title}: {said} and large enough")
        chosen = min(free, key=lambda e: (size_of_volume(e.thing), e.thing.name))
        w.volume = chosen.thing.name
        self._given[w.key] = w.volume
        if given:
            w.version = chosen.version
            return
        with telling(f"giving PersistentVolume {w.volume} to {w.title}"):
            written = await self._patch_volume(w, chosen)
        w.version = version_of(written)

    def _is_given(self, volume: Thing, w: _Wanted) -> bool:
        ref = volume.body.spec.claim_ref if volume.body.spec else None
        if ref is None or (ref.namespace, ref.name) != split(w.key):
            return False
        return ref.uid in (None, "", w.entry.uid)

    async def _patch_volume(self, w: _Wanted, volume: Entry) -> Data:
        namespace, name = split(w.key)
        claim = {
            "apiVersion": "v1", "kind": "PersistentVolumeClaim", "namespace": namespace,
            "name": name, "uid": w.entry.uid, "resourceVersion": w.entry.version,
        }  # fmt: skip
        meta = {
            "uid": volume.uid, "resourceVersion": volume.version,
            "annotations": {BOUND_BY_CONTROLLER: "yes"},
        }  # fmt: skip
        change = {"metadata": meta, "spec": {"claimRef": claim}}
        return await send(self.api, "PATCH", _path(volume.thing.name), change)

    # Waiting

    async def _all_bound(self, wanted: Sequence[_Wanted]) -> None:
        """Wait until the claims are bound to volumes that the nodes can use."""
        left = list(wanted)

        def done() -> bool | None:
            left[:] = [w for w in left if not self._is_done(w)]
            return True if not left else None

        kinds = (POD, CLAIM, VOLUME)
        if await Waiting(self.seen, self.means).until(done, kinds, self.most_s) is None:
            w = left[0]
            by = f"PersistentVolume {w.volume}" if w.volume else "its provisioner"
            raise NotReadyError(f"{w.title} is not bound after {self.most_s:g} s; look at {by}")

    def _is_done(self, w: _Wanted) -> bool:
        """Say whether the claim is bound, and to a volume that the node can use."""
        bound = self._look(w)
        if bound is None:
            return False
        entry = self.seen.entry(VOLUME, "", bound)
        host = w.pods[0].host
        if entry is not None and host is not None and not is_usable(Sites(), entry.thing, host):
            said = f"{w.title} is bound to PersistentVolume {bound}, which node {host.name} "
            raise NotReadyError(said + "cannot use")
        return True

    def _look(self, w: _Wanted) -> str | None:
        """Return the volume that the claim is bound to; None: it is not yet."""
        for b in w.pods:
            check_there(self.seen, b)
        entry = self.seen.entry(CLAIM, *split(w.key))
        if entry is None or entry.uid != w.entry.uid:
            raise NotReadyError(f"{w.title} is gone")
        if _is_bound(entry.thing):
            return str(entry.thing.body.spec.volume_name)
        node = w.pods[0].node
        if w.volume:
            volume = self.seen.entry(VOLUME, "", w.volume)
            if volume is None or (is_at(volume, w.version) and not self._is_given(volume.thing, w)):
                raise NotReadyError(f"PersistentVolume {w.volume} was taken from {w.title} again")
        elif is_at(entry, w.version) and entry.thing.annotations.get(SELECTED_NODE) != node:
            said = f"its provisioner could not make the volume of {w.title} for node {node}"
            raise NotReadyError(f"{said}; see the events of the claim")
        return None

    # Taking back

    async def _take_back(self, w: _Wanted) -> None:
        """Take back what was written, as it is now at the server; a bound claim keeps it."""
        claim = await read(self.api, w.path)
        if claim["metadata"].get("uid") != w.entry.uid or claim["spec"].get("volumeName"):
            return
        if claim["metadata"].get("annotations", {}).get(SELECTED_NODE) == w.pods[0].node:
            await self._annotate(w, version_of(claim), None)
        if not w.volume:
            return
        given = await read(self.api, _path(w.volume))
        ref = given["spec"].get("claimRef") or {}
        if ref.get("uid") == w.entry.uid:
            meta = {
                "resourceVersion": version_of(given),
                "annotations": {BOUND_BY_CONTROLLER: None},
            }  # fmt: skip
            change = {"metadata": meta, "spec": {"claimRef": None}}
            await send(self.api, "PATCH", _path(w.volume), change)


def _path(volume: str) -> str:
    return f"/api/v1/persistentvolumes/{volume}"


def _is_bound(claim: Thing) -> bool:
    spec, status = claim.body.spec, claim.body.status
    return bool(spec and spec.volume_name and status and status.phase == "Bound")


def is_usable(sites: Sites, volume: Thing, node: Node) -> bool:
    """Say whether the volume can be used on the node, by its affinity and its zone."""
    places, _ = sites.of_volume(volume)
    return all(any(t.matches(node.labels, node.name) for t in terms) for terms in places)
