"""Why a group is held, in words and numbers."""

from collections.abc import Iterable

import numpy as np

from ..models import GroupKey, Pod, Reason
from ..models.quantity import more_asked, show
from ..policies.could_run import emptied, repels, with_running
from ..policies.fitting import Field, is_tied
from ..policies.holds import holds
from ..policies.members import Members, Standing
from ..policies.outcome import Outcome
from ..policies.scene import Scene
from ..policies.standing import standing_of

_KEPT_OUT = {"devices": "too little left on single devices"}
"""What other pods do to one, by rule."""


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
    quota = list(_quota(outcome, m, wanted))
    found = [*quota, *_nodes(outcome, m, wanted, elastic)]
    if not found and m.standing is not Standing.WHOLE:
        return [Reason("order", f"group {key}", "room is kept for work that comes before it")]
    return found or [Reason("order", f"group {key}", "other work comes first")]


def _quota(outcome: Outcome, m: Members, pods: list[Pod]) -> Iterable[Reason]:
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
                    f"{show(most, name)} {name}; {more_asked(int(ask[r]), name)}",
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
    """Say what nodes lack: after the plan, or at all."""
    scene = outcome.scene
    if not standing_of(scene).could_run[m.key]:
        field = _emptied(scene)
        back = with_running(scene, field, m)
        found = list(_levels(field, m, pods, ", even on a cluster empty of what may be evicted"))
        fitting, words = (0, "") if found else _most_that_fit(field, pods)
        for p, i in back:
            field.add(p, i, -1)
        if found:
            yield from found
            return
        yield Reason(
            "capacity", f"group {m.key}",
            f"cannot run on this cluster even when it is empty of work that may be evicted: "
            f"{fitting} of {len(pods)} members would fit; {words}",
        )  # fmt: skip
        return
    field = _after(outcome)
    found = list(_levels(field, m, pods, ""))
    if found:
        yield from found
        return
    fitting, words = _most_that_fit(field, pods)
    if fitting < len(pods):
        fit = f"{fitting} of {len(pods)} members would fit"
        if elastic:
            fit = "no node takes one more member"
        yield Reason("capacity", f"group {m.key}", f"{fit}; {words}")


def _emptied(scene: Scene) -> Field:
    """Return the nodes without evictable work; whoever tries pods there takes them off again."""
    return scene.once("emptied", emptied)


def _after(outcome: Outcome) -> Field:
    """Return the nodes as the plan leaves them; whoever tries pods there takes them off again."""
    if outcome.kept_field is None:
        world = outcome.scene.world(outcome.evicted)
        world.present.extend(outcome.new_pods)
        outcome.kept_field = Field(outcome.scene, outcome.room, world)
    assert isinstance(outcome.kept_field, Field)
    return outcome.kept_field


def _levels(field: Field, m: Members, pods: list[Pod], where: str) -> Iterable[Reason]:
    """Say what the best domain of each required level has room for."""
    for bond in field.scene.bonds.of_group(m.key):
        mine = [p for p in pods if bond.holds(p)]
        level = bond.required
        if level is None or not mine:
            continue
        (choice,) = [c for c in field.choices(mine) if c.bond is bond]
        best, at = -1, -1
        for mask in choice.domains:
            with field.confined(choice.pods, mask):
                n = _fitting(field, mine)
            if n > best:
                best, at = n, int(level.numbers[int(np.argmax(mask))])
        if best >= len(mine):
            continue
        asked = f"needs {_told(mine)} in one {level.told}{where}"
        if at < 0:
            yield Reason("topology", bond.label, f"{asked}; no node that it may use is in any")
            continue
        only = "where its other pods are" if len(choice.domains) == 1 else "the best"
        yield Reason(
            "topology", bond.label, f"{asked}; {level.domains[at]}, {only}, has room for {best}"
        )


def _told(pods: list[Pod]) -> str:
    """Tell pods in numbers: how many, and of what."""
    specs = {p.spec for p in pods}
    n = f"{len(pods)} pod{'s' if len(pods) > 1 else ''}"
    if len(specs) > 1:
        return n
    requests = pods[0].spec.requests
    names = sorted(requests, key=lambda r: (r in ("memory", "ephemeral-storage"), r == "cpu", r))
    return f"{n} of {show(requests[names[0]], names[0])} {names[0]}" if names else n


def _fitting(field: Field, pods: list[Pod]) -> int:
    """Place one pod after the other; return how many fit."""
    placed = []
    for p in pods:
        spots = field.candidates(p)
        if spots.any():
            placed.append((p, int(spots.argmax())))
            field.add(*placed[-1])
    for p, i in placed:
        field.add(p, i, -1)
    return len(placed)


def _most_that_fit(field: Field, pods: list[Pod]) -> tuple[int, str]:
    """Place one pod after the other; return how many fit, and why the first that does not."""
    first = pods[0]
    alike = all(p.spec is first.spec for p in pods) and not is_tied(first)
    if alike and not repels(field.scene) and not field.scene.bonds.of_group(first.group):
        return _most_alike(field, first, len(pods))
    placed: list[tuple[Pod, int]] = []
    words = ""
    for p in pods:
        spots = field.candidates(p)
        if spots.any():
            placed.append((p, int(spots.argmax())))
            field.add(*placed[-1])
        elif not words:
            words = _why_not(field, p)
    for p, i in placed:
        field.add(p, i, -1)
    return len(placed), words or _TOGETHER


_TOGETHER = "not together with what has to be kept"


def _most_alike(field: Field, pod: Pod, wanted: int) -> tuple[int, str]:
    """Fill the nodes with equal pods, one node after the other; equal questions are asked once."""
    known = field.answers
    case = (id(pod.spec), wanted, field.changes)
    if case not in known:
        counts = field.per_node(pod, wanted)
        placed: list[tuple[int, int]] = []
        left = wanted
        for i in np.flatnonzero(counts).tolist():
            n = min(left, int(counts[i]))
            placed.append((i, n))
            left -= n
            if not left:
                break
        for i, n in placed:
            field.add(pod, i, n)
        words = _why_not(field, pod) if left else ""
        for i, n in placed:
            field.add(pod, i, -n)
        # The field is as it was, and counts as such.
        field.changes = case[2]
        known[case] = (wanted - left, words or _TOGETHER)
    return known[case]


def _why_not(field: Field, pod: Pod) -> str:
    """Count nodes by what stands against the pod: filters, scarce resources, pods there."""
    scene = field.scene
    if not scene.nodes:
        return "there are no nodes"
    counts: list[tuple[int, str]] = []
    for rule, same in scene.refusals(pod).items():
        message, _ = max(same.items(), key=lambda t: (t[1], t[0]))
        more = "" if len(same) == 1 else f" and {len(same) - 1} other reasons"
        counts.append((sum(same.values()), f"{rule}: {message}{more}"))
    mask = scene.mask(pod)
    row = scene.row(pod)
    roomy = mask.copy()
    for column in map(int, np.flatnonzero(row)):
        short = field.room[:, column] < row[column]
        n = int((mask & short).sum())
        roomy &= ~short
        if n:
            counts.append((n, f"too little {scene.ledger.resources[column]}"))
    for rule, n in field.against(pod, roomy).items():
        counts.append((n, f"{rule}: {_KEPT_OUT.get(rule, 'other pods there')}"))
    total = len(scene.nodes)
    counts.sort(reverse=True)
    return "; ".join(f"{n} of {total} nodes: {why}" for n, why in counts[:4])
