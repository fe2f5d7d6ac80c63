"""Disruption budgets: each is computed again only when its pods or their controllers change."""

from collections.abc import Iterable, Mapping

from ...models import Budget, Pod
from ..kubernetes.budgets import budget_of
from ..kubernetes.faults import Book
from ..kubernetes.meta import Thing
from .backdrop import Backdrop
from .books import Books
from .families import Owner
from .ordered import Ordered
from .shelves import Kind, Name

BUDGET: Kind = ("policy", "PodDisruptionBudget")


class _Covered:
    """A budget and the pods that it selects."""

    def __init__(self, thing: Thing, selects: Budget | None) -> None:
        self.thing = thing
        self.selects = selects
        """The budget, to ask whom it selects; None: it is bad."""
        self.pods: dict[str, tuple[Thing, Pod]] = {}
        self.owners: set[Owner] = set()


class CoveredPods:
    """All budgets, and what they cover."""

    def __init__(self, backdrop: Backdrop, books: Books) -> None:
        self._backdrop = backdrop
        self._books = books
        self._budgets: dict[Name, _Covered] = {}
        self._in: dict[str, set[Name]] = {}
        """The budgets of each namespace."""
        self._values: Ordered[Budget] = Ordered()

    def all(self) -> tuple[Budget, ...]:
        return self._values.all()

    def read(
        self,
        touched: Mapping[Kind, Iterable[Name]],
        changed: Mapping[str, tuple[Thing, Pod] | None],
        pods: Iterable[tuple[Thing, Pod]],
        owners: Iterable[Owner],
    ) -> None:
        """Bring the budgets up to date.

        ``owners`` are those that may ask for other pods than before. ``changed`` are the pods that
        have changed, by key, None for those that are gone; ``pods`` are all of them, of which new
        budgets find theirs.
        """
        due = {n for owner in owners for n in self._in.get(owner[0], ())
               if owner in self._budgets[n].owners}  # fmt: skip
        for key, now in changed.items():
            for name in self._in.get(key.partition("/")[0], ()):
                if self._is_other(self._budgets[name], key, now):
                    due.add(name)
        fresh = [n for n in touched.get(BUDGET, ()) if self._begin(n)]
        if fresh:
            self._find(fresh, pods)
        for name in (*due, *fresh):
            if name in self._budgets:
                self._compute(name)

    @staticmethod
    def _is_other(budget: _Covered, key: str, now: tuple[Thing, Pod] | None) -> bool:
        was = budget.pods.pop(key, None)
        if now is not None and budget.selects is not None and budget.selects.selects(now[1]):
            budget.pods[key] = now
            return True
        return was is not None

    def _begin(self, name: Name) -> bool:
        """Read a budget that has changed, without its pods; say whether it is there."""
        self._budgets.pop(name, None)
        self._in.get(name[0], set()).discard(name)
        self._values.drop("/".join(name))
        self._books.put(("budget", name), None)
        thing = self._backdrop.objects.good(BUDGET, name)
        if thing is None:
            return False
        self._backdrop.ledger.book = Book()
        alone = budget_of(thing, (), self._backdrop.owners, self._backdrop.ledger)
        self._budgets[name] = _Covered(thing, alone)
        self._in.setdefault(name[0], set()).add(name)
        return True

    def _find(self, names: list[Name], pods: Iterable[tuple[Thing, Pod]]) -> None:
        by_namespace: dict[str, list[_Covered]] = {}
        for name in names:
            if self._budgets[name].selects is not None:
                by_namespace.setdefault(name[0], []).append(self._budgets[name])
        for thing, pod in pods:
            for budget in by_namespace.get(pod.namespace, ()):
                if budget.selects is not None and budget.selects.selects(pod):
                    budget.pods[pod.key] = (thing, pod)

    def _compute(self, name: Name) -> None:
        budget, owners = self._budgets[name], self._backdrop.owners
        book = self._backdrop.ledger.book = Book()
        pods = list(budget.pods.values())
        made = budget_of(budget.thing, pods, owners, self._backdrop.ledger)
        self._books.put(("budget", name), book)
        budget.owners = {
            (t.namespace, o.kind, o.name)
            for pod, _ in pods
            for t in (pod, *owners.chain(pod))
            if (o := t.owner) is not None
        }
        if made is not None:
            self._values.put(made.key, made)
