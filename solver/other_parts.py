"""Other parts: where a group needs some of many, those for which there is room as it is now."""

from collections.abc import Iterator, Sequence
from itertools import chain, islice

from ..models import Pod
from ..policies.members import Members
from .draft import Draft

TRIES = 12
"""Up to so many choices of parts are tried for one group."""


def minima_to_try(
    draft: Draft, m: Members, usable: Sequence[Pod], first: Sequence[Pod]
) -> list[Sequence[Pod]]:
    """Return choices of pending pods that would complete the minimum: the first, then others.

    Of the others, parts that fit beside each other come first: they are looked for part by part.
    """
    return list(islice(chain((first,), _others(draft, m, usable)), TRIES))


def _others(draft: Draft, m: Members, usable: Sequence[Pod]) -> Iterator[Sequence[Pod]]:
    fitting = _fitting(draft, m, usable)
    if len(fitting) < len(usable):
        waiting = {p.key for p in fitting}
        whole, _ = m.split([*m.running, *fitting])
        if m.is_whole(whole):
            yield tuple(p for p in whole if p.key in waiting)
    yield from m.minima(usable)


def _fitting(draft: Draft, m: Members, usable: Sequence[Pod]) -> list[Pod]:
    """Return the pods but for those of parts that found no room beside the parts before them."""
    of_role: dict[str, list[Pod]] = {}
    for p in usable:
        of_role.setdefault(p.role, []).append(p)
    minima = {role: n for c in m.choices for role, n in c.all_roles()}
    placed: list[Pod] = []
    out: set[str] = set()
    for role, pods in of_role.items():
        n = minima.get(role, 0) - sum(p.role == role for p in m.running)
        if n <= 0:
            continue
        done = draft.place_all(pods[:n]) if n <= len(pods) else None
        if done is None:
            out.add(role)
        else:
            placed.extend(p for p, _ in done)
    for p in reversed(placed):
        draft.take_back(p)
    return [p for p in usable if p.role not in out]
