"""The pods as candidates: each is read again only when something that it depends on has changed."""

from collections import Counter
from collections.abc import Iterable, Mapping

import msgspec

from ..kubernetes.aligned import REFUSED
from ..kubernetes.body_pod import PodBody, PodSpecBody, PodStatusBody
from ..kubernetes.cards import Cards, groups_of, is_reservation, names_devices
from ..kubernetes.extended_resources import requests_of
from ..kubernetes.faults import Book
from ..kubernetes.meta import Thing
from ..kubernetes.migrated import driver_of
from ..kubernetes.pods import Candidate, Shapes, candidate_of, is_over
from ..kubernetes.storage import claim_key
from .backdrop import CLAIM, Backdrop, Causes
from .books import Books
from .shelves import POD, Kind, Name

_REMEMBERED, _REMEMBERED_AT_LEAST = 2, 10_000
"""Specs that are remembered: so many for each pod, and so many more."""


class Reading(msgspec.Struct, gc=False):
    """A pod that is there and sound so far, and what has come of reading it."""

    thing: Thing
    candidate: Candidate | None = None
    """None: it is bad, or was deleted before it came to a node."""


class Readings:
    """The candidates of all pods, by name."""

    def __init__(self, backdrop: Backdrop, books: Books) -> None:
        self.shapes = Shapes(backdrop.world)
        self.namespaces: Counter[str] = Counter()
        """How many pods are in each."""
        self.refusing: dict[Name, Thing] = {}
        """Pods that kubelets have refused."""
        self.undated: set[Name] = set()
        """Pods that do not say when they were created."""
        self.read_again = 0
        """How many pods the last reading has read."""
        self._backdrop = backdrop
        self._books = books
        self._readings: dict[Name, Reading] = {}
        self._of_claim: dict[str, set[Name]] = {}
        """Who has each volume claim."""
        self._claiming: dict[Name, tuple[str, ...]] = {}
        """The volume claims of each pod that has any."""
        self._with_device_claims: set[Name] = set()
        """Those with extended resources that devices serve among them."""
        self._served: Mapping[str, str] = {}
        """The resources that devices served when it was last found who asks for them."""
        self._selecting: set[Name] = set()
        self._unadmitted: set[Name] = set()
        self._marked: set[Name] = set()
        """Pods that ask for shares of devices, or bear marks of devices."""
        self._asking: set[Name] = set()
        """Those because of which the devices of nodes matter."""
        self._labelled: set[Name] = set()
        """Those whose labels name groups of shares."""
        self._together = False
        """Whether what one pod holds of devices depends on what others hold."""
        self._marks_touched = False

    @property
    def shares(self) -> bool:
        """Say whether any pod asks for a share, or says which devices it holds."""
        return bool(self._asking)

    def candidate(self, name: Name) -> Candidate | None:
        """Return the pod as it was read last."""
        reading = self._readings.get(name)
        return None if reading is None else reading.candidate

    def thing(self, name: Name) -> Thing:
        """Return the object of a pod that is there and sound."""
        return self._readings[name].thing

    def __len__(self) -> int:
        return len(self._readings)

    def forget_the_gone(self) -> bool:
        """Forget specs of pods that are gone, once there are far more of them; say whether."""
        if len(self.shapes) < _REMEMBERED * len(self._readings) + _REMEMBERED_AT_LEAST:
            return False
        candidates = (r.candidate for r in self._readings.values())
        # Equal specs are one object, and hashing one is no small thing.
        by_id = {id(c.spec): c.spec for c in candidates if c is not None}
        self.shapes.keep_only(by_id.values())
        return True

    # First the pods that have changed

    def note(self, touched: Iterable[Name]) -> set[Name]:
        """Take note of pods that have changed, come or gone; return whom that concerns."""
        concerned = set(touched)
        shared: dict[str, int] = {}
        for name in touched:
            old = self._readings.pop(name, None)
            new = self._backdrop.objects.good(POD, name)
            if old is not None:
                self._forget(name, old.thing, shared)
            if new is not None:
                self._readings[name] = Reading(new, old.candidate if old is not None else None)
                self._take_in(name, new, shared)
        users = self._backdrop.world.storage.users
        for key, before in shared.items():
            if (before > 1) != (users[key] > 1):
                concerned |= self._of_claim.get(key, set())
        return concerned

    def _forget(self, name: Name, thing: Thing, shared: dict[str, int]) -> None:
        self.namespaces[thing.namespace] -= 1
        if not self.namespaces[thing.namespace]:
            del self.namespaces[thing.namespace]
        self.refusing.pop(name, None)
        for key in self._claiming.pop(name, ()):
            self._of_claim[key].discard(name)
            if not self._of_claim[key]:
                del self._of_claim[key]
            if not is_over(thing):
                self._count_user(key, -1, shared)
        if name in self._with_device_claims:
            self._with_device_claims.remove(name)
            self._backdrop.device_users += 1
        for group in (self._selecting, self._unadmitted, self.undated):
            group.discard(name)

    def _take_in(self, name: Name, thing: Thing, shared: dict[str, int]) -> None:
        body: PodBody = thing.body
        spec, status = body.spec or PodSpecBody(), body.status or PodStatusBody()
        self.namespaces[thing.namespace] += 1
        if status.reason in REFUSED:
            self.refusing[name] = thing
        claims = {claim_key(thing, v) for v in spec.volumes or ()} - {""}
        if claims or any(map(driver_of, spec.volumes or ())):
            self._claiming[name] = tuple(claims)
            for key in claims:
                self._of_claim.setdefault(key, set()).add(name)
                if not is_over(thing):
                    self._count_user(key, 1, shared)
        if self._asks_for_devices(spec):
            self._with_device_claims.add(name)
            self._backdrop.device_users += 1
        if _selects_namespaces(spec):
            self._selecting.add(name)
        if not (thing.uid or status.phase):
            self._unadmitted.add(name)
        if thing.created_s is None:
            self.undated.add(name)

    def _asks_for_devices(self, spec: PodSpecBody) -> bool:
        if spec.resource_claims or not self._served:
            return bool(spec.resource_claims)
        return bool(requests_of(spec, self._served)[0])

    def _find_device_users(self) -> set[Name]:
        """Find who asks for devices, if they serve other resources; return who did or does."""
        served = self._backdrop.world.charges.claims.kinds
        before = self._with_device_claims
        if served != self._served:
            self._served = served
            bodies = ((n, r.thing.body.spec or PodSpecBody()) for n, r in self._readings.items())
            self._with_device_claims = {n for n, spec in bodies if self._asks_for_devices(spec)}
        return before | self._with_device_claims

    def _count_user(self, key: str, n: int, shared: dict[str, int]) -> None:
        """Count a pod that has a volume claim and is not over; note the number before."""
        users = self._backdrop.world.storage.users
        shared.setdefault(key, users[key])
        users[key] += n
        if not users[key]:
            del users[key]
        self._backdrop.users += 1

    # Then those that are concerned

    def read(
        self, concerned: set[Name], causes: Causes, touched: dict[Kind, set[Name]]
    ) -> set[Name]:
        """Read pods again; return those of which anything has changed that others look at."""
        users = self._find_device_users() if causes.devices else set[Name]()
        concerned |= users | self._concerned(causes, touched)
        charged_otherwise = self._are_shares_charged_otherwise(causes.cards)
        if charged_otherwise:
            concerned |= self._marked
        if causes.selecting or causes.unadmitted or causes.everything or charged_otherwise:
            self.shapes.forget()
        claims = self._backdrop.world.charges.claims
        if causes.devices:
            things = (self._readings[n].thing for n in self._with_device_claims)
            claims.note_users([t for t in things if not is_over(t)])
        self._marks_touched = False
        self.read_again = 0
        changed = {name for name in concerned if self._read(name)}
        changed |= self._share(causes)
        if causes.everything:
            changed |= self._readings.keys()
        return changed | self._lying_elsewhere(causes.cells)

    def _lying_elsewhere(self, cells: set[str]) -> set[Name]:
        if not cells:
            return set()
        things = ((name, r.thing) for name, r in self._readings.items())
        return {name for name, t in things if t.uid in cells or t.key in cells}

    def _concerned(self, causes: Causes, touched: dict[Kind, set[Name]]) -> set[Name]:
        if causes.everything:
            return set(self._readings)
        out: set[Name] = set()
        for due, names in (
            (causes.selecting, self._selecting),
            (causes.unadmitted, self._unadmitted),
            (causes.claims, self._claiming.keys()),
        ):
            if due:
                out |= names
        for namespace, name in touched.get(CLAIM, ()):
            out |= self._of_claim.get(f"{namespace}/{name}", set())
        return out

    def _read(self, name: Name) -> bool:
        """Read one pod; say whether the outcome is another."""
        reading = self._readings.get(name)
        ledger, world = self._backdrop.ledger, self._backdrop.world
        book = ledger.book = Book()
        made = None
        if reading is not None:
            self.read_again += 1
            if name in self._claiming:
                world.storage.sites.forget()
            made = candidate_of(reading.thing, self.shapes, world)
        self._books.put(("pod", name), book)
        self._mark(name, made)
        if reading is None:
            return True
        old, reading.candidate = reading.candidate, made
        if old is None or made is None:
            return old is not made or made is None
        if _are_alike(old, made):
            reading.candidate = old
            return False
        return True

    def _mark(self, name: Name, made: Candidate | None) -> None:
        asking = made is not None and (made.spec.share is not None or names_devices(made.thing))
        labelled = made is not None and any(groups_of(made.thing))
        marked = asking or labelled or (made is not None and is_reservation(made.thing))
        self._marks_touched |= marked or name in self._marked
        for group, is_in in (
            (self._asking, asking), (self._labelled, labelled), (self._marked, marked)
        ):  # fmt: skip
            if is_in:
                group.add(name)
            else:
                group.discard(name)

    # Shares of devices

    def _are_shares_charged_otherwise(self, before: Cards | None) -> bool:
        """Say whether the smallest device, of which memory is charged as a part, is another."""
        # Cards that nobody has asked for devices have charged nothing.
        return (
            before is not None
            and before.are_read
            and before.least_mib != self._backdrop.world.cards.least_mib
        )

    def _share(self, causes: Causes) -> set[Name]:
        """Settle who holds which devices; return the pods for which that may be new."""
        cards, was_together = self._backdrop.world.cards, self._together
        together = self.shares and (bool(self._labelled) or cards.any_in_mig_mode)
        if together or was_together:
            stale = self._marks_touched or causes.cards is not None or causes.everything
            if not stale and together == was_together:
                return set()
            self._together = together
            self._settle()
            return set(self._marked)
        return self._moved(causes.cards) if causes.cards is not None else set()

    def _settle(self) -> None:
        """Read all pods that share devices, and those that tell of devices, as one."""
        self._backdrop.lay_cards()
        names = sorted(self._marked)
        for name in names:
            self._readings[name].candidate = None
            self._read(name)
        book = self._backdrop.ledger.book = Book()
        if self._together:
            pods = [c for name in names if (c := self.candidate(name)) is not None]
            self._backdrop.world.cards.cut(pods)
            self._backdrop.world.cards.note_groups(pods)
        self._books.put("shares", book)

    def _moved(self, before: Cards) -> set[Name]:
        """Return the pods for which it matters how the devices of nodes have changed."""
        if not self._marked:
            return set()
        old, new = before.by_node, self._backdrop.world.cards.by_node
        return {n for n in self._marked if (at := self._node(n)) and old.get(at) != new.get(at)}

    def _node(self, name: Name) -> str | None:
        candidate = self.candidate(name)
        return None if candidate is None else candidate.body.node_name


def _are_alike(a: Candidate, b: Candidate) -> bool:
    return (
        a.thing is b.thing
        and a.spec is b.spec
        and a.state is b.state
        and a.priority == b.priority
        and a.held == b.held
    )


def _selects_namespaces(spec: PodSpecBody) -> bool:
    if spec.affinity is None:
        return False
    for of in (spec.affinity.pod_affinity, spec.affinity.pod_anti_affinity):
        if of is None:
            continue
        terms = [*(of.required or ()), *(w.pod_affinity_term for w in of.preferred or ())]
        if any(t is not None and t.namespace_selector is not None for t in terms):
            return True
    return False
