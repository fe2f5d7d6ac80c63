"""Edits as people write them on a command line: ``GROUP=N``, ``NAME.limit.RESOURCE=AMOUNT``."""

import re
from collections.abc import Callable, Sequence

from ...models import GroupKey, InputError, Snapshot, Toleration
from ...models.edits import (
    CopyGroup,
    DropSelector,
    Edit,
    Relax,
    RemoveGroup,
    Resize,
    SetMinimum,
    SetPriority,
    SetQueue,
    SetQueuePriority,
    SetRequests,
    SetWeight,
    Tolerate,
    Wait,
)
from ...models.quantity import parse
from ...models.unknown import unknown
from ..durations import duration_ms

_QUEUE_NUMBER = re.compile(r"(?P<name>.+)\.(?P<what>weight|priority)=(?P<value>.*)")
_QUEUE_AMOUNT = re.compile(
    r"(?P<name>.+?)\.(?P<what>limit|due|guarantee)\.(?P<of>[^=]+)=(?P<value>.*)"
)
_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")


def group_key(snapshot: Snapshot, text: str) -> GroupKey:
    """Return the key of a group named ``namespace/name``, or by its name where only one has it.

    Raises
    ------
    InputError
        If there is no such group, or several.
    """
    if text in snapshot.groups_by_key:
        return GroupKey(text)
    found = sorted(g.key for g in snapshot.groups if g.name == text)
    if len(found) > 1:
        raise InputError(f"{len(found)} groups are called {text}: {', '.join(found[:5])}; name one")
    if not found:
        # A pod's name will do as well: people look at pods.
        pods = [p for p in snapshot.pods if text in (p.key, p.name) and p.group is not None]
        found = sorted({p.group for p in pods if p.group is not None})
    if len(found) != 1:
        for r in snapshot.rejected:
            kind, _, name = r.object.partition(" ")
            if kind == "Pod" and text in (name, name.partition("/")[2]):
                raise InputError(f"{r.object} was refused: {r.path} {r.message}")
        raise unknown("group", text, snapshot.groups_by_key)
    return found[0]


def removal(snapshot: Snapshot, text: str) -> Edit:
    return RemoveGroup(group_key(snapshot, text))


def wait(snapshot: Snapshot, text: str) -> Edit:
    """Read a time such as ``2h10m``."""
    del snapshot
    try:
        return Wait(-(-duration_ms(text) // 1000))
    except ValueError as e:
        raise InputError(f"--wait: {e}") from e


def copy(snapshot: Snapshot, text: str) -> Edit:
    """Read ``GROUP`` or ``GROUP=N``."""
    name, _, n = text.partition("=")
    return CopyGroup(group_key(snapshot, name), _number(n or "1", "--copy", text))


def priority(snapshot: Snapshot, text: str) -> Edit:
    name, n = _two(text, "--set-priority", "GROUP=N")
    return SetPriority(group_key(snapshot, name), _number(n, "--set-priority", text))


def minimum(snapshot: Snapshot, text: str) -> Edit:
    name, n = _two(text, "--set-minimum", "GROUP=N")
    return SetMinimum(group_key(snapshot, name), _number(n, "--set-minimum", text))


def size(snapshot: Snapshot, text: str) -> Edit:
    """Read ``GROUP=N`` or ``GROUP:ROLE=N``."""
    name, n = _two(text, "--resize", "GROUP=N or GROUP:ROLE=N")
    group, _, role = name.partition(":")
    return Resize(group_key(snapshot, group), _number(n, "--resize", text), role)


def requests(snapshot: Snapshot, text: str) -> Edit:
    """Read ``GROUP:RESOURCE=AMOUNT``."""
    name, value = _two(text, "--set-requests", "GROUP:RESOURCE=AMOUNT")
    group, _, resource = name.partition(":")
    if not resource:
        raise InputError(f"--set-requests: {text!r} names no resource; write {group}:cpu={value}")
    amount = _amount(value, resource, "--set-requests", text)
    return SetRequests(group_key(snapshot, group), {resource: amount})


def relax(snapshot: Snapshot, text: str) -> Edit:
    """Read ``GROUP`` (no level at all) or ``GROUP=LEVEL``."""
    name, _, level = text.partition("=")
    group, _, subgroup = name.partition(":")
    return Relax(group_key(snapshot, group), level, subgroup)


def tolerate(snapshot: Snapshot, text: str) -> Edit:
    """Read ``GROUP=KEY[=VALUE]:EFFECT``."""
    form = "GROUP=KEY[=VALUE]:EFFECT"
    name, taint = _two(text, "--tolerate", form)
    said, _, effect = taint.rpartition(":")
    if not said or effect not in _EFFECTS:
        raise InputError(f"--tolerate: {text!r}: write {form}, the effect {', '.join(_EFFECTS)}")
    key, equal, value = said.partition("=")
    operator = "Equal" if equal else "Exists"
    return Tolerate(group_key(snapshot, name), Toleration(key, operator, value, effect))


def selector(snapshot: Snapshot, text: str) -> Edit:
    """Read ``GROUP`` (no required node affinity) or ``GROUP=LABEL``."""
    name, _, label = text.partition("=")
    return DropSelector(group_key(snapshot, name), label)


def queue(snapshot: Snapshot, text: str) -> Edit:
    """Read ``NAME.limit|due|guarantee.RESOURCE=AMOUNT`` (``none``: not named), or a number."""
    del snapshot
    found = _QUEUE_AMOUNT.fullmatch(text)
    if found is not None:
        value = found["value"]
        amount = None if value == "none" else _amount(value, found["of"], "--set-queue", text)
        return SetQueue(found["name"], found["what"], found["of"], amount)  # type: ignore[arg-type]
    found = _QUEUE_NUMBER.fullmatch(text)
    if found is None:
        raise InputError(
            f"--set-queue: {text!r}: write NAME.limit.RESOURCE=AMOUNT (or due, guarantee), "
            "NAME.weight=N or NAME.priority=N"
        )
    n = _number(found["value"], "--set-queue", text)
    kind = SetWeight if found["what"] == "weight" else SetQueuePriority
    return kind(found["name"], n)


READERS: dict[str, Callable[[Snapshot, str], Edit]] = {
    "--set-queue": queue,
    "--remove": removal,
    "--wait": wait,
    "--copy": copy,
    "--set-priority": priority,
    "--set-requests": requests,
    "--resize": size,
    "--set-minimum": minimum,
    "--relax": relax,
    "--tolerate": tolerate,
    "--drop-selector": selector,
}
"""What reads the value of each option, in the order in which the edits are made."""


def edits_of(snapshot: Snapshot, written: Sequence[tuple[str, Sequence[str]]]) -> list[Edit]:
    """Return the edits of options with their values."""
    return [READERS[option](snapshot, text) for option, texts in written for text in texts]


def _two(text: str, option: str, form: str) -> tuple[str, str]:
    name, equal, value = text.partition("=")
    if not equal or not name:
        raise InputError(f"{option}: {text!r}: write {form}")
    return name, value


def _number(text: str, option: str, whole: str) -> int:
    try:
        value = int(text)
    except ValueError:
        raise InputError(f"{option}: {whole!r}: {text!r} is not a whole number") from None
    if not -(2**31) <= value < 2**31:
        raise InputError(f"{option}: {whole!r}: {text} is out of range")
    return value


def _amount(text: str, resource: str, option: str, whole: str) -> int:
    try:
        return parse(text, resource)
    except ValueError as e:
        raise InputError(f"{option}: {whole!r}: {e}") from e
