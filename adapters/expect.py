"""Judge expectations: what does not hold, in words."""

from collections import Counter
from collections.abc import Callable, Iterable
from fnmatch import fnmatchcase

from ..models import Group, GroupKey, Plan, PodState, Snapshot
from ..models.choice import are_met
from .expect_keys import KEYS
from .expect_view import NotThereError, View, fits, said, texts
from .expectations import After, Expectation

Found = Iterable[str]


def failures(e: Expectation, snapshot: Snapshot, plan: Plan) -> list[str]:
    """Return what of the expectation does not hold; [] if all does."""
    out: list[str] = []
    views: dict[After, View] = {a: View(snapshot, plan, a) for a in ("plan", "settled")}
    if e.group is not None or e.reason is not None:
        view = views[e.after or "plan"]
        out += _said(lambda: [*_of_group(e, view), *_reason(e, view)])
    view = views[e.after or "settled"]
    for key, judge in KEYS.items():
        value = getattr(e, key)
        if value is not None and not (key == "node" and isinstance(value, str)):
            out += _said(lambda judge=judge, value=value: judge(view, value))  # type: ignore[misc]
    if e.one_of is not None:
        tries = [failures(x, snapshot, plan) for x in e.one_of]
        if all(tries):
            either = " | ".join("; ".join(t) for t in tries)
            out.append(f"none of {len(tries)} allowed outcomes: {either}")
    return out


def _said(judge: Callable[[], Found]) -> list[str]:
    try:
        return list(judge())
    except NotThereError as e:
        return [str(e)]


def _of_group(e: Expectation, v: View) -> Found:
    if e.group is None:
        return
    key = v.group(e.group)
    running = v.running(e.group)
    group = v.snapshot.groups_by_key.get(key)
    if e.is_ is not None:
        yield from _is(e.is_, v, key, group)
    if e.pods is not None and not fits(len(running), e.pods):
        yield f"group {e.group}: {len(running)} pods run, expected {said(e.pods)}"
    if isinstance(e.node, str):
        for p in running:
            if not fnmatchcase(v.final[p.key], e.node):
                yield f"{p.key} is on {v.final[p.key]}, expected {e.node}"


def _is(what: str, v: View, key: GroupKey, group: Group | None) -> Found:
    now = v.running(key) if group is not None else []
    held = [h for h in v.plan.held if h.group == key]
    reached = group is not None and _is_whole(v, group)
    stays = [p for p in now if p.key not in v.plan.places]
    state = _state(v, key, len(now))
    if what == "placed" and not reached:
        yield f"group {key} is not placed: {state}"
    elif what == "nominated" and not any(n.group == key for n in v.plan.nominations):
        yield f"group {key} is not nominated: {state}"
    elif what == "held" and (reached or (v.after == "plan" and not held)):
        yield f"group {key} is not held: {state}"
    elif what == "running" and not (reached and (v.after == "settled" or stays)):
        yield f"group {key} does not run: {state}"
    elif what == "admitted" and not any(a.group == key for a in v.plan.admissions):
        yield f"group {key} is not let in without pods: {state}"
    elif what == "evicted" and not any(
        v.snapshot.pods_by_key[k].group == key for k in v.evicted if k in v.snapshot.pods_by_key
    ):
        yield f"nothing of group {key} is evicted: {state}"


def _is_whole(v: View, group: Group) -> bool:
    """Say whether the group has its minimum, succeeded members counted, in total and per role."""
    pods = v.pods_of(group.key)
    there = [p for p in pods if p.key in v.final or p.state is PodState.SUCCEEDED]
    by_role = Counter(p.role for p in there)
    least = group.effective_minimum
    return (
        bool(there)
        and len(there) >= least
        and all(by_role[r] >= n for r, n in group.role_minimum.items())
        and are_met(group.choices, by_role)
    )


def _state(v: View, key: GroupKey, running: int) -> str:
    reasons = [f"{r.rule}: {r.message}" for h in v.plan.held if h.group == key for r in h.reasons]
    why = f" ({'; '.join(reasons[:2])})" if reasons else ""
    return f"{running} of {len(v.pods_of(key))} pods have a place{why}"


def _reason(e: Expectation, v: View) -> Found:
    if e.reason is None:
        return
    mine = v.plan.held
    if e.group is not None:
        key = v.group(e.group)
        mine = tuple(h for h in mine if h.group == key)
    notes = [f"{r.rule}: {r.about}: {r.message}" for h in mine for r in h.reasons]
    for text in texts(e.reason):
        if not any(text in one for one in notes):
            yield f"no reason says {text!r}: {'; '.join(notes[:3]) or 'nothing is held'}"
