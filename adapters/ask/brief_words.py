"""A change in the words that follow "would start": ``with 2 more nodes like gpu-a``."""

from ...models import GroupKey, QueueName
from ...models.edits import (
    AddNodes,
    DropSelector,
    Edit,
    Relax,
    RemoveGroup,
    SetMinimum,
    SetPriority,
    SetQueue,
    Tolerate,
    Uncordon,
    Wait,
)
from ...models.quantity import show
from ...policies.limits import limits_of
from ...policies.scene import Scene
from .change import Change
from .waits import Waits


def brief_words(scene: Scene, group: GroupKey, change: Change, evicted: int = 0) -> str:
    """Return in few words a change that starts the group.

    ``evicted`` is how many pods are evicted without it: only more than these are told.
    """
    said = [" and ".join(_words(scene, group, e) for e in change.edits)]
    if not change.smallest:
        said.append("or less")
    if not change.starts:
        said.append("once others have left")
    if (more := change.evicts - evicted) > 0:
        said.append(f"evicting {more} more pod{'s' if more > 1 else ''}")
    return ", ".join(said)


def _words(scene: Scene, group: GroupKey, edit: Edit) -> str:
    match edit:
        case AddNodes():
            return _nodes(scene, group, edit)
        case SetQueue():
            return _queue(scene, edit)
        case Uncordon():
            return f"if node {edit.node} took pods again"
        case SetMinimum():
            return f"with a minimum of {edit.minimum}"
        case Relax(level=""):
            return "if it could spread over the whole cluster"
        case Relax():
            return f"if it required one {edit.level} instead"
        case Tolerate(toleration=t):
            return f"if it tolerated {t.key}{f'={t.value}' if t.value else ''}:{t.effect}"
        case DropSelector():
            what = f"node selector {edit.label}" if edit.label else "required node affinity"
            return f"without its {what}"
        case Wait():
            return Waits.of(scene.snapshot).says_briefly(edit)
        case SetPriority():
            return f"with priority {edit.priority}"
        case RemoveGroup():
            return f"without group {edit.group}"
        case _:
            return f"if somebody did this: {edit}"


def _nodes(scene: Scene, group: GroupKey, edit: AddNodes) -> str:
    """Tell nodes with their devices, and the domain of them where the group asks for one."""
    at = scene.index[edit.like]
    offers = scene.nodes[at].allocatable
    wanted = {r for p in scene.roster[group].pending for r in p.spec.requests if "/" in r}
    each = " each" if edit.count > 1 else ""
    notes = [f"{show(offers[r], r)} {r}{each}" for r in sorted(wanted) if offers[r]]
    for bond in scene.bonds.of_group(group):
        level = bond.required
        if level is not None and level.numbers[at] >= 0:
            notes.append(f"{level.told} {level.domains[level.numbers[at]]}")
    kind = f"{edit.like} ({', '.join(notes)})" if notes else edit.like
    return f"with {edit.count} more node{'s' if edit.count > 1 else ''} like {kind}"


def _queue(scene: Scene, edit: SetQueue) -> str:
    """Tell an amount of a queue, and how much more that is."""
    assert edit.amount is not None
    column = scene.ledger.resources.index(edit.resource)
    limits = limits_of(scene)
    now = (
        limits.due_named(QueueName(edit.queue)).get(column)
        if edit.setting == "due"
        else scene.tree.queues[QueueName(edit.queue)].capability.get(edit.resource)
    )
    amount = show(edit.amount, edit.resource)
    said = f"with a {edit.setting} of {amount} {edit.resource} for queue {edit.queue}"
    if now is None:
        return said
    return f"{said}, {show(edit.amount - int(now), edit.resource)} more"
