"""Queues whose annotations say where in a tree they are, in Volcano's words for hierarchical DRF.

``volcano.sh/hierarchy`` is a path such as root/eng/prod and ``volcano.sh/hierarchy-weights`` has a
weight for each part of it, 1/2/8. The parts between the root and the queue need no object: they are
queues called by their paths. Source: docs/design/hdrf.md of Volcano.
"""

from collections.abc import Iterable
from fractions import Fraction

from ..paths import below
from .faults import Ledger
from .meta import Thing
from .queue_drafts import VOLCANO_ROOT, QueueDraft

HIERARCHY, WEIGHTS = "volcano.sh/hierarchy", "volcano.sh/hierarchy-weights"
_LONGEST = 200
_HEAVIEST = 10**6


def with_paths(found: Iterable[tuple[Thing, QueueDraft]], ledger: Ledger) -> list[QueueDraft]:
    """Return the queues, those of a path below the parts of it, which are added.

    ``spec.parent`` counts before a path. Where paths differ about a weight, the first one counts.
    """
    out: list[QueueDraft] = []
    between: dict[str, tuple[QueueDraft, str]] = {}
    for thing, draft in found:
        out.append(draft)
        if HIERARCHY not in thing.annotations or draft.parent:
            continue
        read = _read(thing, ledger)
        if read is None:
            continue
        parts, weights = read
        for i in range(1, len(parts) - 1):
            name, above = "/".join(parts[: i + 1]), "/".join(parts[:i])
            parent = above if i > 1 else ""
            made = QueueDraft(name, thing.title, thing.group, parent, weights[i])
            known, said_by = between.setdefault(name, (made, thing.title))
            if known.weight != weights[i]:
                ledger.warn(
                    thing.title, below("metadata.annotations", WEIGHTS),
                    f"{name} has the weight {known.weight} in {said_by}, which counts, and "
                    f"{weights[i]} here; write the same in both",
                )  # fmt: skip
        draft.weight = weights[-1]
        draft.parent = "/".join(parts[:-1]) if len(parts) > 2 else ""
    return [*out, *(d for d, _ in between.values())]


def _read(thing: Thing, ledger: Ledger) -> tuple[list[str], list[Fraction]] | None:
    """Return the parts of the path and their weights; a bad one is warned of and does not count."""
    written, said = thing.annotations[HIERARCHY], thing.annotations.get(WEIGHTS, "")
    parts = written.split("/") if len(written) <= _LONGEST else []
    if len(parts) < 2 or parts[0] != VOLCANO_ROOT or not all(parts):
        ledger.warn(
            thing.title, below("metadata.annotations", HIERARCHY),
            f"{written[:60]!r} is no path from the root and does not count; write root/a/b",
        )  # fmt: skip
        return None
    weights = [_weight(w) for w in said.split("/")] if said else [Fraction(1)] * len(parts)
    read = [w for w in weights if w is not None]
    if len(read) != len(parts) or len(weights) != len(parts):
        ledger.warn(
            thing.title, below("metadata.annotations", WEIGHTS),
            f"{said[:60]!r} is no weight above 0 for each part of {written}; all count as 1",
        )  # fmt: skip
        read = [Fraction(1)] * len(parts)
    return parts, read


def _weight(written: str) -> Fraction | None:
    text = written.strip()
    if not text.replace(".", "", 1).isdecimal() or len(text) > 12:
        return None
    weight = Fraction(text)
    return weight if 0 < weight <= _HEAVIEST else None
