"""Slices: a pod set cut into parts of equal size, which pods form one by their index."""

import re
from collections.abc import Iterable, Iterator, Sequence

from .faults import Ledger
from .meta import Thing
from .nearness import Nearness, set_name, slices_of
from .pods import role_of

INDEX = "batch.kubernetes.io/job-completion-index"
_DIGITS = re.compile(r"(\d+)")


def sliced(things: Sequence[Thing], ledger: Ledger) -> dict[str, list[tuple[str, Nearness]]]:
    """Return, by pod key, the slices that the pod is in and what they ask for.

    Pods without an index are counted in the order of their names, digits as numbers.
    """
    sets: dict[str, list[Thing]] = {}
    for thing in things:
        sets.setdefault(set_name(thing, role_of(thing)), []).append(thing)
    out: dict[str, list[tuple[str, Nearness]]] = {}
    for name, members in sets.items():
        cuts = next((c for t in members if (c := slices_of(t, ledger))), [])
        for n, cut in enumerate(cuts):
            layer = f" of layer {n + 1}" if n else ""
            for index, thing in _indexed(members, cut.index_label or INDEX):
                found = (f"{name} slice {index // cut.size}{layer}", cut.near)
                out.setdefault(thing.key, []).append(found)
    return out


def _indexed(members: Iterable[Thing], label: str) -> Iterator[tuple[int, Thing]]:
    members = list(members)
    written = [t.labels.get(label) or t.annotations.get(label, "") for t in members]
    if all(w.isascii() and w.isdigit() and len(w) < 10 for w in written):
        yield from zip(map(int, written), members, strict=True)
    else:
        yield from enumerate(sorted(members, key=_by_name))


def _by_name(thing: Thing) -> tuple[tuple[int, int, str], ...]:
    return tuple((0, int(s), "") if s.isdigit() else (1, 0, s) for s in _DIGITS.split(thing.name))
