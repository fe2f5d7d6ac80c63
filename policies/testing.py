"""The bench for rules: does a rule bear a plan, what does a goal measure, do both halves agree?

For authors of rules, those of installed packages too. Answers are true or false in an ``assert``
and say why when they are printed. Nothing here knows the solver: what its half makes of a decision
is handed in.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from ..models import Config, GroupKey, NodeName, Plan, PodKey, Reason, Snapshot, Violation
from .api import Constraint, Filter, Holding, Objective, Rule
from .outcome import Outcome
from .podset import PodSet
from .registry import rules_for
from .scene import Scene


@dataclass(frozen=True, slots=True)
class Verdict:
    """A yes or no with what was said about it."""

    holds: bool
    said: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return self.holds

    def __repr__(self) -> str:
        return f"{'yes' if self.holds else 'no'}: {'; '.join(self.said) or 'nothing is said'}"


@dataclass(frozen=True, slots=True)
class Agreement:
    """How often both halves of a rule said the same, and where they did not."""

    accepted: int
    refused: int
    apart: tuple[str, ...]

    def __bool__(self) -> bool:
        return not self.apart

    def __repr__(self) -> str:
        both = f"both accept {self.accepted} and refuse {self.refused}"
        return f"{both}; {len(self.apart)} apart: {'; '.join(self.apart[:3])}"


def after(
    snapshot: Snapshot,
    starts: Plan | Mapping[str, str] | None = None,
    evicts: Collection[str] = (),
    *,
    at_once: Collection[str] = (),
    rules: Sequence[object] | None = None,
    config: Config | None = None,
) -> Outcome:
    """Return the snapshot after a plan.

    Parameters
    ----------
    snapshot
        What is known of the cluster.
    starts
        A plan, or the node of every pod that starts, by ``namespace/name``.
    evicts
        Pods that leave, by ``namespace/name``; not with a plan, which names its own.
    at_once
        Those of the starting pods that do not wait for others to leave.
    rules
        The rules that the scene knows; those of the configuration if None.
    config
        Settings; defaults if None.
    """
    config = config if config is not None else Config()
    scene = Scene(snapshot, config, rules_for(config) if rules is None else rules)
    if isinstance(starts, Plan):
        return Outcome.of_plan(scene, starts)
    places = {PodKey(p): NodeName(n) for p, n in (starts or {}).items()}
    return Outcome(scene, places, {PodKey(p) for p in evicts}, {PodKey(p) for p in at_once})


def objections(rule: Rule, outcome: Outcome) -> list[Violation]:
    """Return all that a rule has against a plan, whichever of its halves is asked.

    A filter is asked about every pod that starts, a constraint about the plan; a rule that only
    holds groups is asked about every group that starts.
    """
    found: list[Violation] = []
    if isinstance(rule, Filter):
        for pod, i in outcome.new_pods:
            reason = rule.refuse(PodSet((pod,)), outcome.scene.nodes[i])
            found += [_violation(reason)] if reason is not None else []
    if isinstance(rule, Constraint):
        found += rule.check(outcome)
    elif isinstance(rule, Holding):
        for group in outcome.started:
            found += [_violation(r) for r in held(rule, outcome, group)]
    return found


def held(rule: Holding, outcome: Outcome, group: str) -> list[Reason]:
    """Return why the rule keeps the group (``namespace/name``) from starting at all."""
    return list(rule.hold(outcome, GroupKey(group)))


def _violation(reason: Reason) -> Violation:
    return Violation(reason.rule, reason.about, reason.message)


def accepts(rule: Rule, outcome: Outcome) -> Verdict:
    """Say whether the rule has nothing against the plan."""
    found = objections(rule, outcome)
    return Verdict(not found, tuple(map(str, found)))


def refuses(rule: Rule, outcome: Outcome, subject: str = "", saying: str = "") -> Verdict:
    """Say whether the rule, under its own name, has something against the plan.

    ``subject``: about exactly this ("node n1"); ``saying``: with this in the message.
    """
    found = objections(rule, outcome)
    meant = [
        v for v in found if v.rule == rule.name and subject in ("", v.about) and saying in v.message
    ]
    return Verdict(bool(meant), tuple(map(str, found)))


def priced(goal: Objective, outcome: Outcome) -> int:
    """Return what the goal measures of the plan, in its unit."""
    return goal.measure(outcome)


def agrees(rule: Constraint | Objective, told: Iterable[tuple[Outcome, int]]) -> Agreement:
    """Compare what a rule told the solver with what it says without it, decision by decision.

    Parameters
    ----------
    rule
        A constraint, or a goal.
    told
        Decisions, each with what the solver's half makes of it alone, the decision being fixed:
        whether all the rows that ``constrain`` adds can hold, or the least (of a goal that is
        maximised, the largest) value of ``cost``.

    Returns
    -------
    Agreement
        True where the halves said the same every time. Look at its counts too: a rule that was
        never refused was not tried. Of a goal, decisions of value 0 count as refused.
    """
    counts = [0, 0]
    apart: list[str] = []
    plainly: int
    for outcome, by_solver in told:
        if isinstance(rule, Constraint):
            found = list(rule.check(outcome))
            plainly, why = not found, "; ".join(map(str, found)) or "nothing is said"
        else:
            plainly, why = rule.measure(outcome), rule.unit
        if plainly == by_solver:
            counts[bool(plainly)] += 1
        else:
            starts = ", ".join(f"{p} on {n}" for p, n in sorted(outcome.places.items()))
            leaves = ", ".join(sorted(outcome.evicted)) or "nobody"
            apart.append(
                f"plainly {plainly} ({why}), by the solver {by_solver}: "
                f"{starts or 'nothing'} starts, {leaves} leaves"
            )
    return Agreement(counts[1], counts[0], tuple(apart))
