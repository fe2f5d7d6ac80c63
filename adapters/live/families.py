"""Families: pods, groups and owners that speak of each other are read together, nobody else.

An object says its own name and those of others: tokens. Objects that share a token are of one
family. When one changes, its family is read again as if it were alone in the cluster; all other
families stay as they are.
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
from .readings import Readings
from .shelves import Kind, Name

Member = Name | tuple[str, str, str, str]
"""A pod by its name; any other object by API group, kind, namespace and name."""
GROUP_KINDS: tuple[Kind, ...] = (
    *((api, "PodGroup") for api in DIALECT_OF_API),
    ("scheduling.k8s.io", "Workload"),
)
_ORDER = {kind: i for i, kind in enumerate(GROUP_KINDS)}


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
        self._tokens: dict[Member, tuple[str, ...]] = {}
        self._with: dict[str, set[Member]] = {}

    def all(self) -> Iterable[Family]:
        return self._families.values()

    def read(
        self, pods: set[Name], touched: dict[Kind, set[Name]], causes: Causes, new_moment: bool
    ) -> None:
        """Read the families of pods and objects that have changed, and those concerned."""
        self.went, self.came = [], []
        members: set[Member] = set(pods)
        for kind in (*GROUP_KINDS, *OWNER_KINDS):
            members |= {(*kind, *name) for name in touched.get(kind, ())}
        due: dict[str, None] = {}
        for family in [f for f in self._families.values() if self._is_due(f, causes, new_moment)]:
            due.update(dict.fromkeys(self._dissolve(family)))
        for member in members:
            due.update(dict.fromkeys(self._tokens.get(member, ())))
            family_of = self._of.get(member)
            if family_of is not None:
                due.update(dict.fromkeys(self._dissolve(family_of)))
            self._say(member)
            due.update(dict.fromkeys(self._tokens.get(member, ())))
        owners = any(touched.get(kind) for kind in OWNER_KINDS)
        seen: set[str] = set()
        for token in due:
            if token not in seen:
                self._make(self._connected(token, seen, owners))

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
        return [t for member in family.members for t in self._tokens.get(member, ())]

    def _connected(self, token: str, seen: set[str], owners: bool) -> list[Member]:
        """Return who shares the token, or a token with any of those, and so on.

        ``owners`` says whether any owner has changed.
        """
        found: dict[Member, None] = {}
        todo = [token]
        while todo:
            token = todo.pop()
            if token in seen:
                continue
            seen.add(token)
            for member in list(self._with.get(token, ())):
                if member in found:
                    continue
                found[member] = None
                family = self._of.get(member)
                if family is not None:
                    todo += self._dissolve(family)
                if owners:  # whose pod it is may have changed with them
                    self._say(member)
                todo += self._tokens.get(member, ())
        return list(found)

    # Tokens

    def _say(self, member: Member) -> None:
        """Find the member's tokens anew."""
        old = self._tokens.get(member, ())
        new = tuple(dict.fromkeys(self._said(member)))
        if old == new:
            return
        for token in old:
            there = self._with[token]
            there.discard(member)
            if not there:
                del self._with[token]
        for token in new:
            self._with.setdefault(token, set()).add(member)
        if new:
            self._tokens[member] = new
        else:
            self._tokens.pop(member, None)

    def _said(self, member: Member) -> list[str]:
        if len(member) == 2:
            candidate = self._readings.candidate(member)
            return [] if candidate is None else self._said_by_pod(candidate)
        group, kind, namespace, name = member
        entry = self._backdrop.objects.entries[group, kind].get((namespace, name))
        if entry is None:
            return []
        thing = entry.thing
        if (group, kind) not in _ORDER:
            return [_owner(namespace, kind, name), *_controller(thing)]
        out = [_group(namespace, name), *_controller(thing)]
        if kind == "Workload" and not entry.faults:
            body: WorkloadBody = thing.body
            parts = (body.spec.pod_groups if body.spec else None) or ()
            out += [_group(namespace, workload_group(name, g.name or "")) for g in parts]
        return out

    def _said_by_pod(self, candidate: Candidate) -> list[str]:
        thing = candidate.thing
        out: list[str] = []
        for ref in references(thing):
            out.append(_group(thing.namespace, ref.name))
            if ref.template:
                out.append(_group(thing.namespace, ref.template))
        if not candidate.ours:
            return out
        if not out:
            out.append(_group(thing.namespace, thing.name))
            holder = holder_in(thing, self._backdrop.owners)
            if holder is not None:
                out.append(_group(thing.namespace, holder.group))
                out.append(_owner(thing.namespace, holder.kind, holder.name))
        return out + _controller(thing)

    # Groups

    def _make(self, members: list[Member]) -> None:
        """Read a family; owners without pods and groups are none."""
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
        if not pods and not declared:
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


def _group(namespace: str, name: str) -> str:
    return f"{namespace}/{name}"


def _owner(namespace: str, kind: str, name: str) -> str:
    return f"{namespace}/{kind}/{name}"


def _controller(thing: Thing) -> list[str]:
    owner = thing.owner
    return [] if owner is None else [_owner(thing.namespace, owner.kind, owner.name)]
