"""KAI's subgroups as a tree: what is wrong with it, and which of its leaves the group needs.

A subgroup with children needs all of them, or ``minSubGroup`` of them; one without needs its
``minMember``. Where some of many do, those are taken that are nearest to what they need.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from .body_group import SubGroupBody
from .faults import Faults

_PATH = "spec.subGroups"
_TOP = ""


@dataclass(frozen=True, slots=True)
class SubgroupTree:
    """The subgroups of a group, and how many of the topmost ones it needs; None: all."""

    parts: Sequence[SubGroupBody]
    least: int | None

    @property
    def leaves(self) -> dict[str, int]:
        """Minima of the subgroups without children."""
        above = {p.parent for p in self.parts if p.parent}
        return {
            p.name: 1 if p.min_member is None else p.min_member
            for p in self.parts
            if p.name and p.name not in above
        }

    @property
    def chooses(self) -> bool:
        """Say whether fewer than all of some subgroup's children may do."""
        return any(n is not None for n in (self.least, *(p.min_sub_group for p in self.parts)))

    def chosen(
        self, there: Mapping[str, int], runs: Mapping[str, int]
    ) -> tuple[dict[str, int], tuple[str, ...]]:
        """Return minima of the leaves that are needed, and where it had to be chosen among several.

        ``there`` and ``runs``: how many pods of each leaf there are, and how many of them run.
        """
        open_to_choice: list[str] = []
        needed = self._needed(_TOP, there, runs, open_to_choice)
        return needed, tuple(open_to_choice)

    def _needed(
        self, name: str, there: Mapping[str, int], runs: Mapping[str, int], where: list[str]
    ) -> dict[str, int]:
        children = [p.name for p in self.parts if p.name and (p.parent or _TOP) == name]
        if name and not children:
            return {name: self.leaves[name]}
        path, least = self._said(name)
        options = []
        for place, child in enumerate(children):
            below: list[str] = []
            need = self._needed(child, there, runs, below)
            lacking = sum(max(0, n - there.get(leaf, 0)) for leaf, n in need.items())
            begun = sum(min(n, runs.get(leaf, 0)) for leaf, n in need.items())
            options.append((lacking, -begun, sum(need.values()), place, need, below))
        if least is not None and least < len(children):
            where += [path] if least else []
            options = sorted(options, key=lambda o: o[:4])[:least]
        for *_, below in options:
            where += below
        return {leaf: n for *_, need, _ in options for leaf, n in need.items()}

    def _said(self, name: str) -> tuple[str, int | None]:
        if name == _TOP:
            return "spec.minSubGroup", self.least
        at = next(i for i, p in enumerate(self.parts) if p.name == name)
        return f"{_PATH}[{at}].minSubGroup", self.parts[at].min_sub_group


def check_tree(tree: SubgroupTree, faults: Faults) -> None:
    """Note every fault of the tree: names, parents, circles, and more asked for than there is."""
    parents: dict[str, str] = {}
    for i, part in enumerate(tree.parts):
        if not part.name:
            faults.add(f"{_PATH}[{i}].name", "is missing; pods name their subgroup by it")
        elif part.name in parents:
            faults.add(f"{_PATH}[{i}].name", f"{part.name} is there already; give it another name")
        else:
            parents[part.name] = part.parent or _TOP
    for i, part in enumerate(tree.parts):
        if part.parent and part.parent not in parents:
            faults.add(f"{_PATH}[{i}].parent", f"there is no subgroup {part.parent}; add it")
        elif part.name and part.name in _upwards(part.name, parents):
            faults.add(f"{_PATH}[{i}].parent", f"{part.name} is above itself; name another")
    children = list(parents.values())
    most = [("spec.minSubGroup", tree.least, children.count(_TOP))]
    most += [
        (f"{_PATH}[{i}].minSubGroup", p.min_sub_group, children.count(p.name or _TOP))
        for i, p in enumerate(tree.parts)
    ]
    for path, least, n in most:
        if least is not None and least > n:
            faults.add(path, f"is {least}, but there are {n} subgroups below it; write at most {n}")


def _upwards(name: str, parents: Mapping[str, str]) -> Iterator[str]:
    """Yield the ancestors of a subgroup, once round where they are a circle."""
    at = parents.get(name, _TOP)
    for _ in range(len(parents)):
        if at == _TOP:
            return
        yield at
        at = parents.get(at, _TOP)


def tree_of(parts: Iterable[SubGroupBody] | None, least: int | None) -> SubgroupTree:
    return SubgroupTree(tuple(parts or ()), least)
