"""Why a group is held, in words and numbers."""

from collections.abc import Iterable

import numpy as np

from ..models import GroupKey, Pod, Reason
from ..policies.fitting import Field, emptied
from ..policies.holds import holds
from ..policies.ledger import Matrix
from ..policies.members import Members, Standing
from ..policies.outcome import Outcome
from ..policies.standing import standing_of


def reasons_for(outcome: Outcome, key: GroupKey) -> Iterable[Reason]:
    """Return the reasons of a group that wants more than it gets; at least one."""
    scene = outcome.scene
    m = scene.roster[key]
    found = list(holds(scene, key))
    if found:
        return found
    if not m.pending:
        gates = sorted({g for p in m.gated for g in p.gates})
        return [Reason("gates", f"group {key}", f"waits for scheduling gates: {', '.join(gates)}")]
    after = outcome.after(key)
    elastic = m.is_whole(after)
    pods = [p for p in m.pending if p.key not in outcome.places]
    wanted = pods[:1] if elastic or not m.first else list(m.first)
    if not wanted:
        gates = sorted({g for p in m.gated for g in p.gates})
        return [Reason("gates", f"group {key}", f"waits for scheduling gates: {', '.join(gates)}")]
    return [*_quota(outcome, m, wanted), *_nodes(outcome, m, wanted, elastic)] or [
        Reason("order", f"group {key}", "other work comes first")
    ]


def _quota(outcome: Outcome, m: Members, pods: list[Pod]) -> Iterable[Reason]:
    from ..models.quantity import show
    from ..policies.limits import limits_of
    from ..policies.quota import non_preemptible_use

    scene = outcome.scene
    limits = limits_of(scene)
    ask = scene.rows(pods)
    for q in scene.tree.path(m.group.queue):
        for r, most in enumerate(limits.limit[q]):
            use = int(outcome.use_after[q][r])
            if most is not None and ask[r] and use + int(ask[r]) > most:
                name = scene.ledger.resources[r]
                yield Reason(
                    "quota", f"queue {q}",
                    f"queue {q} is at {show(use, name)} of its limit of "
                    f"{show(most, name)} {name}; {show(int(ask[r]), name)} more "
                    f"{'is' if int(ask[r]) == 1 else 'are'} asked for",
                )  # fmt: skip
                return
        if not m.group.preemptable:
            for r, due in limits.due_named(q).items():
                fixed = non_preemptible_use(scene)[q][r]
                if ask[r] and fixed + int(ask[r]) > due:
                    name = scene.ledger.resources[r]
                    yield Reason(
                        "quota", f"queue {q}",
                        f"cannot be preempted and would take queue {q} above its due of "
                        f"{show(due, name)} {name} ({show(fixed, name)} are in use)",
                    )  # fmt: skip
                    return


def _nodes(outcome: Outcome, m: Members, pods: list[Pod], elastic: bool) -> Iterable[Reason]:
    scene = outcome.scene
    room = scene.room_later.copy()
    for p, i in scene.holders:
        if p.key in outcome.evicted:
            room[i] = room[i] + scene.row(p)
    for p, i in outcome.new_pods:
        room[i] = room[i] - scene.row(p)
    world = scene.world(outcome.evicted)
    world.present.extend(outcome.new_pods)
    field = Field(scene, room, world)
    fitting = _most_that_fit(field, pods)
    need = len(pods)
    what = "one more member" if elastic else f"{fitting} of {need} members"
    sample = next((p for p in pods if not field.candidates(p).any()), pods[0])
    words = _why_not(outcome, sample, room)
    ever = standing_of(scene).could_run[m.key]
    if not ever:
        alone = _most_that_fit(emptied(scene), pods)
        yield Reason(
            "capacity", f"group {m.key}",
            f"cannot run on this cluster even when it is empty of work that may be evicted: "
            f"{alone} of {need} members would fit; {words}",
        )  # fmt: skip
    elif fitting < need or elastic:
        fit = "no node takes one more member" if elastic else f"{what} would fit"
        yield Reason("capacity", f"group {m.key}", f"{fit}; {words}")
    elif m.standing is not Standing.WHOLE:
        yield Reason("order", f"group {m.key}", "room is kept for work that comes before it")


def _most_that_fit(field: Field, pods: list[Pod]) -> int:
    placed: list[tuple[Pod, int]] = []
    for p in pods:
        spots = field.candidates(p)
        if spots.any():
            i = int(spots.argmax())
            field.add(p, i)
            placed.append((p, i))
    for p, i in placed:
        field.add(p, i, -1)
    return len(placed)


def _why_not(outcome: Outcome, pod: Pod, room: Matrix) -> str:
    """Count nodes by what stands against the pod: filters first, then the scarce resources."""
    scene = outcome.scene
    counts: list[tuple[int, str]] = []
    for rule, reasons in scene.refusals(pod).items():
        same: dict[str, int] = {}
        for r in reasons:
            same[r.message] = same.get(r.message, 0) + 1
        message, n = max(same.items(), key=lambda t: (t[1], t[0]))
        more = "" if len(same) == 1 else f" and {len(same) - 1} other reasons"
        counts.append((len(reasons), f"{rule}: {message}{more}"))
        del n
    mask = scene.mask(pod)
    row = scene.row(pod)
    for r in np.flatnonzero(row):
        n = int((mask & (room[:, r] < row[r])).sum())
        if n:
            counts.append((n, f"too little {scene.ledger.resources[r]}"))
    if not counts:
        return "ports, affinity or spread of other pods stand against it"
    total = len(scene.nodes)
    counts.sort(reverse=True)
    return "; ".join(f"{n} of {total} nodes: {why}" for n, why in counts[:4])
