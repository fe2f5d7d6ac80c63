"""Contended: the nodes that a neighbourhood frees by what it could gain for held work.

Held work is looked at first things first. A node counts for it by what would have to move for a
pod to fit, and what is idle elsewhere by whether victims have freed it: only some may use that, so
it is free room for others that those should leave.
"""

from .held import Held, in_turns
from .neighbourhood import Neighbourhood

KINDS = 12
"""Of so many kinds of held pods nodes are looked for."""


class Contended:
    """All that is held, the nodes where little has to move for it, and later work there."""

    name = "contended"
    turns = 1

    def __init__(self, held: Held) -> None:
        self._held = held
        self._nodes = self._ranked()

    @property
    def size(self) -> int:
        """How many nodes there are to choose from."""
        return len(self._nodes) if self._held.members else 0

    def around(self, size: int, turn: int = 0) -> Neighbourhood:
        """Return the neighbourhood of so many nodes.

        What starts there alone, at later levels than the first of what is held, is free to give way
        to it.
        """
        del turn
        members = self._held.members
        return self._held.around(self._nodes[:size], members, self._held.later(members))

    def _ranked(self) -> list[int]:
        """Return the nodes, those first that promise most: of each kind in turn, and idle ones."""
        held = self._held
        pods = held.kinds(held.members, KINDS)
        first = in_turns(*map(held.could_go, pods), *(held.idlest(p) for p in pods[:1]))
        return list(dict.fromkeys((*first, *sorted(held.starting))))
