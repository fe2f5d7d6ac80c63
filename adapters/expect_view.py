"""What expectations look at: a cluster after the first plan, or after it has settled."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ..models import GroupKey, Plan, Pod, PodKey, PodState, Snapshot
from .expectations import After


class NotThereError(LookupError):
    """A name that an expectation uses and the cluster does not have."""


@dataclass(frozen=True)
class View:
    """A cluster after the first plan, or after it has settled."""

    snapshot: Snapshot
    plan: Plan
    after: After

    @cached_property
    def final(self) -> Mapping[PodKey, str]:
        """Node of every pod that runs, or has a place in the plan."""
        if self.after == "settled":
            assert self.plan.settled is not None
            return {k: str(v["node"]) for k, v in self.plan.settled.running.items()}
        gone = {e.pod for e in self.plan.evictions}
        stay = {
            p.key: str(p.node)
            for p in self.snapshot.pods
            if p.state is PodState.RUNNING and p.key not in gone
        }
        return {**stay, **self.plan.places, **self.plan.moved}

    @cached_property
    def evicted(self) -> Counter[PodKey]:
        if self.after == "settled":
            assert self.plan.settled is not None
            return Counter(self.plan.settled.evicted)
        return Counter(e.pod for e in self.plan.evictions)

    @cached_property
    def _pods_by_short(self) -> Mapping[str, list[PodKey]]:
        out: dict[str, list[PodKey]] = {}
        for p in self.snapshot.pods:
            out.setdefault(p.name, []).append(p.key)
        return out

    @cached_property
    def _groups_by_short(self) -> Mapping[str, list[GroupKey]]:
        out: dict[str, list[GroupKey]] = {}
        for g in self.snapshot.groups:
            out.setdefault(g.name, []).append(g.key)
        return out

    def pod(self, name: str) -> PodKey:
        """Return the pod of that name; of a short name, the only one. A rejected one never runs."""
        if name in self.snapshot.pods_by_key:
            return PodKey(name)
        return PodKey(self._only("Pod", name, self._pods_by_short.get(name, [])))

    def group(self, name: str) -> GroupKey:
        if name in self.snapshot.groups_by_key:
            return GroupKey(name)
        return GroupKey(self._only("PodGroup", name, self._groups_by_short.get(name, [])))

    def _only(self, kind: str, name: str, keys: Iterable[str]) -> str:
        found = list(keys)
        if len(found) == 1:
            return found[0]
        what = "pod" if kind == "Pod" else "group"
        if found:
            raise NotThereError(f"{len(found)} {what}s are called {name}; write namespace/{name}")
        if any(r.object.startswith(f"{kind} ") and _ends(r.object, name) for r in self._refused):
            return name
        raise NotThereError(f"there is no {what} {name}")

    @property
    def _refused(self) -> Iterable[Any]:
        return self.snapshot.rejected

    def pods_of(self, group: str) -> tuple[Pod, ...]:
        return self.snapshot.pods_by_group.get(self.group(group), ())

    def running(self, group: str) -> list[Pod]:
        return [p for p in self.pods_of(group) if p.key in self.final]


def _ends(title: str, name: str) -> bool:
    return title.split(" ", 1)[-1].split("/")[-1] == name.split("/")[-1]


def fits(value: int, want: int | list[int]) -> bool:
    return want[0] <= value <= want[1] if isinstance(want, list) else value == want


def said(want: Any) -> str:
    return f"{want[0]} to {want[1]}" if isinstance(want, list) else str(want)


def texts(value: str | list[str]) -> list[str]:
    return [value] if isinstance(value, str) else value
