"""Changes: the smallest ones of each kind that would start a group, each tried before it is told.

A change is told where a plan of a copy of the cluster with it starts the group. Within its kind it
is smallest where smaller ones were planned as well and do not do, or where there are none.
"""

from collections.abc import Iterator, Sequence

from ...models.edits import AddNodes
from ...policies.outcome import Outcome
from .change import OUT, Change, Revised
from .kinds import Asked
from .trial import Trial

KINDS = (
    "queue", "level", "toleration", "selector", "cordon", "members", "nodes", "wait", "victims",
    "priority", "due",
)  # fmt: skip
"""Every kind of changes, in the order in which they are told."""
LIKELY = ("queue", "nodes", "priority", "victims", "members")
"""The kinds that are looked for first: they mostly do, and are soon tried."""
WHATEVER_IS_FREE = ("queue", "members")
"""The kinds that help a group which could not start whatever is free."""
NEVER_BY_RULES = ("priority", "due")
"""The kinds that help no group which could not run even if it came first."""


def changes_for(
    outcome: Outcome, trial: Trial, by: str = "order"
) -> tuple[list[Change], tuple[str, ...]]:
    """Return changes that start the group, and the kinds for which there was no time.

    ``by``: what holds it: a hold, rules or the order. The kinds take turns: of each one is looked
    for before others of the kinds are, and none keeps the others waiting until it has gone through
    all that it could try.
    """
    asked = Asked(outcome, outcome.scene.roster[trial.key], trial)
    found: dict[str, list[Change]] = {k: [] for k in _kinds_for(by)}
    first = {k: n for n, k in enumerate(LIKELY)}
    open_ = {k: asked.of_kind(k) for k in sorted(found, key=lambda k: first.get(k, len(first)))}
    cut: set[str] = set()
    while open_:
        for kind, more in list(open_.items()):
            change = OUT if trial.is_over else next(more, OUT)
            if isinstance(change, Change):
                found[kind][len(found[kind]) - isinstance(change, Revised) :] = [change]
            elif change is OUT:
                del open_[kind]
                if trial.is_over and not found[kind]:
                    cut.add(kind)
    return [c for of in found.values() for c in of], tuple(k for k in found if k in cut)


def _kinds_for(by: str) -> list[str]:
    if by == "hold":
        return list(WHATEVER_IS_FREE)
    return [k for k in KINDS if by != "rules" or k not in NEVER_BY_RULES]


def first_change(
    outcome: Outcome, trial: Trial, kinds: Sequence[str], *, is_held: bool = False
) -> Change | None:
    """Return a change that starts the group, of the first kind that does.

    ``is_held``: whatever is free, it cannot start.
    """
    asked = Asked(outcome, outcome.scene.roster[trial.key], trial)
    # Where pods have to share a domain, it matters in which one the nodes are.
    near = any(b.required is not None for b in outcome.scene.bonds.of_group(trial.key))
    for kind in kinds:
        if is_held and kind not in WHATEVER_IS_FREE:
            continue
        found = asked.of_kind(kind)
        told = (c for c in found if c is not None)
        if near and kind == "nodes":
            change = min(told, key=_nodes_added, default=None)
        else:
            change = _settled(told)
        if change is not None:
            return change
    return None


def _settled(found: Iterator[Change]) -> Change | None:
    """Return the first of the changes, as small as it is proven to be."""
    change = next(found, None)
    while change is not None and not change.smallest:
        other = next(found, None)
        if not isinstance(other, Revised):
            break
        change = other
    return change


def _nodes_added(change: Change) -> tuple[int, bool]:
    count = sum(e.count for e in change.edits if isinstance(e, AddNodes))
    return count, not change.smallest
