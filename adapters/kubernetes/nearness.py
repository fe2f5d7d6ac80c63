"""How near to each other pods ask to be, in the words of each dialect."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import msgspec

from .body_group import (
    NetworkTopologyBody,
    SubGroupBody,
    SubGroupPolicyBody,
    TopologyConstraintBody,
)
from .faults import Faults, Ledger
from .meta import Thing
from .selectors import label_selector


@dataclass(frozen=True, slots=True)
class Nearness:
    """A request before the topologies are known."""

    path: str
    """Where it is written."""
    topology: str = ""
    """Name of a KAI Topology; "": any that has the levels."""
    required: str = ""
    """Label (or alias) of a level."""
    preferred: str = ""
    tiers: bool = False
    """In tiers of HyperNodes instead of labels."""
    hard: bool = False
    tier: int | None = None
    tier_name: str = ""
    fine: bool = False
    """Spread as little as can be at all levels below the required one, hosts aside."""


@dataclass(frozen=True, slots=True)
class Split:
    """A rule that puts pods of a group into subgroups."""

    name: str
    near: Nearness | None
    of: Callable[[Thing], str | None]
    """Name of the pod's subgroup; None: it is in none."""
    policy: bool = False
    """A pod is in the first policy only that takes it."""
    path: str = ""
    size: int = 1
    """How many pods each subgroup needs to be of use."""
    least: int = 0
    """How many subgroups the group needs."""


def tiers_near(
    wish: NetworkTopologyBody | None, path: str, title: str, ledger: Ledger
) -> Nearness | None:
    """Read Volcano's networkTopology; its default mode is hard."""
    if wish is None:
        return None
    hard = wish.mode != "soft"
    if wish.mode not in (None, "", "hard", "soft"):
        ledger.warn(title, f"{path}.mode", f"{wish.mode!r} is unknown; taken as hard")
    name = wish.highest_tier_name or ""
    if wish.highest_tier_allowed is not None and name:
        ledger.warn(
            title, f"{path}.highestTierName", "stands beside highestTierAllowed, which counts"
        )
        name = ""
    if hard and wish.highest_tier_allowed is None and not name:
        ledger.warn(title, path, "is hard, but names no highest tier; taken as soft")
        hard = False
    return Nearness(path, tiers=True, hard=hard, tier=wish.highest_tier_allowed, tier_name=name)


def policy_split(
    policy: SubGroupPolicyBody, path: str, title: str, faults: Faults, ledger: Ledger
) -> Split:
    """Read one of Volcano's subGroupPolicy: pods of a selector, by the values of label keys."""
    name = policy.name or path
    near = tiers_near(policy.network_topology, f"{path}.networkTopology", title, ledger)
    selector = label_selector(policy.label_selector, f"{path}.labelSelector", faults)
    keys = tuple(policy.match_label_keys or ())

    def of(thing: Thing) -> str | None:
        if selector is not None and not selector.matches(thing.labels):
            return None
        values = [thing.labels.get(k) for k in keys]
        if not all(values):
            return None
        return "/".join((name, *map(str, values)))

    size = 1 if policy.sub_group_size is None else policy.sub_group_size
    return Split(name, near, of, True, path, max(1, size), policy.min_sub_groups or 0)


def levels_near(wish: TopologyConstraintBody | None, path: str) -> Nearness | None:
    """Read KAI's topologyConstraint."""
    if wish is None or not (wish.required_topology_level or wish.preferred_topology_level):
        return None
    return Nearness(
        path,
        topology=wish.topology or "",
        required=wish.required_topology_level or "",
        preferred=wish.preferred_topology_level or "",
    )


SUBGROUP = "kai.scheduler/subgroup-name"


def subgroup_splits(subgroups: list[SubGroupBody]) -> list[Split]:
    """Read KAI's subGroups: a pod is in the one that it names and in all above that."""
    parent = {g.name: g.parent for g in subgroups if g.name}

    def within(name: str) -> Callable[[Thing], str | None]:
        def of(thing: Thing) -> str | None:
            at = thing.note(SUBGROUP)
            for _ in range(len(parent) + 1):
                if at == name:
                    return name
                at = parent.get(at) if at is not None else None
            return None

        return of

    out = []
    for i, g in enumerate(subgroups):
        near = levels_near(g.topology_constraint, f"spec.subGroups[{i}].topologyConstraint")
        if g.name and near is not None:
            out.append(Split(g.name, near, within(g.name)))
    return out


@dataclass(frozen=True, slots=True)
class Slices:
    """A pod set that is cut into parts of equal size, by the index of its pods."""

    size: int
    near: Nearness
    index_label: str


def slices_of(thing: Thing, ledger: Ledger) -> list[Slices]:
    """Read Kueue's slices, in one layer or several, and KAI's segments of a pod."""
    if _LAYERS in thing.annotations:
        return _layers_of(thing, ledger)
    one = _slices_of(thing, ledger)
    return [one] if one is not None else []


def _layers_of(thing: Thing, ledger: Ledger) -> list[Slices]:
    """Read slices of slices, the largest first; what cannot be read makes none."""
    path = f'metadata.annotations["{_LAYERS}"]'
    try:
        layers = [
            (r.topology, int(r.size)) for r in _LAYERS_FORM.decode(thing.annotations[_LAYERS])
        ]
    except (msgspec.MsgspecError, ValueError):
        layers = []
    sizes = [size for _, size in layers]
    if not 1 <= len(sizes) <= _MOST_LAYERS or min(sizes) < 1:
        said = 'is no list such as [{"topology": "rack", "size": 8}]; no slices are made'
        ledger.warn(thing.title, path, said)
        return []
    if any(a % b for a, b in pairwise(sizes)):
        said = "has a size that the next one does not divide; slices of both are made"
        ledger.warn(thing.title, path, said)
    label = thing.annotations.get(_INDEX_LABEL, "")
    return [Slices(size, Nearness(path, required=level), label) for level, size in layers]


class _Layer(msgspec.Struct):
    topology: str
    size: int | str


_MOST_LAYERS = 16
"""As many levels a topology of Kueue has at most."""
_LAYERS_FORM = msgspec.json.Decoder(list[_Layer])


def _slices_of(thing: Thing, ledger: Ledger) -> Slices | None:
    notes = thing.annotations
    for size_key, required_key, preferred_key, label_key in _SLICES:
        written = notes.get(size_key)
        required, preferred = notes.get(required_key, ""), notes.get(preferred_key, "")
        if not written and not required:
            continue
        path = f'metadata.annotations["{size_key}"]'
        if not (written and written.isascii() and written.isdigit() and int(written[:9]) > 0):
            ledger.warn(thing.title, path, "is no whole number of 1 or more; no slices are made")
            return None
        if not required and not preferred:
            return None
        near = Nearness(
            path, notes.get(_KAI, "") if size_key.startswith("kai.") else "", required, preferred
        )
        return Slices(int(written[:9]), near, notes.get(label_key, ""))
    return None


_LAYERS = "kueue.x-k8s.io/podset-slice-required-topology-constraints"
_INDEX_LABEL = "kueue.x-k8s.io/pod-group-pod-index-label"
_SLICES = (
    (
        "kueue.x-k8s.io/podset-slice-size", "kueue.x-k8s.io/podset-slice-required-topology",
        "",
        _INDEX_LABEL,
    ),
    (
        "kai.scheduler/segment-size", "kai.scheduler/segment-topology-required-placement",
        "kai.scheduler/segment-topology-preferred-placement", "kai.scheduler/pod-index-label",
    ),
)  # fmt: skip
_KUEUE = "kueue.x-k8s.io/podset-"
_KAI = "kai.scheduler/topology"
_OURS = "apportion.dev/topology-"
_VOLCANO = "volcano.sh/network-topology-"


def noted(thing: Thing, ledger: Ledger) -> Nearness | None:
    """Read the annotations of a group, a pod or its owner that speak for the whole group."""
    notes = thing.annotations
    required, preferred = notes.get(f"{_OURS}required"), notes.get(f"{_OURS}preferred")
    if required or preferred:
        return Nearness(
            'metadata.annotations["apportion.dev/topology-..."]',
            required=required or "", preferred=preferred or "",
        )  # fmt: skip
    required = notes.get(f"{_KAI}-required-placement")
    preferred = notes.get(f"{_KAI}-preferred-placement")
    if required or preferred:
        return Nearness(
            'metadata.annotations["kai.scheduler/topology-..."]', topology=notes.get(_KAI, ""),
            required=required or "", preferred=preferred or "",
        )  # fmt: skip
    mode, tier = notes.get(f"{_VOLCANO}mode"), notes.get(f"{_VOLCANO}highest-tier")
    if mode or tier:
        path = f'metadata.annotations["{_VOLCANO}..."]'
        if tier and not (tier.isascii() and tier.isdigit() and len(tier) < 10):
            ledger.warn(thing.title, path, f"{tier[:40]!r} is no tier; write a whole number")
            tier = None
        wish = NetworkTopologyBody(mode=mode, highest_tier_allowed=int(tier) if tier else None)
        return tiers_near(wish, path, thing.title, ledger)
    return None


def set_name(thing: Thing, role: str) -> str:
    """Return the name of the pod's pod set."""
    return thing.annotations.get(f"{_KUEUE}group-name") or role or "pods"


def pod_set(thing: Thing, role: str) -> tuple[str, Nearness] | None:
    """Read Kueue's annotations of a pod: the name of its pod set, and what that asks for.

    Pods of one role with one request are a pod set; those that name a pod set group are one.
    """
    notes = thing.annotations
    required = notes.get(f"{_KUEUE}required-topology") or ""
    preferred = notes.get(f"{_KUEUE}preferred-topology") or ""
    if not required and not preferred:
        return None
    path = f'metadata.annotations["{_KUEUE}{"required" if required else "preferred"}-topology"]'
    name = set_name(thing, role)
    fine = bool(required) and not preferred
    near = Nearness(path, required=required, preferred=preferred, fine=fine)
    return f"{name} in {required or preferred}", near
