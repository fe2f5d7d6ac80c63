"""KAI's subgroups as a tree: what is wrong with it, and what the group needs of its leaves.

A subgroup with children needs all of them, or ``minSubGroup`` of them; one without needs its
``minMember``.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ...models import Choice
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
    def needs(self) -> tuple[dict[str, int], tuple[Choice, ...]]:
        """Minima of the leaves that are needed in any case, and of which others some are."""
        return self._needs(_TOP)

    def _needs(self, name: str) -> tuple[dict[str, int], tuple[Choice, ...]]:
        children = [p.name for p in self.parts if p.name and (p.parent or _TOP) == name]
        if name and not children:
            return {name: self.leaves[name]}, ()
        least = self._least(name)
        if least == 0:
            return {}, ()
        below = {child: self._needs(child) for child in sorted(children)}
        if least is None or least == len(children):
            return (
                {leaf: n for roles, _ in below.values() for leaf, n in roles.items()},
                tuple(c for _, choices in below.values() for c in choices),
            )
        leaves: dict[str, int] = {}
        inner: list[Choice] = []
        for child, (roles, choices) in below.items():
            if child in roles:
                leaves[child] = roles[child]
            elif roles or choices:
                inner.append(_all_of(roles, choices))
            else:
                least -= 1  # it needs nobody
        return {}, (Choice(least, leaves, tuple(inner)),) if least > 0 else ()

    def _least(self, name: str) -> int | None:
        if name == _TOP:
            return self.least
        return next(p.min_sub_group for p in self.parts if p.name == name)


def _all_of(roles: Mapping[str, int], choices: tuple[Choice, ...]) -> Choice:
    if not roles and len(choices) == 1:
        return choices[0]
    return Choice(len(roles) + len(choices), roles, choices)


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
