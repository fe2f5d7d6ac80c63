"""Explaining why a group waits: by which rules, or behind whom; and what would let it start."""

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any, Literal

from ...models import Config, GroupKey, Plan, Reason, Snapshot
from ...models.edit_groups import group_named
from ...models.snapshot import API_VERSION
from ...models.value import Value, to_data
from ...policies.holds import holds
from ...policies.outcome import Outcome
from ...policies.registry import rules_for
from ...policies.scene import Scene
from ...policies.standing import standing_of
from ...solver.conflict import conflict_of
from ...solver.entry import plan
from ...solver.heap import one_cycle
from ...solver.process import SolverProcess
from .change import Change, to_rows
from .changes import changes_for
from .conflict_words import Member, members_of
from .difference import GroupState, states_of
from .rivals import Order, order_of
from .trial import Trial, is_small
from .whatif import repeatable

KIND = "Explanation"
By = Literal["", "hold", "rules", "order"]


class Explanation(Value, frozen=True, omit_defaults=False):
    """How a group stands in a plan, and why."""

    group: GroupKey
    queue: str
    state: GroupState
    held_by: By = ""
    """What keeps it: a hold (something about the group or its queue), rules, or the order."""
    reasons: tuple[Reason, ...] = ()
    """What the plan itself says."""
    conflict: tuple[Member, ...] = ()
    """A smallest set of (rule, subject) that cannot hold together while the group starts."""
    minimal: bool = False
    """Proven: without any one member of the conflict, the rest can hold."""
    order: Order | None = None
    changes: tuple[Change, ...] = ()
    left_out: tuple[str, ...] = ()
    """Kinds of changes that were not tried, or not to the end, as time or trials were over."""


def explain(
    snapshot: Snapshot,
    config: Config,
    group: GroupKey,
    *,
    process: SolverProcess | None = None,
    changes: bool = True,
    limit_s: float = 10.0,
    stop: Callable[[], bool] = lambda: False,
    known: Plan | None = None,
) -> Explanation:
    """Say why a group waits, and what would start it.

    ``known`` is the plan in which it waits, where that was made before; else one is made, small
    clusters without a clock. ``limit_s`` bounds the search for a conflict; ``changes`` False leaves
    the trials out, and ``stop`` ends them.

    Raises
    ------
    InputError
        If there is no such group.
    """
    group_named(snapshot, group)
    if is_small(snapshot):
        config = repeatable(config)
    with one_cycle(), ExitStack() as stack:
        if process is None:
            process = stack.enter_context(SolverProcess(config.memory_limit_mib))
        return _explain(snapshot, config, group, process, changes, limit_s, stop, known)


def _explain(
    snapshot: Snapshot,
    config: Config,
    key: GroupKey,
    process: SolverProcess,
    changes: bool,
    limit_s: float,
    stop: Callable[[], bool],
    known: Plan | None,
) -> Explanation:
    made = known if known is not None else plan(snapshot, config, process=process)
    queue = snapshot.group(key).queue
    state = states_of(snapshot, made)[key]
    unread = _unread(snapshot, key)
    reasons = (*_reasons(made, key), *unread)
    if not reasons:
        return Explanation(key, queue, state)
    scene = Scene(snapshot, config, rules_for(config))
    outcome = Outcome.of_plan(scene, made)
    found: tuple[Member, ...] = ()
    minimal = False
    by: By = "order"
    order: Order | None = None
    held = next(iter(holds(scene, key)), None)
    if held is not None or not scene.roster[key].pending:
        by, minimal = "hold", True
        one = held if held is not None else reasons[0]
        said = [one, *(r for r in unread if r != one)]
        found = tuple(Member(r.rule, r.about, r.message) for r in said)
    elif not standing_of(scene).could_run[key]:
        by = "rules"
        conflict = conflict_of(scene, key, process, limit_s)
        if conflict is not None:
            found, minimal = members_of(conflict), conflict.minimal
    else:
        order = order_of(outcome, key)
    tried: list[Change] = []
    left_out: tuple[str, ...] = ()
    if changes and not (order is not None and order.room) and scene.roster[key].pending:
        trial = Trial(outcome, key, process, stop)
        tried, left_out = changes_for(outcome, trial, by)
    return Explanation(
        key, queue, state, by, reasons, found, minimal, order, tuple(tried), left_out
    )  # fmt: skip


def _reasons(made: Plan, key: GroupKey) -> tuple[Reason, ...]:
    return next((h.reasons for h in made.held if h.group == key), ())


def _unread(snapshot: Snapshot, key: GroupKey) -> tuple[Reason, ...]:
    """Return pods of the namespace that were refused at the door, if the group lacks members.

    Whose they are nobody knows, as they could not be read.
    """
    group = snapshot.group(key)
    if sum(p.group == key for p in snapshot.pods) >= group.minimum:
        return ()
    there = f"Pod {group.namespace}/"
    return tuple(
        Reason("input", r.object, f"was refused, and may be a member: {r.path} {r.message}")
        for r in snapshot.rejected
        if r.object.startswith(there)
    )


def to_document(of: Explanation) -> dict[str, Any]:
    """Return the explanation as plain data."""
    data = {f: to_data(getattr(of, f)) for f in ("state", "reasons", "conflict", "order")}
    return {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "group": of.group,
        "queue": of.queue,
        "state": data["state"],
        "heldBy": of.held_by,
        "reasons": data["reasons"],
        "conflict": data["conflict"],
        "minimal": of.minimal,
        "order": data["order"],
        "changes": to_rows(of.changes),
        "leftOut": list(of.left_out),
    }
