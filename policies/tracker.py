"""Following a growing plan: which nodes a pod may take, the pods so far being where they are.

Trackers take pods one at a time, as kube-scheduler would; the rules' ``check`` judges the end.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from ..models import Claim, LabelSelector, Node, Pod, PodKey, PodSpec, ResourceQuota
from .bonds import Bond, Bonds
from .sieve import Change, History

Mask = NDArray[np.bool_]
T = TypeVar("T")


class World:
    """Nodes, and the pods on them at the start."""

    def __init__(
        self,
        nodes: Sequence[Node],
        present: Iterable[tuple[Pod, int]],
        before: Sequence[tuple[Pod, int]] | None = None,
        memo: dict[object, Any] | None = None,
        bonds: Bonds | None = None,
    ) -> None:
        self.nodes = nodes
        self.present = list(present)
        self.before = tuple(self.present) if before is None else before
        """Pods before the plan; those that are not present have left, or will."""
        self.memo: dict[object, Any] = {} if memo is None else memo
        """What follows from ``nodes`` and ``before`` alone, by rule."""
        self.bonds = bonds
        self.claims: Mapping[str, Claim] = {}
        """Device claims of several pods."""
        self.quotas: Sequence[ResourceQuota] = ()
        self.used_claims: frozenset[str] = frozenset()
        """Those of them that some pod had at the start, evicted ones included."""
        self.specs: Iterable[PodSpec] | None = None
        """Every spec that a pod here may have; None: to be found among those present."""

    def kept(self, key: object, make: Callable[[], T]) -> T:
        """Return what is kept under the key; it is made once, of nodes and ``before`` alone."""
        if key not in self.memo:
            self.memo[key] = make()
        value: T = self.memo[key]
        return value

    def domains(self, key: str) -> tuple[NDArray[np.int64], list[str]]:
        """Return the domain number of each node (−1 without the label) and the domains' names."""
        return self.kept(("domains", key), lambda: self._numbered(key))

    def _numbered(self, key: str) -> tuple[NDArray[np.int64], list[str]]:
        names: dict[str, int] = {}
        numbers = [
            -1 if (v := n.labels.get(key)) is None else names.setdefault(v, len(names))
            for n in self.nodes
        ]
        return np.array(numbers, dtype=np.int64), list(names)

    def nobody(self, asks: Callable[[PodSpec], object]) -> bool:
        """Say whether it is known that no pod here may ever ask for something."""
        return self.specs is not None and not any(map(asks, self.specs))

    def present_with(self, asks: Callable[[PodSpec], object]) -> list[tuple[Pod, int]]:
        """Return the pods present whose specs ask for something; each spec is looked at once."""
        specs = self.specs
        if specs is None:
            specs = {id(p.spec): p.spec for p, _ in self.present}.values()
        found = {id(s) for s in specs if asks(s)}
        return [of for of in self.present if id(of[0].spec) in found] if found else []


class Tracker(Protocol):
    """One rule's view of the growing plan."""

    def allows(self, pod: Pod) -> Mask | None:
        """Say which nodes the rule leaves to the pod now; None: it does not care."""
        ...

    def opens(self, pod: Pod) -> Mask | None:
        """Say which nodes the pod could get while nothing that stands leaves; None: all."""
        ...

    def add(self, pod: Pod, node: int, times: int = 1) -> None:
        """Take note of a pod that came (or went, with times −1)."""
        ...


@runtime_checkable
class Resting(Protocol):
    """A tracker that may have nothing to do."""

    @property
    def is_idle(self) -> bool:
        """Whether the rule will say nothing about any pod, whoever comes."""
        ...


@runtime_checkable
class Counting(Protocol):
    """A tracker that can say how many equal pods a node takes, were they alone to come."""

    def most(self, pod: Pod, counts: NDArray[Any]) -> NDArray[Any]:
        """Return the counts per node, lowered to what the rule lets in."""
        ...


@runtime_checkable
class Sifting(Protocol):
    """A tracker that looks at single nodes, and need not look at those that are out anyway.

    Who could come while nothing that stands leaves is who may come now. Pods of one spec are told
    the same, as long as nothing changes on the node.
    """

    def within(self, pod: Pod, mask: Mask) -> Mask:
        """Return those of the nodes that take the pod."""
        ...

    def takes(self, pod: Pod, node: int) -> bool:
        """Say whether the node takes the pod."""
        ...


@runtime_checkable
class Lasting(Protocol):
    """A sifting tracker that knows how many equal pods a node takes one after the other."""

    def surely(self, pod: Pod, node: int) -> int:
        """Return such a number, at least 1, for a pod that the node takes."""
        ...


@runtime_checkable
class Leveling(Protocol):
    """A tracker of a rule that keeps equal pods level over domains."""

    def opens(self, pod: Pod) -> Mask | None: ...

    def level(self, pod: Pod, counts: NDArray[Any]) -> int | None:
        """Return how many equal pods come in all, where each node takes so many.

        None: only placing them one by one can tell.
        """
        ...


@dataclass(frozen=True, slots=True)
class Choice:
    """Pods that share one domain, whichever it is."""

    bond: Bond
    pods: frozenset[PodKey]
    hard: bool
    """They must; else they would like to."""
    domains: Sequence[Mask]
    """The nodes of each domain that may take them all."""
    nearer: Sequence[Sequence[Mask]] = field(default=())
    """Domains that they would like better, by level, the best liked first."""


@runtime_checkable
class Choosing(Protocol):
    """A tracker of a rule that keeps pods together in a domain."""

    def choices(self, pods: Sequence[Pod]) -> Sequence[Choice]:
        """Return what has to be chosen for these pods, what holds most of them first."""
        ...


_FOLLOWS: dict[tuple[object, object], bool] = {}
"""Which kinds of trackers follow which protocol: asked once, as that is slow to ask."""


def those_that(trackers: Iterable[Any], protocol: Any) -> tuple[Any, ...]:
    """Return those of the trackers that follow a protocol."""
    out = []
    for t in trackers:
        key = (type(t), protocol)
        if key not in _FOLLOWS:
            _FOLLOWS[key] = isinstance(t, protocol)
        if _FOLLOWS[key]:
            out.append(t)
    return tuple(out)


class Counter:
    """How many pods of a kind stand in each domain, built on first use, then kept up to date."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._history: History | None = None
        self._early: list[Change] = []
        """What came and went before somebody asked."""

    def note(self, pod: Pod, node: int, times: int) -> None:
        if self._history is None:
            self._early.append((pod, node, times))
        else:
            self._history.note(pod, node, times)

    def history(self, selector: LabelSelector | None) -> Iterable[Change]:
        """Return what came and went, as far as the selector may match it."""
        if self._history is None:
            there = ((p, i, 1) for p, i in self._world.present)
            self._history = History((*there, *self._early))
        return self._history.of(selector)

    def fresh(self, key: str) -> NDArray[np.int64]:
        """Return zero counts for the domains of a key, with a last place for nodes without it."""
        return np.zeros(len(self._world.domains(key)[1]) + 1, dtype=np.int64)
