"""In brief: of each held group one change that starts it, in words for a condition or an event.

The change is tried as ``explain`` tries its own: made on a copy, and the copy planned. Kinds come
in the order of what they ask of whom: room first, then the group's wishes, then other groups.
"""

from collections.abc import Callable, Iterator, Sequence

from ...models import Config, GroupKey, Snapshot
from ...models.value import Value
from ...policies.holds import holds
from ...policies.outcome import Outcome
from ...policies.registry import rules_for
from ...policies.scene import Scene
from ...solver.entry import plan
from ...solver.process import SolverProcess
from .brief_words import brief_words
from .changes import first_change
from .difference import states_of
from .trial import Trial, is_small
from .whatif import repeatable

KINDS = (
    "queue", "cordon", "nodes", "level", "toleration", "selector", "members", "wait", "priority",
    "due", "victims",
)  # fmt: skip
"""Kinds of changes, in the order in which they are tried; the first that does is told."""
MOST_PLANS = 20
"""So many plans are made for one group; what is not found by then is not told."""


class Brief(Value, frozen=True):
    """What would start a group, in short."""

    group: GroupKey
    says: str = ""
    """Follows "would start"; "" where the group does not wait, or no change was found."""
    plans: int = 0
    """How many plans that took."""


def briefs(
    snapshot: Snapshot,
    config: Config,
    groups: Sequence[GroupKey],
    process: SolverProcess,
    stop: Callable[[], bool] = lambda: False,
) -> Iterator[Brief]:
    """Yield what would start each of the groups, one after the other.

    The cluster is planned once for all of them. Groups that are not there are left out; ``stop``
    ends the trials of a group, and with them what follows.
    """
    if is_small(snapshot):
        config = repeatable(config)
    made = plan(snapshot, config, process=process)
    states = states_of(snapshot, made)
    waits = {h.group for h in made.held}
    scene = Scene(snapshot, config, rules_for(config))
    outcome = Outcome.of_plan(scene, made)
    for key in groups:
        if stop():
            return
        if key not in states:
            continue
        if key not in waits or not scene.roster[key].pending:
            yield Brief(key)
            continue
        trial = Trial(outcome, key, process)
        trial.stop = _ended(trial, stop)
        is_held = next(iter(holds(scene, key)), None) is not None
        change = first_change(outcome, trial, KINDS, is_held=is_held)
        if stop():
            return  # cut short: nothing is known of it
        says = brief_words(scene, key, change, len(made.evictions)) if change is not None else ""
        yield Brief(key, says, trial.plans)


def _ended(trial: Trial, stop: Callable[[], bool]) -> Callable[[], bool]:
    return lambda: trial.plans >= MOST_PLANS or stop()
