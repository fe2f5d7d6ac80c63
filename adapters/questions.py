"""Questions of a scenario, read: edits of its cluster, and the settings of the second plan."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..models import Config, InputError, Snapshot
from ..models.edit import edited
from ..models.edits import AddNodes, Cordon, Drain, Edit, RemoveNode, Submit, Uncordon
from ..policies.registry import rules_for
from .ask.edit_words import READERS
from .configuration import Changes, changed
from .scenario_group import ScenarioGroup
from .scenario_whatif import OPTIONS, ScenarioEdit, ScenarioWhatIf

Beside = Callable[[ScenarioGroup], Snapshot]
"""Reads a group beside the cluster of the scenario, so that queues and classes are known."""


@dataclass(frozen=True, slots=True)
class Question:
    """What would be if: edits and settings, and what is expected then."""

    title: str
    edits: tuple[Edit, ...]
    changes: Changes
    """Settings of the second plan that are different."""
    asked: ScenarioWhatIf


def questions_of(
    written: Sequence[ScenarioWhatIf],
    snapshot: Snapshot,
    config: Config,
    beside: Beside,
    source: str,
) -> tuple[Question, ...]:
    """Return the questions of a scenario about its cluster.

    Raises
    ------
    InputError
        If an edit names what there is not, or cannot be made; the message says which one.
    """
    return tuple(
        _question(asked, snapshot, config, beside, f"{source}: whatIf[{i}]")
        for i, asked in enumerate(written)
    )


def _question(
    asked: ScenarioWhatIf, snapshot: Snapshot, config: Config, beside: Beside, where: str
) -> Question:
    edits: list[Edit] = []
    world = snapshot
    for i, one in enumerate(asked.edits):
        try:
            edits.append(_edit(one, world, beside))
            # The next one may name what this one makes.
            world = edited(world, edits[-1:])
        except InputError as e:
            raise InputError(f"{where}.edits[{i}]: {e}") from e
    changes = asked.settings.changes()
    rules_for(changed(config, changes))
    return Question(f"{where.rpartition(': ')[2]} ({asked.name})", tuple(edits), changes, asked)


def _edit(one: ScenarioEdit, snapshot: Snapshot, beside: Beside) -> Edit:
    if one.add_nodes is not None:
        return AddNodes(one.add_nodes.like, one.add_nodes.count, one.add_nodes.labels)
    if one.submit is not None:
        new = brought(beside(one.submit), snapshot)
        if new is None:
            raise InputError("submit: brings no new group; is there one of that name?")
        return new
    (field,) = one.model_fields_set
    value = getattr(one, field)
    if field in OPTIONS:
        return READERS[OPTIONS[field]](snapshot, value)
    kinds: dict[str, Callable[[str], Edit]] = {
        "remove_node": RemoveNode, "drain": Drain, "cordon": Cordon, "uncordon": Uncordon
    }  # fmt: skip
    return kinds[field](value)


def brought(beside: Snapshot, base: Snapshot) -> Submit | None:
    """Return what is new beside a cluster, to be submitted; None where no group is."""
    groups = tuple(g for g in beside.groups if g.key not in base.groups_by_key)
    pods = tuple(p for p in beside.pods if p.ours and p.key not in base.pods_by_key)
    claims = tuple(c for c in beside.claims if c.key not in base.claims_by_key)
    return Submit(groups, pods, claims) if groups else None
