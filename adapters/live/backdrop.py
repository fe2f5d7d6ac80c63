"""The backdrop: what pods and groups are read against, renewed part by part.

Each part is made again only when an object of its kinds has changed, and says what then has to be
read again: docs/design/live-mirror.md has the table.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ...models import Namespace, Node, Queue, ResourceQuota
from ..kubernetes.aligned import refusals
from ..kubernetes.cards import Cards
from ..kubernetes.device_charges import Charges
from ..kubernetes.device_claims import DeviceClaims
from ..kubernetes.faults import Book, Ledger
from ..kubernetes.meta import Thing
from ..kubernetes.nodes import node_of
from ..kubernetes.options import ReadOptions
from ..kubernetes.owners import OWNER_KINDS
from ..kubernetes.parts import (
    all_queues,
    nodes_of,
    numa_of,
    owners_of,
    priorities_of,
    queue_names_of,
    queue_nodes_of,
    quotas_of,
    topologies_of,
    world_of,
)
from ..kubernetes.reader import Objects
from ..kubernetes.storage import Storage, bounds_claims
from ..kubernetes.world import defaults_of, namespaces_of, surroundings_of
from .books import Books
from .shelves import NODE, Kind, Name, Shelves

CLAIM: Kind = ("", "PersistentVolumeClaim")
_NAMESPACE: Kind = ("", "Namespace")
_QUOTA: Kind = ("", "ResourceQuota")
_ATTACHMENT: Kind = ("storage.k8s.io", "VolumeAttachment")
_CSI_NODE: Kind = ("storage.k8s.io", "CSINode")
_VOLCANO_QUEUE: Kind = ("scheduling.volcano.sh", "Queue")
_ELASTIC: tuple[Kind, ...] = (
    ("scheduling.x-k8s.io", "ElasticQuota"),
    ("scheduling.sigs.k8s.io", "ElasticQuota"),
)
_KUEUE: tuple[Kind, ...] = (
    ("kueue.x-k8s.io", "LocalQueue"),
    ("kueue.x-k8s.io", "ClusterQueue"),
    ("kueue.x-k8s.io", "Cohort"),
    ("kueue.x-k8s.io", "ResourceFlavor"),
)
_PRIORITIES: tuple[Kind, ...] = (
    ("scheduling.k8s.io", "PriorityClass"),
    ("kueue.x-k8s.io", "WorkloadPriorityClass"),
)
_STORAGE: tuple[Kind, ...] = (
    ("", "PersistentVolume"),
    ("storage.k8s.io", "StorageClass"),
    _CSI_NODE,
    ("storage.k8s.io", "CSIDriver"),
    ("storage.k8s.io", "CSIStorageCapacity"),
)
_NUMA: tuple[Kind, ...] = (
    ("topology.node.k8s.io", "NodeResourceTopology"),
    ("nodeinfo.volcano.sh", "Numatopology"),
)
_TOPOLOGIES: tuple[Kind, ...] = (
    ("topology.volcano.sh", "HyperNode"),
    ("kai.scheduler", "Topology"),
    ("kueue.x-k8s.io", "Topology"),
)
_DEVICES: tuple[Kind, ...] = (
    ("resource.k8s.io", "ResourceSlice"),
    ("resource.k8s.io", "DeviceClass"),
    ("resource.k8s.io", "DeviceTaintRule"),
    ("resource.k8s.io", "ResourceClaim"),
    ("resource.k8s.io", "ResourceClaimTemplate"),
)


@dataclass(slots=True)
class Causes:
    """What has to be read again because what it is read against has changed."""

    everything: bool = False
    selecting: bool = False
    """Pods whose affinity selects namespaces."""
    unadmitted: bool = False
    """Pods that no API server has admitted."""
    claims: bool = False
    """Pods with volume claims."""
    devices: bool = False
    """Pods with device claims."""
    cards: Cards | None = None
    """The cards as they were, if they have changed."""
    cells: set[str] = field(default_factory=set)
    """Pods, by uid or key, of which another place in NUMA cells is told."""
    groups: bool = False
    """Every group."""
    near: bool = False
    """Groups that ask for a topology."""


class Backdrop:
    """The world, with the queues, quotas and owners around it."""

    def __init__(self, objects: Shelves, options: ReadOptions, books: Books) -> None:
        self.objects = objects
        self.options = options
        self.books = books
        self.ledger = Ledger()
        self.ledger.refused_before = books.refused
        self.users = 0
        """How often the users of volume claims have changed."""
        self.device_users = 0
        """The same of device claims."""
        self.queues: list[Queue] = []
        self.quotas: list[ResourceQuota] = []
        self.nodes: list[Node] = []
        self.world = world_of(Objects(), options, self.ledger)
        self.owners = owners_of(Objects())
        self.names = queue_names_of(Objects(), self.world)
        self._claims_ledger: Ledger | None = None
        """Where it is said what is wrong with device claims that were resolved just now."""
        self._bounded: tuple[object, frozenset[str]] = (None, frozenset())
        self._stamps: dict[str, object] = {}
        self._made: dict[str, int] = {}
        self._read_nodes: dict[Name, tuple[Thing, Node | None]] = {}
        self._label_changes = 0

    def _renew(self, part: str, stamp: object, make: Callable[[], Any]) -> bool:
        """Make a part if its stamp is another than before; say whether it was made."""
        if part in self._stamps and self._stamps[part] == stamp:
            return False
        self._stamps[part] = stamp
        self._made[part] = self._made.get(part, 0) + 1
        self.books.put(part, None)
        book = Book()
        with self.ledger.into(book):
            make()
        self.books.put(part, book)
        return True

    def refresh(
        self,
        now_s: int,
        touched: Mapping[Kind, Iterable[Name]],
        namespaces: Iterable[str],
        refusing: Iterable[Thing],
    ) -> Causes:
        """Bring all parts up to date but the nodes, and say what they concern.

        ``namespaces`` are those of the pods, ``refusing`` the pods that kubelets have refused.
        """
        world, version = self.world, self.objects.version
        causes = Causes()
        world.options = replace(self.options, now_s=now_s)
        world.taken_at_s = now_s
        self._renew_names(causes, namespaces)
        if self._renew("priorities", version(*_PRIORITIES), self._make_priorities):
            causes.everything = True
        if self._renew("defaults", version(("", "LimitRange")), self._make_defaults):
            causes.unadmitted = True
        self._renew_storage(causes)
        self._renew_nodes(causes, touched.get(NODE, ()))
        if self._renew(
            "topologies", (version(*_TOPOLOGIES), self._label_changes), self._make_topologies
        ):
            causes.near = True
        before = world.numa
        if self._renew("numa", version(*_NUMA), self._make_numa):
            causes.everything |= bool(before.nodes) != bool(world.numa.nodes)
            causes.cells = {uid_or_key for uid_or_key, _ in
                            before.pods.items() ^ world.numa.pods.items()}  # fmt: skip
        self._renew("owners", version(*OWNER_KINDS), self._make_owners)
        stamp = (version(*_DEVICES, _NAMESPACE, _VOLCANO_QUEUE), self.device_users)
        charged = world.charges.resources
        if self._renew("devices", stamp, self._make_devices):
            causes.devices = True
            causes.everything |= world.charges.resources != charged
        self._renew("quotas", version(_QUOTA), self._make_quotas)
        now_refused = refusals(refusing, now_s)
        if now_refused != world.refusals:
            world.refusals, causes.everything = now_refused, True
        return causes

    def _renew_names(self, causes: Causes, namespaces: Iterable[str]) -> None:
        world, version = self.world, self.objects.version
        before = _queues_of(world.namespaces)
        if self._renew("namespaces", version(_NAMESPACE), self._make_namespaces):
            causes.groups |= _queues_of(world.namespaces) != before
        undeclared = frozenset(n for n in namespaces if n not in world.namespaces)

        def surround() -> None:
            world.surroundings = surroundings_of(world.namespaces, undeclared)

        stamp = (version(_NAMESPACE), undeclared)
        causes.selecting = self._renew("surroundings", stamp, surround)
        causes.groups |= self._renew("names", version(*_ELASTIC, *_KUEUE), self._make_names)
        queues = version(_VOLCANO_QUEUE, ("scheduling.run.ai", "Queue"), *_ELASTIC, *_KUEUE)
        around = stamp if self.options.queues_from == "kueue" else ()
        self._renew("queues", (queues, around), self._make_queues)
        old = self.world.queue_nodes
        self._renew("queue nodes", queues, self._make_queue_nodes)
        if self.world.queue_nodes.places == old.places:
            self.world.queue_nodes = old
        else:
            causes.groups = True

    def _renew_storage(self, causes: Causes) -> None:
        version = self.objects.version
        if self._bounded[0] != version(_QUOTA):
            quotas = self.objects.of(*_QUOTA)
            bounded = frozenset(t.namespace for t in quotas if bounds_claims(t))
            self._bounded = (version(_QUOTA), bounded)
        others = (version(*_STORAGE), self._bounded[1])
        if self._renew("storage", (version(CLAIM), others), self._make_storage):
            causes.claims = self._stamps.get("other storage") != others
            self._stamps["other storage"] = others

    def _renew_nodes(self, causes: Causes, touched: Iterable[Name]) -> None:
        for name in touched:
            old, new = self._read_nodes.get(name), self.objects.good(NODE, name)
            if old is None or new is None or old[0].labels != new.labels:
                self._label_changes += 1
            book = Book()
            self._read_nodes.pop(name, None)
            if new is not None:
                with self.ledger.into(book):
                    self._read_nodes[name] = (new, node_of(new, self.ledger))
            self.books.put(("node", name), book)
        before = self.world.cards
        if self._renew("cards", self.objects.version(NODE), self.lay_cards):
            causes.cards = before

    # What parts are made of

    def lay_cards(self) -> None:
        """Read the devices of all nodes anew."""
        self._made["cards laid"] = self._made.get("cards laid", 0) + 1
        things = self.objects.of(*NODE)
        read = (self._read_nodes[t.namespace, t.name] for t in things)
        nodes = [(t, n) for t, n in read if n is not None]
        self.world.cards = Cards(nodes, self.ledger, Book())

    def _make_priorities(self) -> None:
        self.world.priorities = priorities_of(self.objects, self.ledger)

    def _make_defaults(self) -> None:
        self.world.defaults = defaults_of(self.objects.of("", "LimitRange"), self.ledger)

    def _make_namespaces(self) -> None:
        self.world.namespaces = namespaces_of(self.objects.of(*_NAMESPACE))

    def _make_names(self) -> None:
        self.names = queue_names_of(self.objects, self.world)

    def _make_queues(self) -> None:
        self.queues = all_queues(self.objects, self.world)

    def _make_queue_nodes(self) -> None:
        self.world.queue_nodes = queue_nodes_of(self.objects, self.options, self.ledger)

    def _make_quotas(self) -> None:
        self.quotas = quotas_of(self.objects, self.ledger)

    def _make_storage(self) -> None:
        users = self.world.storage.users
        self.world.storage = Storage.of(self.objects, self.ledger)
        self.world.storage.users = users

    def _make_topologies(self) -> None:
        self.world.topologies = topologies_of(self.objects, self.options, self.ledger)

    def _make_numa(self) -> None:
        self.world.numa = numa_of(self.objects, self.ledger)

    def _make_owners(self) -> None:
        self.owners = owners_of(self.objects)

    def _make_devices(self) -> None:
        self.books.put("claims of devices", None)
        # Claims are resolved once for all their pods: what is said of them is not the pods'.
        ledger = self._claims_ledger = Ledger()
        ledger.refused_before = self.books.refused
        claims = DeviceClaims.of(self.objects, ledger)
        self.world.charges = Charges.of(self.objects, claims)

    def find_nodes(self, shares: bool) -> bool:
        """Bring the nodes up to date, once the pods are; say whether any may have changed.

        ``shares`` says whether any pod shares devices, or says which it holds.
        """
        version = self.objects.version
        if self._claims_ledger is not None:
            self.books.put("claims of devices", self._claims_ledger.book)
            self._claims_ledger = None
        attached = (
            (version(_ATTACHMENT, CLAIM), self.users) if self.objects.of(*_ATTACHMENT) else ()
        )
        parts = tuple(self._made.get(x, 0) for x in ("cards laid", "numa", "devices"))
        local = self.world.storage.local.on_host
        stamp = (shares, parts, version(_CSI_NODE, _ATTACHMENT), attached, local)
        cards = self.world.cards
        self.books.put("cards of nodes", cards.book if shares and cards.by_node else None)

        def make() -> None:
            self.nodes = nodes_of(self.objects, self.world, shares)

        return self._renew("nodes", stamp, make)


def _queues_of(namespaces: Mapping[str, Namespace]) -> dict[str, str]:
    """Return the queues that namespaces give to what names none itself."""
    return {name: of.queue for name, of in namespaces.items() if of.queue}
