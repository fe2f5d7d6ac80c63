"""A what-if of a scenario on trial: what does not hold of its answer, in words."""

from collections.abc import Iterable, Iterator
from typing import Any

from pydantic.alias_generators import to_camel

from ..models import Config, GroupKey, Plan, Snapshot
from ..models.quantity import parse_signed, show
from ..solver.process import SolverProcess
from .ask.whatif import WhatIf, repeatable
from .expect import failures
from .expect_view import NotThereError, View, said
from .plan_check import scene_of, violations_of
from .questions import Question
from .settle import settle

CLOSE = 0.0005
"""A share may be written with three digits."""


def wrong_with(
    question: Question, answer: WhatIf, config: Config, process: SolverProcess | None, most: int
) -> list[str]:
    """Return what does not hold of the answer, and of the changed cluster once it has settled.

    ``config`` are the settings of the changed cluster.
    """
    snapshot, made = answer.changed
    config = repeatable(config)
    out = [f"breaks {v}" for v in violations_of(made, scene_of(snapshot, config))]
    if question.asked.difference is not None:
        out += _differences(question, answer)
    if question.asked.expect:

        def watch(cycle: int, plan: Plan, seen: Snapshot) -> None:
            out.extend(
                f"cycle {cycle} breaks {v}" for v in violations_of(plan, scene_of(seen, config))
            )

        settled = settle(snapshot, config, most, process, watch)
        for i, expectation in enumerate(question.asked.expect):
            found = failures(expectation, snapshot, settled)
            out += [f"expect[{i}]: {text}" for text in found]
    return [f"{question.title}: {text}" for text in dict.fromkeys(out)]


def _differences(question: Question, answer: WhatIf) -> Iterator[str]:
    want, found = question.asked.difference, answer.difference
    assert want is not None
    if want.nothing is not None and want.nothing != found.is_none:
        yield f"something is different: {_told(answer)}" if want.nothing else "nothing is different"
    for key in ("starts_more", "starts_less", "displaced", "waits_less", "waits_more"):
        names = getattr(want, key)
        if names is not None:
            yield from _lists(answer, to_camel(key), names, getattr(found, key))
    yield from _used(answer, want.used or {})
    yield from _shares(answer, want.share or {})


def _told(answer: WhatIf) -> str:
    d = answer.difference
    parts = [
        *(c.group for c in d.groups), *(f"queue {q.queue}" for q in d.queues),
        *(u.resource for u in d.use),
    ]  # fmt: skip
    return ", ".join(parts[:6])


def _lists(
    answer: WhatIf, key: str, names: list[str], groups: tuple[GroupKey, ...]
) -> Iterable[str]:
    views = [View(*of, "plan") for of in (answer.changed, answer.base)]
    try:
        want = {_group(views, n) for n in names}
    except NotThereError as e:
        return [f"{key}: {e}"]
    more, less = sorted(set(groups) - want), sorted(want - set(groups))
    out = [f"{key}: {g} is one, and is not expected to be" for g in more]
    return [*out, *(f"{key}: {g} is none, and is expected to be" for g in less)]


def _group(views: list[View], name: str) -> GroupKey:
    """Return the group of that name, be it in one of the clusters only."""
    try:
        return views[0].group(name)
    except NotThereError:
        return views[1].group(name)


def _used(answer: WhatIf, want: dict[str, dict[str, Any]]) -> Iterator[str]:
    rows = {q.name: q for q in answer.changed[1].queues}
    for queue, amounts in want.items():
        if queue not in rows:
            yield f"used: there is no queue {queue}"
            continue
        for resource, span in amounts.items():
            least, most = _ends(span)
            value = rows[queue].allocated[resource]
            if not parse_signed(least, resource) <= value <= parse_signed(most, resource):
                yield (
                    f"used: queue {queue} uses {show(value, resource)} {resource}, "
                    f"expected {said(span)}"
                )


def _shares(answer: WhatIf, want: dict[str, Any]) -> Iterator[str]:
    rows = {q.name: q for q in answer.changed[1].queues}
    for queue, span in want.items():
        if queue not in rows:
            yield f"share: there is no queue {queue}"
            continue
        least, most = _ends(span)
        value = rows[queue].dominant_share
        if not least - CLOSE <= value <= most + CLOSE:
            yield f"share: queue {queue} has {value:.3f} of the cluster, expected {said(span)}"


def _ends(span: Any) -> tuple[Any, Any]:
    both = span if isinstance(span, list) else [span]
    return both[0], both[-1]
