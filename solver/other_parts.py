"""Other parts: where a group needs some of many, those for which there is room as it is now."""

from collections.abc import Iterator, Sequence

from ..models import Pod
from ..policies.members import Members
from .draft import Draft


def other_minima(draft: Draft, m: Members, usable: Sequence[Pod]) -> Iterator[Sequence[Pod]]:
    """Yield choices of pending pods that would complete the minimum, the likeliest first.

    The first is made of parts that fit beside each other: it is looked for part by part.
    """
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
