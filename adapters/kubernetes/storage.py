"""Volume claims resolved: where a pod's volumes are or can be made, and who shares them.

Semantics of kube-scheduler's VolumeBinding, VolumeZone, VolumeRestrictions and NodeVolumeLimits.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from ...models import NodeSelectorTerm, PodSpec, Requirement, Volume
from ...models.volume import Sharing
from . import body_storage as body
from .body_pod import PodBody, PodSpecBody, VolumeBody
from .faults import Ledger
from .local_volumes import LocalVolumes, host_of
from .meta import Thing
from .migrated import PROVISIONERS, Sources, driver_of
from .reader import Objects
from .shape import checked
from .sites import Sites, is_free, size_of, size_of_volume, topology_term

_DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class"
_SELECTED_NODE = "volume.kubernetes.io/selected-node"
_PROVISIONED_BY = "pv.kubernetes.io/provisioned-by"
_NO_PROVISIONER = "kubernetes.io/no-provisioner"
_NO_DRIVERS = frozenset(
    (
        "rancher.io/local-path",
        "k8s.io/minikube-hostpath",
        "microk8s.io/hostpath",
        "docker.io/hostpath",
        "k8s-sigs.io/nfs-subdir-external-provisioner",
    )
)
"""Provisioners of plain directories and NFS shares: nodes need no CSI driver for those."""
_ODD_DRIVERS = frozenset(("driver.longhorn.io", "pxd.portworx.com", "topolvm.io"))
"""CSI drivers that do not say so in their names."""
_MANY = frozenset(("ReadWriteMany", "ReadOnlyMany"))


@dataclass(slots=True)
class Storage:
    """The storage objects of the input by name."""

    claims: dict[str, Thing] = field(default_factory=dict)
    sites: Sites = field(default_factory=Sites)
    classes: dict[str, Thing] = field(default_factory=dict)
    topology_keys: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """By CSI driver, what its nodes call their place."""
    bounded: frozenset[str] = frozenset()
    """Namespaces in which ResourceQuotas bound claims."""
    local: LocalVolumes = field(default_factory=LocalVolumes)
    users: Counter[str] = field(default_factory=Counter)
    """How many pods have a claim."""
    ledger: Ledger = field(default_factory=Ledger)
    _specs: dict[tuple[int, tuple[Volume, ...]], tuple[PodSpec, PodSpec]] = field(
        default_factory=dict
    )

    @classmethod
    def of(cls, objects: Objects, ledger: Ledger) -> "Storage":
        keys: dict[str, tuple[str, ...]] = {}
        for thing in objects.of("storage.k8s.io", "CSINode"):
            for driver in drivers_of(thing):
                keys.setdefault(driver.name, tuple(sorted(driver.topology_keys or ())))
        sites = Sites(
            {t.name: t for t in objects.of("", "PersistentVolume")},
            objects.of("storage.k8s.io", "CSIStorageCapacity"),
            {t.name: t for t in objects.of("storage.k8s.io", "CSIDriver")},
            ledger,
        )
        classes = {t.name: t for t in objects.of("storage.k8s.io", "StorageClass")}
        return cls(
            {t.key: t for t in objects.of("", "PersistentVolumeClaim")},
            sites,
            classes,
            keys,
            frozenset(t.namespace for t in objects.of("", "ResourceQuota") if bounds_claims(t)),
            _local_volumes(sites.volumes, classes),
            ledger=ledger,
        )

    def count_users(self, pods: Iterable[Thing]) -> None:
        """Count which of the pods, none of which is over, has which claim."""
        for thing in pods:
            spec = thing.body.spec or PodSpecBody()
            self.users.update({claim_key(thing, v) for v in spec.volumes or ()} - {""})

    def with_volumes(self, thing: Thing, spec: PodSpec) -> PodSpec:
        """Return the spec with the pod's volumes; equal ones stay one object."""
        pod: PodBody = thing.body
        found = [
            v
            for raw in (pod.spec.volumes if pod.spec else None) or ()
            if (v := self._volume(thing, raw)) is not None
        ]
        volumes = tuple(sorted([*found, *(w for v in found for w in self.local.beside(v))]))
        if not volumes:
            return spec
        memo = (id(spec), volumes)
        if memo not in self._specs:
            self._specs[memo] = (spec, msgspec.structs.replace(spec, volumes=volumes))
        return self._specs[memo][1]

    def _volume(self, thing: Thing, raw: VolumeBody) -> Volume | None:
        key = claim_key(thing, raw)
        if not key:
            driver = self._taken_over(raw)
            return Volume(driver=driver) if driver else None
        named = f"PersistentVolumeClaim {key}"
        claim = self.claims.get(key)
        shared = key if self.users[key] > 1 else ""
        if claim is not None:
            if claim.deleted_s is not None:
                return Volume(shared, problem=f"{named} is being deleted; make it anew")
            if raw.ephemeral is not None and not _is_made_for(claim, thing):
                said = f"{named} was not made for {thing.title}; delete it, or rename the volume"
                return Volume(shared, problem=said)
            return self._of_claim(claim, claim.body.spec or body.ClaimSpec(), shared, named)
        if raw.ephemeral is None:
            rejected = self.ledger.refused(named)
            said = "was rejected; correct it" if rejected else "not found; create it"
            return Volume(shared, problem=f"{named} {said}")
        template = raw.ephemeral.get("volumeClaimTemplate") if _is_map(raw.ephemeral) else None
        spec, faults = checked((template or {}).get("spec") or {}, body.ClaimSpec)
        if spec is None:
            return Volume(problem=f"volume {raw.name}: {faults[0][0]} {faults[0][1]}")
        made = self._of_claim(None, spec, "", named)
        if thing.namespace not in self.bounded or made.problem:
            return made
        kind = self._default() if spec.storage_class_name is None else None
        name = spec.storage_class_name or (kind.name if kind is not None else "")
        return msgspec.structs.replace(
            made, made_in=thing.namespace, size=size_of(spec), storage_class=name
        )

    def _of_claim(
        self, claim: Thing | None, spec: body.ClaimSpec, shared: str, named: str
    ) -> Volume:
        sharing = _sharing(spec) if shared else ""
        phase = claim.body.status.phase if claim is not None and claim.body.status else None
        if phase == "Lost":
            return Volume(shared, problem=f"{named} has lost its volume; make it anew")
        if spec.volume_name:
            volume = self.sites.volumes.get(spec.volume_name)
            if volume is None:
                said = f"{named} is bound to PersistentVolume {spec.volume_name}, which is not in "
                return Volume(shared, problem=said + "the input; add it (kubectl get pv)")
            places, driver = self.sites.of_volume(volume)
            driver = driver or self._taken_over(volume.body.spec or body.VolumeSpec())
            return Volume(shared, places, driver, sharing)
        return self._unbound(claim, spec, shared, sharing, named)

    def _unbound(
        self, claim: Thing | None, spec: body.ClaimSpec, shared: str, sharing: Sharing, named: str
    ) -> Volume:
        name = spec.storage_class_name
        kind = self._default() if name is None else self.classes.get(name)
        if kind is None:
            which = f"StorageClass {name}" if name else "a StorageClass"
            where = "is not in the input; add it" if name else "is neither named nor the default"
            return Volume(shared, problem=f"{named} is not bound, and {which} {where}")
        made: body.StorageClass = kind.body
        if made.volume_binding_mode != "WaitForFirstConsumer":
            said = f"{named} is not bound yet, and {kind.title} binds at once: wait for its volume"
            return Volume(shared, problem=said)
        node = claim.annotations.get(_SELECTED_NODE) if claim is not None else None
        chosen = (NodeSelectorTerm(fields=(Requirement("metadata.name", "In", (node,)),)),) if (
            node
        ) else None  # fmt: skip
        places: list[tuple[NodeSelectorTerm, ...]] = [chosen] if chosen else []
        if made.provisioner == _NO_PROVISIONER:
            terms = self.sites.ready_made(kind.name, spec)
            if terms is not None and not terms:
                said = f"{named}: no PersistentVolume of {kind.title} is free and large enough"
                return Volume(shared, problem=said)
            lot = self.local.lot_of(kind.name, size_of(spec))
            return Volume(shared, tuple([*places, *([terms] if terms else [])]), lot, sharing)
        allowed = made.allowed_topologies or ()
        if allowed:
            places.append(tuple(map(topology_term, allowed)))
        driver = self._driver(made.provisioner)
        room = self.sites.with_capacity(kind.name, driver, spec)
        if room is not None:
            places.append(room)
        keys = () if sharing or not shared else self._keys(driver, allowed)
        return Volume(shared, tuple(places), driver, sharing, keys)

    def _default(self) -> Thing | None:
        return default_class(self.classes.values())

    def _keys(self, driver: str, allowed: Iterable[body.TopologyTerm]) -> tuple[str, ...]:
        named = {e.key for t in allowed for e in t.match_label_expressions or ()}
        return tuple(sorted({*self.topology_keys.get(driver, ()), *named}))

    def _taken_over(self, volume: Sources) -> str:
        """Return the driver of an in-tree volume, if any node has it; "": nothing is counted.

        Clusters older than the migration attach such volumes without a driver.
        """
        driver = driver_of(volume)
        return driver if driver in self.topology_keys else ""

    def _driver(self, provisioner: str) -> str:
        """Return the CSI driver of a provisioner; "" if it makes volumes of another kind."""
        if provisioner in PROVISIONERS:
            return PROVISIONERS[provisioner]
        if provisioner in self.sites.drivers or provisioner in self.topology_keys:
            return provisioner
        if provisioner.startswith("kubernetes.io/") or provisioner in _NO_DRIVERS:
            return ""
        known = self.sites.volumes.values()
        made = [t for t in known if t.annotations.get(_PROVISIONED_BY) == provisioner]
        if made:
            return provisioner if any(t.body.spec and t.body.spec.csi for t in made) else ""
        # Nothing shows what it is but its name: most CSI drivers say it in theirs.
        says = "csi" in re.split(r"[./-]", provisioner)
        return provisioner if says or provisioner in _ODD_DRIVERS else ""


def _local_volumes(volumes: Mapping[str, Thing], classes: Mapping[str, Thing]) -> LocalVolumes:
    """Return the free volumes of classes that make none, as far as each is on one host."""
    silent = Sites()  # what is wrong with a volume is said where a pod could have it
    found: dict[str, list[tuple[int, str | None]]] = {}
    for thing in volumes.values():
        kind = thing.body.spec.storage_class_name if thing.body.spec else None
        of = classes.get(kind or "")
        if of is not None and of.body.provisioner == _NO_PROVISIONER and is_free(thing):
            places, _ = silent.of_volume(thing)
            host = host_of(places[0]) if places else None
            found.setdefault(of.name, []).append((size_of_volume(thing), host))
    out = LocalVolumes()
    for kind, those in found.items():
        out.add(kind, those)
    return out


def drivers_of(thing: Thing) -> list[body.NodeDriver]:
    """Return the drivers that a CSINode lists."""
    spec: body.NodeDrivers | None = thing.body.spec
    return (spec.drivers if spec else None) or []


def default_class(classes: Iterable[Thing]) -> Thing | None:
    """Return the newest StorageClass that says it is the default."""
    found = [t for t in classes if t.annotations.get(_DEFAULT_CLASS) == "true"]
    return max(found, key=lambda t: (t.created_s or 0, t.name), default=None)


def bounds_claims(thing: Thing) -> bool:
    hard = (thing.body.spec.hard if thing.body.spec else None) or {}
    return any("persistentvolumeclaims" in k or "storage" in k for k in hard)


def claim_key(thing: Thing, raw: VolumeBody) -> str:
    """Return the key of the claim that a volume of the pod is; "": it is none."""
    claim = raw.persistent_volume_claim
    if _is_map(claim):
        name = claim.get("claimName")
        return f"{thing.namespace}/{name}" if isinstance(name, str) and name else ""
    return f"{thing.namespace}/{thing.name}-{raw.name}" if raw.ephemeral is not None else ""


def _is_made_for(claim: Thing, pod: Thing) -> bool:
    """Say whether the pod controls the claim, as it does those of its ephemeral volumes."""
    owner = claim.owner
    if owner is None or owner.kind != "Pod" or owner.name != pod.name:
        return False
    return not (owner.uid and pod.uid) or owner.uid == pod.uid


def _is_map(value: Any) -> bool:
    return isinstance(value, Mapping)


def _sharing(spec: body.ClaimSpec) -> Sharing:
    modes = frozenset(spec.access_modes or ("ReadWriteOnce",))
    if modes & _MANY:
        return ""
    return "pod" if modes == {"ReadWriteOncePod"} else "node"
