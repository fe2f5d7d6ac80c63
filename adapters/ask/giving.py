"""Giving: whether givers, were they gone, would leave a group its room, told by counting."""

from collections import Counter
from collections.abc import Mapping, Sequence

from ...models import GroupKey, Pod, QueueName
from ...policies.evictable import given_up
from ...policies.exchange import wanted
from ...policies.givers import Giver
from ...policies.ledger import Matrix, copies_by_room
from ...policies.limits import limits_of
from ...policies.outcome import Outcome


class Giving:
    """Counts each kind of the pods that a group wants by itself: a no is certain, a yes is not."""

    def __init__(self, outcome: Outcome, key: GroupKey) -> None:
        self._outcome = outcome
        scene, m = outcome.scene, outcome.scene.roster[key]
        self._path = scene.tree.path(m.group.queue)
        # What runs of a group that is given up has its room, or not, by what else is decided.
        self._choices = () if given_up(scene, m) else tuple(wanted(outcome, key))

    def suffices(self, givers: Sequence[Giver]) -> bool:
        """Say whether their going could make the room, on nodes and in queues."""
        scene, places = self._outcome.scene, self._outcome.places
        room = self._outcome.room.copy()
        freed = {q: scene.ledger.zero() for q in self._path}
        for s in givers:
            rows = scene.rows(s.pods)
            for q in scene.tree.path(scene.snapshot.group(s.group).queue):
                if q in freed:
                    freed[q] = freed[q] + rows
            for p in s.pods:
                at = places.get(p.key, p.node)
                if at in scene.index:
                    room[scene.index[at]] += scene.row(p)
        return not self._choices or any(
            self._within(pods, freed) and self._fits(pods, room) for pods in self._choices
        )

    def _within(self, pods: Sequence[Pod], freed: Mapping[QueueName, Matrix]) -> bool:
        scene = self._outcome.scene
        limits, ask = limits_of(scene), scene.rows(pods)
        return all(
            most is None or not ask[r]
            or int(self._outcome.use_after[q][r]) - int(freed[q][r]) + int(ask[r]) <= most
            for q in self._path
            for r, most in enumerate(limits.limit[q])
        )  # fmt: skip

    def _fits(self, pods: Sequence[Pod], room: Matrix) -> bool:
        scene = self._outcome.scene
        asked = Counter(id(p.spec) for p in pods)
        samples = {id(p.spec): p for p in pods}
        return all(
            int(copies_by_room(room, scene.row(p), scene.mask(p)).sum()) >= asked[k]
            for k, p in samples.items()
        )
