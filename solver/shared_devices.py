"""Shared devices: shares that start are packed anew, so that whole devices come free.

Room on a node is a sum in which eight half-used devices count as four; a held pod of whole devices
sees none. So nodes are chosen by what their devices would hold without the shares that start there,
in turns with nodes where such shares would fit beside others.
"""

from collections.abc import Sequence
from functools import cached_property

from ..models import Pod
from ..policies.device_packing import Devices
from ..policies.device_sizes import uses_devices
from .held import Held, in_turns
from .neighbourhood import Neighbourhood

KINDS = 4
"""Of so many kinds of held pods that ask for devices nodes are looked for."""
NODES = 200
"""The devices of so many nodes are looked at, those with the most shares that start."""
MOST = 8
"""More pods than so many on one node are not told apart."""


class SharedDevices:
    """Nodes whose devices would hold more if the shares that start there went elsewhere."""

    name = "devices"
    turns = 1

    def __init__(self, held: Held) -> None:
        self._held = held
        self._wants = [m for m in held.members if any(uses_devices(p) for p in m.pending)]
        self._moving = {
            i: shares
            for i, pods in held.starting.items()
            if (shares := [p for p in pods if p.spec.share is not None])
        }

    @property
    def size(self) -> int:
        """How many nodes there are to choose from; 0 where no share starts or nobody wants one."""
        return len(self._held.idle) if self._wants and self._moving else 0

    def around(self, size: int, turn: int = 0) -> Neighbourhood:
        """Return the neighbourhood of so many nodes: half to be freed, half to take what moves."""
        del turn
        held = self._held
        return held.around(self._nodes[:size], self._wants, held.later(self._wants))

    @cached_property
    def _nodes(self) -> Sequence[int]:
        held = self._held
        pods = [p for p in held.kinds(self._wants, KINDS) if uses_devices(p)]
        freed = in_turns(*map(self._freed, pods))
        shares: dict[int, Pod] = {id(p.spec): p for of in self._moving.values() for p in of}
        takers = in_turns(*(self._takers(p) for p in list(shares.values())[:KINDS]))
        return in_turns(freed, takers, sorted(self._moving))

    def _states(self, node: int) -> tuple[Devices, Devices]:
        """Return the node's devices as the plan leaves them, and without shares that start."""
        outcome = self._held.outcome
        after = [p for p in outcome.pods_by_node.get(node, ()) if uses_devices(p)]
        moving = {p.key for p in self._moving.get(node, ())}
        of = outcome.scene.nodes[node]
        return Devices.of(of, after), Devices.of(of, [p for p in after if p.key not in moving])

    def _freed(self, pod: Pod) -> list[int]:
        """Return the nodes that take more of the pod without the shares, the most a share first."""
        mask, found = self._held.outcome.scene.mask(pod), list[tuple[float, int]]()
        busiest = sorted(self._moving, key=lambda i: (-len(self._moving[i]), i))[:NODES]
        for i in busiest:
            if mask[i]:
                now, without = (of.copies(pod, MOST) for of in self._states(i))
                if without > now:
                    found.append(((now - without) / len(self._moving[i]), i))
        return [i for _, i in sorted(found)]

    def _takers(self, share: Pod) -> list[int]:
        """Return the nodes with the least idle room that takes the share on a device in use."""
        held, scene = self._held, self._held.outcome.scene
        row, lead = scene.row(share), held.lead(share)
        able = scene.mask(share) & (held.idle >= row).all(axis=1)
        nodes = sorted((int(held.idle[i][lead]), i) for i in able.nonzero()[0].tolist())
        broken = [(idle, i) for idle, i in nodes if idle % 1000]
        return [i for _, i in (*broken, *(of for of in nodes if not of[0] % 1000))]
