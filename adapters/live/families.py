"""Families: pods and group objects that belong together are read together, and nobody else.

Each of them says the names of groups that it may have to do with: tokens. Those that share a token
are of one family. When one of them changes, or an owner that one of them looks up to, its family is
read again as if it were alone in the cluster; all other families stay as they are.
"""

from collections import Counter
from collections.abc import Iterable

from ...models import Group, Pod
from ..kubernetes.body_group import WorkloadBody
from ..kubernetes.faults import Book
from ..kubernetes.groups import Grouping, build
from ..kubernetes.membership import DIALECT_OF_API, references, workload_group
from ..kubernetes.meta import Thing
from ..kubernetes.owned import holder_in
from ..kubernetes.owners import OWNER_KINDS
from ..kubernetes.parts import drafted
from ..kubernetes.pods import Candidate
from .backdrop import Backdrop, Causes
from .books import Books
from .index import Index
from .readings import Readings
from .shelves import Entry, Kind, Name

Member = Name | tuple[str, str, str, str]
"""A pod by its name; a group object by API group, kind, namespace and name."""
Owner = tuple[str, str, str]
"""Namespace, kind and name."""
GROUP_KINDS: tuple[Kind, ...] = (
    *((api, "PodGroup") for api in DIALECT_OF_API),
    ("scheduling.k8s.io", "Workload"),
)
_ORDER: dict[Kind, int] = {kind: i for i, kind in enumerate(GROUP_KINDS)}


class Family:
    """One family, and the groups and pods that it has come to."""

    __slots__ = ("groups", "is_near", "is_undated", "members", "number", "pods", "topologies")

    def __init__(self, number: int, members: list[Member]) -> None:
        self.number = number
        self.members = members
        self.groups: list[Group] = []
        self.pods: list[Pod] = []
        self.topologies: frozenset[str] = frozenset()
        self.is_near = False
        """Whether it asks for a topology."""
        self.is_undated = False
        """Whether anything in it does not say when it was created."""


class Families:
    """All families; ``went`` and ``came`` are what the last reading has dissolved and made."""

    def __init__(self, backdrop: Backdrop, readings: Readings, books: Books) -> None:
        self.went: list[Family] = []
        self.came: list[Family] = []
        self.topologies: Counter[str] = Counter()
        """How many families use each topology."""
        self._backdrop = backdrop
        self._readings = readings
        self._books = books
        self._number = 0
        self._families: dict[int, Family] = {}
        self._of: dict[Member, Family] = {}
        self._tokens = Index[Member, str]()
        self._looks_up_to = Index[Member, Owner]()
        self._owners: dict[tuple[Kind, Name], Thing] = {}
        """The owners as they were."""
        self.owners: set[Owner] = set()
        """Owners of which more than the status has changed since the last reading."""

    def all(self) -> Iterable[Family]:
        return self._families.values()

    def read(
        self, pods: set[Name], touched: dict[Kind, set[Name]], causes: Causes, new_moment: bool
    ) -> None:
        """Read the families of pods and objects that have changed, and those concerned."""
        self.went, self.came = [], []
        members: set[Member] = {*pods, *self._concerned_by_owners(touched)}
        for kind in GROUP_KINDS:
            members |= {(*kind, *name) for name in touched.get(kind, ())}
        due: dict[str, None] = {}
        for family in [f for f in self._families.values() if self._is_due(f, causes, new_moment)]:
            due.update(dict.fromkeys(self._dissolve(family)))
        for member in members:
            due.update(dict.fromkeys(self._tokens.of(member)))
            family_of = self._of.get(member)
            if family_of is not None:
                due.update(dict.fromkeys(self._dissolve(family_of)))
            self._say(member)
            due.update(dict.fromkeys(self._tokens.of(member)))
        seen: set[str] = set()
        for token in due:
            if token not in seen:
                self._make(self._connected(token, seen))

    def _concerned_by_owners(self, touched: dict[Kind, set[Name]]) -> set[Member]:
        """Return those that look up to owners that have changed."""
        self.owners = set()
        out: set[Member] = set()
        for group, kind in OWNER_KINDS:
            for namespace, name in touched.get((group, kind), ()):
                owner, key = (namespace, kind, name), ((group, kind), (namespace, name))
                old = self._owners.pop(key, None)
                new = self._backdrop.objects.good(*key)
                if new is not None:
                    self._owners[key] = new
                if old is None or new is None or not _differ_in_progress_only(old, new):
                    self.owners.add(owner)
                    out |= self._looks_up_to.having(owner)
                else:  # matters to gangs only, of which some members may have succeeded
                    out |= self._tokens.having(_gang(owner))
        return out

    def _is_due(self, family: Family, causes: Causes, new_moment: bool) -> bool:
        return (
            causes.everything
            or causes.groups
            or (causes.near and family.is_near)
            or (new_moment and family.is_undated)
        )

    def _dissolve(self, family: Family) -> list[str]:
        """Forget what the family has come to; return the tokens of its members."""
        del self._families[family.number]
        self.went.append(family)
        self._books.put(("family", family.number), None)
        self.topologies.subtract(family.topologies)
        for member in family.members:
            del self._of[member]
        return [t for member in family.members for t in self._tokens.of(member)]

    def _connected(self, token: str, seen: set[str]) -> list[Member]:
        """Return who shares the token, or a token with any of those, and so on."""
        found: dict[Member, None] = {}
        ahead = [token]
        while ahead:
            token = ahead.pop()
            if token in seen:
                continue
            seen.add(token)
            for member in self._tokens.having(token):
                if member in found:
                    continue
                found[member] = None
                ahead += self._tokens.of(member)
                family = self._of.get(member)
                if family is not None:
                    ahead += self._dissolve(family)
        return list(found)

    # Tokens

    def _say(self, member: Member) -> None:
        """Find anew which tokens the member has, and to whom it looks up."""
        tokens: list[str] = []
        owners: list[Owner] = []
        if len(member) == 2:
            candidate = self._readings.candidate(member)
            if candidate is not None:
                tokens, owners = self._said_by_pod(candidate)
        else:
            group, kind, namespace, name = member
            entry = self._backdrop.objects.entries[group, kind].get((namespace, name))
            if entry is not None:
                tokens = _said_by_group(entry)
                owners = self._above(entry.thing)
        self._tokens.put(member, tokens)
        self._looks_up_to.put(member, owners)

    def _above(self, thing: Thing) -> list[Owner]:
        """Return the controller of an object, that one's, and so on, the last perhaps unknown."""
        chain = (thing, *self._backdrop.owners.chain(thing))
        return [(t.namespace, t.owner.kind, t.owner.name) for t in chain if t.owner is not None]

    def _said_by_pod(self, candidate: Candidate) -> tuple[list[str], list[Owner]]:
        thing = candidate.thing
        tokens: list[str] = []
        for ref in references(thing):
            tokens.append(_group(thing.namespace, ref.name))
            if ref.template:
                tokens.append(_group(thing.namespace, ref.template))
        if not candidate.ours:
            return tokens, []
        owners = self._above(thing)
        if not tokens:
            tokens.append(_group(thing.namespace, thing.name))
            holder = holder_in(thing, self._backdrop.owners)
            if holder is not None:
                owner = (thing.namespace, holder.kind, holder.name)
                tokens += [_group(thing.namespace, holder.group), _gang(owner)]
                owners.append(owner)
        return tokens, owners

    # Groups

    def _make(self, members: list[Member]) -> None:
        """Read a family."""
        pods: list[Candidate] = []
        declared: list[tuple[int, Member, Thing]] = []
        for m in members:
            if len(m) == 2:
                if (candidate := self._readings.candidate(m)) is not None:
                    pods.append(candidate)
            elif (order := _ORDER.get((m[0], m[1]))) is not None:
                thing = self._backdrop.objects.good((m[0], m[1]), (m[2], m[3]))
                if thing is not None:
                    declared.append((order, m, thing))
        if not members:
            return
        self._number += 1
        family = Family(self._number, members)
        self._families[family.number] = family
        self._of.update(dict.fromkeys(members, family))
        self.came.append(family)
        self._build(family, pods, [thing for _, _, thing in sorted(declared, key=lambda d: d[:2])])

    def _build(self, family: Family, pods: list[Candidate], declared: list[Thing]) -> None:
        backdrop = self._backdrop
        ledger, world = backdrop.ledger, backdrop.world
        book = ledger.book = Book()
        asked = world.topologies.asked
        drafts = drafted(declared, ledger)
        members = Grouping(drafts, {}, backdrop.owners, ledger, world.options).place(pods)
        family.groups, family.pods = build(members, backdrop.names, backdrop.owners, world)
        self._books.put(("family", family.number), book)
        family.is_near = world.topologies.asked != asked
        undated = (t.created_s is None for t in (*declared, *(c.thing for c in pods)))
        family.is_undated = any(undated)
        family.topologies = _used(family.groups)
        self.topologies.update(family.topologies)


def _used(groups: Iterable[Group]) -> frozenset[str]:
    out = set()
    for g in groups:
        if g.topology is not None:
            out.add(g.topology.topology)
        out.update(s.topology.topology for s in g.subgroups)
    return frozenset(out)


def _said_by_group(entry: Entry) -> list[str]:
    """Return the groups that an object declares; of a bad one what its name says."""
    thing = entry.thing
    out = [_group(thing.namespace, thing.name)]
    if thing.kind == "Workload" and not entry.faults:
        body: WorkloadBody = thing.body
        parts = (body.spec.pod_groups if body.spec else None) or ()
        names = (workload_group(thing.name, part.name or "") for part in parts)
        out += [_group(thing.namespace, name) for name in names]
    return out


def _group(namespace: str, name: str) -> str:
    return f"{namespace}/{name}"


def _gang(owner: Owner) -> str:
    return "/".join(owner)


def _differ_in_progress_only(a: Thing, b: Thing) -> bool:
    """Say whether two readings of an owner differ in its status only, but for when it began."""
    head = ("uid", "created_s", "labels", "annotations", "owner")
    return all(getattr(a, x) == getattr(b, x) for x in head) and _asked(a) == _asked(b)


def _asked(thing: Thing) -> tuple[object, object]:
    status = getattr(thing.body, "status", None)
    return getattr(thing.body, "spec", None), getattr(status, "start_time", None)
