"""From changed objects to the next snapshot, at a cost that follows what has changed.

docs/design/live-mirror.md says how. The outcome is what a fresh reading of all objects gives.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import NamedTuple

from msgspec.structs import replace

from ...models import Group, Node, Pod, PodKey, PodState, Snapshot, snapshot_of
from ..kubernetes.door import warn_of_missing_nodes
from ..kubernetes.faults import Book
from ..kubernetes.groups import foreign_pods
from ..kubernetes.meta import Thing
from ..kubernetes.options import ReadOptions
from ..kubernetes.part_charges import Charged, charges_of, names_gpus
from .backdrop import Backdrop
from .books import Books
from .covered import CoveredPods
from .families import Families
from .ordered import Ordered
from .readings import Readings
from .shelves import POD, Kind, Name, Shelves, complain


class ReadAgain(NamedTuple):
    """How much the last snapshot has read again."""

    pods: int
    families: int


class Increments:
    """Makes snapshots of the objects on the shelves."""

    def __init__(self, objects: Shelves, options: ReadOptions) -> None:
        self._objects = objects
        self._options = options
        self._books = Books()
        self._backdrop = Backdrop(objects, options, self._books)
        self.readings = Readings(self._backdrop, self._books)
        self._families = Families(self._backdrop, self.readings, self._books)
        self._budgets = CoveredPods(self._backdrop, self._books)
        self._foreign: dict[Name, Pod] = {}
        self._pods: Ordered[Pod] = Ordered()
        self._groups: Ordered[Group] = Ordered()
        self._promised: dict[str, Pod] = {}
        self._holding: Counter[str] = Counter()
        """By node, how many pods hold room there."""
        self._nodes: tuple[Node, ...] = ()
        self._charges: Mapping[str, int] = {}
        self._charged: Charged | None = None
        self._names_gpus: bool | None = None
        self._moment_s = -1
        self.read_again = ReadAgain(0, 0)

    def snapshot(self, now_s: int) -> Snapshot:
        """Return the snapshot of this moment. If it raises, nothing of this object is usable."""
        touched, self._objects.touched = self._objects.touched, {}
        self._complain(touched)
        backdrop, readings = self._backdrop, self.readings
        concerned = readings.note(touched.get(POD, ()))
        refusing = readings.refusing.values()
        causes = backdrop.refresh(now_s, touched, readings.namespaces, refusing)
        changed = readings.read(concerned, causes, touched)
        new_moment, self._moment_s = now_s != self._moment_s, now_s
        self._families.read(changed, touched, causes, new_moment)
        if new_moment:
            changed |= readings.undated
        if readings.forget_the_gone() and self._charges:
            self._charged = Charged(self._charges, bool(self._names_gpus))
        self.read_again = ReadAgain(readings.read_again, len(self._families.came))
        went = {p.key for f in self._families.went for p in f.pods}
        came = {p.key: p for f in self._families.came for p in f.pods}
        self._read_foreign(changed, went, came)
        self._find_nodes(came)
        news = self._put_pods(changed, went, came)
        self._put_groups()
        self._budgets.read(touched, news, self._all_pods(), self._families.owners)
        backdrop.ledger.book = Book()
        return self._assembled(now_s)

    def _complain(self, touched: Mapping[Kind, Iterable[Name]]) -> None:
        """Say what is wrong with the objects that have changed."""
        for kind, names in touched.items():
            for name in names:
                entry = self._objects.entries[kind].get(name)
                book = self._backdrop.ledger.book = Book()
                if entry is not None:
                    complain(entry, self._backdrop.ledger)
                self._books.put(("bad", kind, name), book)

    def _read_foreign(
        self, names: Iterable[Name], went: set[PodKey], came: dict[PodKey, Pod]
    ) -> None:
        """Read the pods of others again, of those that have changed."""
        for name in names:
            old = self._foreign.pop(name, None)
            if old is not None:
                went.add(old.key)
            candidate = self.readings.candidate(name)
            book = self._backdrop.ledger.book = Book()
            if candidate is not None and not candidate.ours:
                for pod in foreign_pods((candidate,), self._backdrop.world):
                    self._foreign[name] = came[pod.key] = pod
            self._books.put(("foreign", name), book)

    def _find_nodes(self, came: dict[PodKey, Pod]) -> None:
        """Bring the nodes up to date, and what is charged for parts of their devices."""
        backdrop = self._backdrop
        are_new = backdrop.find_nodes(self.readings.shares)
        named = names_gpus(backdrop.queues)
        if not are_new and named == self._names_gpus:
            return
        charges = charges_of(backdrop.nodes)
        if charges != self._charges or (charges and named != self._names_gpus):
            self._charges = charges
            self._charged = Charged(charges, named) if charges else None
            for pod in chain(self._foreign.values(), *(f.pods for f in self._families.all())):
                came[pod.key] = pod
        self._names_gpus = named
        nodes = backdrop.nodes
        self._nodes = tuple(nodes if self._charged is None else map(self._charged.node, nodes))

    def _put_pods(
        self, changed: set[Name], went: set[PodKey], came: dict[PodKey, Pod]
    ) -> dict[str, tuple[Thing, Pod] | None]:
        """Take over the pods that are new or another; return what is new, by key."""
        news: dict[str, tuple[Thing, Pod] | None] = {}
        for key in went - came.keys():
            self._count(self._pods.get(key), -1)
            self._pods.drop(key)
            self._promised.pop(key, None)
            news[key] = None
        for key, pod in came.items():
            new = pod if self._charged is None else self._charged.pod(pod)
            old = self._pods.get(key)
            name = (new.namespace, new.name)
            thing = self.readings.thing(name)
            if old is None or old != new:
                self._count(old, -1)
                self._count(new, 1)
                self._pods.put(key, new)
                self._promise(new)
                news[key] = (thing, new)
            elif name in changed:
                news[key] = (thing, old)
        return news

    def _count(self, pod: Pod | None, n: int) -> None:
        if pod is not None and pod.holds and pod.node:
            self._holding[pod.node] += n
            if not self._holding[pod.node]:
                del self._holding[pod.node]

    def _promise(self, pod: Pod) -> None:
        if pod.ours and pod.state is PodState.PENDING and pod.nominated is not None:
            self._promised[pod.key] = pod
        else:
            self._promised.pop(pod.key, None)

    def _put_groups(self) -> None:
        came = {g.key: g for f in self._families.came for g in f.groups}
        for family in self._families.went:
            for group in family.groups:
                if group.key not in came:
                    self._groups.drop(group.key)
        for key, group in came.items():
            if self._groups.get(key) != group:
                self._groups.put(key, group)

    def _all_pods(self) -> Iterator[tuple[Thing, Pod]]:
        for pod in self._pods.values():
            yield self.readings.thing((pod.namespace, pod.name)), pod

    def _warn_of_missing_nodes(self, names: set[str]) -> None:
        book = self._backdrop.ledger.book = Book()
        missing = {n: self._holding[n] for n in self._holding.keys() - names}
        warn_of_missing_nodes(missing, self._backdrop.ledger)
        self._books.put("missing nodes", book)

    def _assembled(self, now_s: int) -> Snapshot:
        backdrop, books = self._backdrop, self._books
        world, names = backdrop.world, {n.name for n in self._nodes}
        self._warn_of_missing_nodes({str(n) for n in names})
        used = self._families.topologies
        promised = self._promised.values()
        small = snapshot_of(
            taken_at_s=now_s,
            groups=(),
            pods=(),
            queues=backdrop.queues,
            budgets=self._budgets.all(),
            namespaces=list(world.namespaces.values()),
            quotas=backdrop.quotas,
            topologies=[t for t in world.topologies.used if used[t.name]],
            claims=list(world.charges.claims.named.values()),
            nominations=[(p.key, p.nominated) for p in promised if p.nominated in names],
            scheduler_names=self._options.scheduler_names,
            rejected=books.rejected,
            warnings=books.warnings,
            counted=books.counted,
        )
        # The long lists are in order already.
        return replace(small, nodes=self._nodes, pods=self._pods.all(), groups=self._groups.all())
