"""One domain: a rack, block or HyperNode that a held group must share, or wishes to.

All that starts in it is chosen anew together with the held groups that look at its level, whatever
their order: floors keep earlier work. Beside the domain, nodes with idle room are free for what
moves out.
"""

from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np

from ..policies.bonds import Layer
from ..policies.members import Members
from .held import Held, in_turns
from .neighbourhood import Neighbourhood

GROUPS = 6
"""Domains are looked for on behalf of so many held groups, first things first."""
DOMAINS = 3
"""So many for each of them."""


class OneDomain:
    """The domains that would take a held group if little moved, one a turn."""

    name = "domain"

    def __init__(self, held: Held) -> None:
        self._held = held
        bonds = held.outcome.scene.bonds
        self._tied = [m for m in held.members if bonds.of_group(m.key)] if bonds else []

    @cached_property
    def _found(self) -> Sequence[tuple[Layer, int]]:
        """The domains, the most promising first, each once."""
        each = [self._domains(m) for m in self._tied[:GROUPS]]
        numbers = {(id(layer), d): (layer, d) for of in each for layer, d in of}
        keys = [[(id(layer), d) for layer, d in of] for of in each]
        return [numbers[k] for k in in_turns(*keys)]

    @property
    def turns(self) -> int:
        """How many domains there are to choose from."""
        return len(self._found)

    @property
    def size(self) -> int:
        """How many nodes there are to choose from."""
        return len(self._held.idle) if self._found else 0

    def around(self, size: int, turn: int = 0) -> Neighbourhood:
        """Return the neighbourhood of a domain: its nodes, and idle ones to make up the number."""
        held = self._held
        layer, domain = self._found[turn]
        members = [m for m in self._tied if any(x is layer for x in self._layers(m))]
        pods = held.kinds(members, 1)
        inside = layer.numbers == domain
        mine = [i for p in pods for i in held.could_go(p) if inside[i]]
        mine += np.flatnonzero(inside).tolist()
        others = [i for p in pods for i in held.idlest(p) if not inside[i]]
        nodes = list(dict.fromkeys((*mine, *others)))[:size]
        there = {g for g, at in held.nodes_of.items() if any(inside[i] for i in at)}
        return held.around(nodes, members, there | held.later(members))

    def _layers(self, m: Members) -> Iterator[Layer]:
        for bond in self._held.outcome.scene.bonds.of_group(m.key):
            if bond.required is not None:
                yield bond.required
            yield from bond.wished

    def _domains(self, m: Members) -> list[tuple[Layer, int]]:
        """Return the domains with room for the group if what starts were gone, idle ones first."""
        held, asks = self._held, self._held.asks(m)
        out: list[tuple[float, int, int, Layer]] = []
        pod = held.kinds([m], 1)
        lead = held.lead(pod[0]) if pod else 0
        for n, layer in enumerate(self._layers(m)):
            for d in range(len(layer.domains)):
                at = np.flatnonzero(layer.numbers == d)
                idle, movable = held.idle[at].sum(axis=0), held.movable[at].sum(axis=0)
                if (asks <= idle + movable).all():
                    missing = max(0.0, float(asks[lead]) - float(idle[lead]))
                    out.append((missing, n, d, layer))
        found = sorted(out, key=lambda of: of[:3])[:DOMAINS]
        return [(layer, d) for _, _, d, layer in found]
