"""Topologies: what HyperNodes, Topology objects and node labels make of the nodes.

Requests are resolved against them; only topologies that some request uses go into the snapshot.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ...models import Level, Reason, Topology, TopologyRequest
from .body_topology import TopologyBody
from .faults import Faults, Ledger
from .hypernodes import Tiers, tiers_of
from .meta import Thing
from .nearness import Nearness

HOSTNAME = "kubernetes.io/hostname"
LABELS = "labels"


@dataclass(frozen=True, slots=True)
class _Declared:
    """Levels by labels of nodes, the widest first, and their other names."""

    name: str
    labels: tuple[str, ...]
    alias: dict[str, str]


class Topologies:
    """Every topology of the input."""

    def __init__(
        self,
        hypernodes: Iterable[Thing],
        kai: Iterable[Thing],
        kueue: Iterable[Thing],
        nodes: Sequence[Thing],
        labels: Sequence[str],
        ledger: Ledger,
    ) -> None:
        self._nodes = nodes
        self._ledger = ledger
        self._tiers = tiers_of(hypernodes, nodes, ledger)
        self._kai = [d for t in kai if (d := _declared(t, "kai", ledger)) is not None]
        kueues = [d for t in kueue if (d := _declared(t, "kueue", ledger)) is not None]
        own = [_Declared(LABELS, tuple(labels), {})] if labels else []
        self._any = [*own, *kueues, *self._kai]
        if self._tiers is None and own:
            levels = tuple(labels)
            numbers = tuple(range(len(levels), 0, -1))
            names = dict(zip(levels, numbers, strict=True))
            self._tiers = Tiers(self._made(own[0]), numbers, names)
        self._used: dict[str, Topology] = {}
        self.asked = 0
        """How many requests were resolved or refused."""

    @property
    def used(self) -> list[Topology]:
        """The topologies that requests use."""
        return list(self._used.values())

    def resolve(self, near: Nearness, title: str) -> tuple[TopologyRequest | None, Reason | None]:
        """Return the request in levels of a topology, or why its group must be held."""
        self.asked += 1
        return self._by_tier(near, title) if near.tiers else self._by_label(near, title)

    def _refuse(
        self, near: Nearness, title: str, hard: bool, message: str
    ) -> tuple[TopologyRequest | None, Reason | None]:
        if hard:
            return None, Reason("topology", title, f"{near.path}: {message}")
        self._ledger.warn(title, near.path, f"{message}; it was a wish, so it is passed over")
        return None, None

    def _by_tier(self, near: Nearness, title: str) -> tuple[TopologyRequest | None, Reason | None]:
        tiers = self._tiers
        if tiers is None or not tiers.tiers:
            said = "asks for a network topology, but there are no HyperNodes; add them, or name "
            return self._refuse(near, title, near.hard, said + "levels with --topology-labels")
        levels = tiers.topology.levels
        required = ""
        if near.hard:
            tier = near.tier
            if near.tier_name:
                tier = tiers.names.get(near.tier_name)
                if tier is None:
                    said = f"no HyperNode has the tier name {near.tier_name!r}; correct it"
                    return self._refuse(near, title, True, said)
            assert tier is not None
            allowed = [i for i, t in enumerate(tiers.tiers) if t <= tier]
            if not allowed:
                said = f"no HyperNode is of tier {tier} or lower; the lowest is {tiers.tiers[-1]}"
                return self._refuse(near, title, True, said)
            if tier <= tiers.tiers[0]:  # beyond the highest tier lies the whole cluster
                required = levels[allowed[0]].name
        self._used[tiers.topology.name] = tiers.topology
        return TopologyRequest(tiers.topology.name, required, levels[-1].name), None

    def _by_label(self, near: Nearness, title: str) -> tuple[TopologyRequest | None, Reason | None]:
        hard = bool(near.required)
        found = self._named(near)
        if found is None:
            said = f"there is no Topology {near.topology}; add it to the input"
            return self._refuse(near, title, hard, said)
        alias = found.alias
        required = alias.get(near.required, near.required)
        preferred = alias.get(near.preferred, near.preferred)
        for level in (required, preferred):
            if level and level not in found.labels:
                said = (
                    f"{level} is no level of Topology {near.topology}; its levels are: "
                    f"{', '.join(found.labels)}"
                )
                return self._refuse(near, title, hard and level == required, said)
        if near.fine and not preferred:
            finer = [x for x in found.labels if x != HOSTNAME]
            preferred = finer[-1] if finer else ""
        if found.name not in self._used:
            self._used[found.name] = self._made(found)
        return TopologyRequest(found.name, required, preferred), None

    def _named(self, near: Nearness) -> _Declared | None:
        """Return the topology that is meant: by its name, else the first that has the levels."""
        wanted = [x for x in (near.required, near.preferred) if x]
        if near.topology:
            name = f"kai/{near.topology}"
            return next((d for d in self._kai if d.name == name), None)
        for d in self._any:
            if all(d.alias.get(x, x) in d.labels for x in wanted):
                return d
        # A label that no topology knows is a level of its own.
        return _Declared(f"label {' '.join(wanted)}", tuple(dict.fromkeys(wanted)), {})

    def _made(self, declared: _Declared) -> Topology:
        """Return the topology: a node is in a domain by all its labels down to the level."""
        levels = []
        for depth in range(1, len(declared.labels) + 1):
            domains: dict[str, list[str]] = {}
            for node in self._nodes:
                values = [node.labels.get(k) for k in declared.labels[:depth]]
                if all(v is not None for v in values):
                    domains.setdefault("/".join(map(str, values)), []).append(node.name)
            whole = {d: tuple(sorted(names)) for d, names in domains.items()}
            levels.append(Level(declared.labels[depth - 1], whole))
        return Topology(declared.name, tuple(levels))


def _declared(thing: Thing, dialect: str, ledger: Ledger) -> _Declared | None:
    body: TopologyBody = thing.body
    levels = (body.spec.levels if body.spec else None) or []
    faults = Faults()
    if not levels:
        faults.add("spec.levels", "is empty; name the node labels from the widest level down")
    labels = [x.node_label for x in levels]
    for i, label in enumerate(labels):
        if label in labels[:i]:
            faults.add(
                f"spec.levels[{i}].nodeLabel", f"{label} stands above already; once is enough"
            )
        if label == HOSTNAME and i < len(labels) - 1:
            faults.add(f"spec.levels[{i}].nodeLabel", f"{label} can only be the last level")
    if faults:
        ledger.reject(thing.title, faults)
        return None
    alias = {x.alias: x.node_label for x in levels if x.alias}
    return _Declared(f"{dialect}/{thing.name}", tuple(labels), alias)
