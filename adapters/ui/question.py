"""A question: changes as the form sends them, and the plan of the cluster that they make."""

from collections.abc import Callable, Mapping, Sequence

from ...models import Config, InputError, Plan, Snapshot
from ...models.edits import (
    AddNodes,
    CopyGroup,
    Cordon,
    Drain,
    Edit,
    RemoveNode,
    Resize,
    Uncordon,
)
from ...policies.registry import rules_for
from ...solver.process import SolverProcess
from ..ask.edit_words import READERS
from ..ask.settings_words import changes_of
from ..ask.whatif import WhatIf, whatif
from ..configuration import changed

MOST = 20
"""Changes of one question."""
MOST_ADDED = 5_000
"""Nodes, or members and copies of a group, that one change may ask for."""
LONGEST = 600
"""Characters of one change."""
SET = "--set"
_NODES: Mapping[str, Callable[[str], Edit]] = {
    "--drain": Drain, "--cordon": Cordon, "--uncordon": Uncordon, "--remove-node": RemoveNode,
}  # fmt: skip
ADD = "--add-nodes"
OPTIONS: Mapping[str, tuple[str, str]] = {
    "--drain": ("drain a node", "NODE"),
    "--cordon": ("cordon a node", "NODE"),
    "--uncordon": ("uncordon a node", "NODE"),
    "--remove-node": ("remove a node", "NODE"),
    ADD: ("add nodes like one", "NODE=N"),
    "--copy": ("submit copies of a group", "GROUP=N"),
    "--remove": ("remove a group", "GROUP"),
    "--wait": ("wait", "2h10m"),
    "--set-priority": ("set a priority", "GROUP=N"),
    "--resize": ("resize a group", "GROUP=N"),
    "--set-minimum": ("set a minimum", "GROUP=N"),
    "--set-requests": ("change what pods ask for", "GROUP:RESOURCE=AMOUNT"),
    "--relax": ("relax the topology", "GROUP=LEVEL"),
    "--tolerate": ("tolerate a taint", "GROUP=KEY:EFFECT"),
    "--drop-selector": ("drop a node selector", "GROUP=LABEL"),
    "--set-queue": ("change a queue", "NAME.limit.RESOURCE=AMOUNT"),
    SET: ("change a setting", "tiers.packing=spread"),
}
"""What the form offers, in its order: words, and how the value is written."""


def split(change: str) -> tuple[str, str]:
    """Return option and value of ``--drain gpu-a``.

    Raises
    ------
    InputError
        If it is no change that can be asked for.
    """
    option, _, value = change.strip().partition(" ")
    if option not in OPTIONS:
        raise InputError(f"{option[:40]!r} is no change; choose one of {', '.join(OPTIONS)}")
    if not value.strip() or len(value) > LONGEST:
        raise InputError(f"{option}: write {OPTIONS[option][1]}")
    return option, value.strip()


def answered(
    snapshot: Snapshot,
    config: Config,
    changes: Sequence[str],
    base: Plan,
    process: SolverProcess | None,
) -> tuple[WhatIf, Config]:
    """Return what the changes make different, with the settings of the second plan.

    Raises
    ------
    InputError
        If a change cannot be understood or made.
    """
    if len(changes) > MOST:
        raise InputError(f"{len(changes)} changes are too many at once; {MOST} are the most")
    pairs = [split(c) for c in changes]
    edits = [_edit(snapshot, *of) for of in pairs if of[0] != SET]
    settings = [value for option, value in pairs if option == SET]
    other = changed(config, changes_of(settings)) if settings else config
    rules_for(other)
    answer = whatif(
        snapshot, config, edits, changed_config=other, settings=settings, process=process,
        known=base,
    )  # fmt: skip
    return answer, other


def _edit(snapshot: Snapshot, option: str, value: str) -> Edit:
    if option == ADD:
        return _added(value)
    if option in _NODES:
        return _NODES[option](value)
    edit = READERS[option](snapshot, value)
    asks_for = edit.count if isinstance(edit, CopyGroup) else 0
    asks_for = edit.members if isinstance(edit, Resize) else asks_for
    if asks_for > MOST_ADDED:
        raise InputError(f"{option}: {value!r}: {MOST_ADDED:,} are the most here")
    return edit


def _added(value: str) -> Edit:
    name, equal, n = value.rpartition("=")
    if not equal:
        return AddNodes(value)
    if not (n.isascii() and n.isdecimal() and 0 < int(n[:9]) <= MOST_ADDED):
        raise InputError(f"{ADD}: {value!r}: write NODE=N, N from 1 to {MOST_ADDED}")
    return AddNodes(name, int(n))
