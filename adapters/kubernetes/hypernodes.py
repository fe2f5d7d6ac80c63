"""HyperNodes: Volcano's domains of nodes, each of a tier, as levels of one topology.

At tier t a node's domain is its widest HyperNode of a tier of at most t: two nodes share a
HyperNode of such a tier exactly where they share that one.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ...models import Level, Topology
from .body_pod import SelectorBody
from .body_topology import HyperNode, HyperNodeMember, HyperNodeSpec
from .faults import Faults, Ledger
from .meta import Thing
from .name_patterns import NamePattern
from .selectors import label_selector
from .shape import shaped

NAME = "hypernodes"


@dataclass(frozen=True, slots=True)
class Tiers:
    """The topology that HyperNodes make, with the tier of each level, the widest first."""

    topology: Topology
    tiers: tuple[int, ...]
    names: Mapping[str, int]
    """Tiers by their names."""


def tiers_of(things: Iterable[Thing], nodes: Iterable[Thing], ledger: Ledger) -> Tiers | None:
    """Return the tiers of the HyperNodes; None where there are none."""
    return _Reader(things, nodes, ledger).read()


class _Reader:
    def __init__(self, things: Iterable[Thing], nodes: Iterable[Thing], ledger: Ledger) -> None:
        self._ledger = ledger
        self._nodes = {n.name: n for n in nodes}
        self._specs: dict[str, HyperNodeSpec] = {}
        self._faults: dict[str, Faults] = {}
        for thing in sorted(things, key=lambda t: t.name):
            body: HyperNode = thing.body
            self._specs[thing.name] = body.spec or HyperNodeSpec()
            self._faults[thing.name] = Faults()
        self._found: dict[str, frozenset[str]] = {}

    def read(self) -> Tiers | None:
        for name in self._specs:
            self._nodes_of(name, ())
        laminar = self._nested()
        for name, faults in self._faults.items():
            self._ledger.reject(f"HyperNode {name}", faults)
        if not self._specs:
            return None
        tiers = sorted({self._specs[name].tier for name in laminar}, reverse=True)
        named: dict[str, int] = {}
        for name in laminar:
            word = self._specs[name].tier_name
            if word and named.setdefault(word, self._specs[name].tier) != self._specs[name].tier:
                said = f"{word!r} names tier {named[word]} elsewhere; that one counts"
                self._ledger.warn(f"HyperNode {name}", "spec.tierName", said)
        words = {t: w for w, t in sorted(named.items(), reverse=True)}
        levels = tuple(Level(words.get(t, f"tier {t}"), self._domains(laminar, t)) for t in tiers)
        return Tiers(Topology(NAME, levels), tuple(tiers), named)

    def _domains(self, laminar: Iterable[str], tier: int) -> dict[str, tuple[str, ...]]:
        """Return the widest HyperNodes of at most this tier, with their nodes."""
        some = [n for n in laminar if self._specs[n].tier <= tier and self._found[n]]
        some.sort(key=lambda n: (-len(self._found[n]), -self._specs[n].tier, n))
        taken: set[str] = set()
        out: dict[str, tuple[str, ...]] = {}
        for name in some:
            if taken.isdisjoint(self._found[name]):
                taken |= self._found[name]
                out[name] = tuple(sorted(self._found[name]))
        return out

    def _nested(self) -> list[str]:
        """Return the HyperNodes that lie one in the other or apart; reject what cuts across."""
        kept: list[str] = []
        order = sorted(self._found, key=lambda n: (self._specs[n].tier, n))
        for name in order:
            mine = self._found[name]
            across = [
                k
                for k in kept
                if not mine.isdisjoint(self._found[k])
                and not (mine <= self._found[k] or mine >= self._found[k])
            ]
            if across:
                shared = sorted(mine & self._found[across[0]])[0]
                self._faults[name].add(
                    "spec.members",
                    f"shares node {shared}, but not all its nodes, with HyperNode {across[0]}; "
                    "a node lies in one HyperNode of each tier, correct one of them",
                )
            else:
                kept.append(name)
        return kept

    def _nodes_of(self, name: str, above: tuple[str, ...]) -> frozenset[str]:
        """Return the nodes in the HyperNode and in all below it."""
        if name in self._found:
            return self._found[name]
        faults = self._faults[name]
        if name in above:
            circle = " in ".join(above[above.index(name) :])
            faults.add("spec.members", f"lies in itself: {circle}; take it out of one of them")
            return frozenset()
        out: set[str] = set()
        members = self._specs[name].members or []
        if not members:
            faults.add("spec.members", "is empty; name at least one member")
        for i, member in enumerate(members):
            out |= self._member(name, member, f"spec.members[{i}]", faults, (*above, name))
        self._found[name] = frozenset() if faults else frozenset(out)
        return self._found[name]

    def _member(
        self, own: str, member: HyperNodeMember, path: str, faults: Faults, above: tuple[str, ...]
    ) -> set[str]:
        selector = member.selector
        given = [
            s for s in (selector.exact_match, selector.regex_match, selector.label_match)
            if s is not None
        ]  # fmt: skip
        if len(given) != 1:
            said = "needs exactly one of exactMatch, regexMatch and labelMatch"
            faults.add(f"{path}.selector", said)
            return set()
        known: Iterable[str] = self._nodes if member.type == "Node" else self._specs
        if selector.label_match is not None:
            if member.type != "Node":
                faults.add(f"{path}.selector.labelMatch", "selects nodes only; name HyperNodes")
                return set()
            return self._by_label(selector.label_match, f"{path}.selector.labelMatch", faults)
        if selector.exact_match is not None:
            names = [selector.exact_match.name]
            if names[0] not in known:
                said = f"{member.type} {names[0]} is not in the input; it counts for nothing"
                self._ledger.warn(f"HyperNode {own}", path, said)
                return set()
        else:
            assert selector.regex_match is not None
            at = f"{path}.selector.regexMatch.pattern"
            try:
                pattern = NamePattern(selector.regex_match.pattern)
            except ValueError as e:
                faults.add(at, str(e))
                return set()
            names = [n for n in known if n != own and pattern.finds(n)]
        if member.type == "Node":
            return set(names)
        return {node for n in names for node in self._nodes_of(n, above)}

    def _by_label(self, data: object, path: str, faults: Faults) -> set[str]:
        body, found = shaped(data, SelectorBody)
        faults.extend(found, under=path)
        chosen = label_selector(body, path, faults)
        if chosen is None:
            return set()
        return {n.name for n in self._nodes.values() if chosen.matches(n.labels)}
