"""A trial: a scenario and its what-ifs are planned and settled, every plan verified, and judged."""

from dataclasses import dataclass

from ..models import Config, Plan, Snapshot
from ..solver.process import SolverProcess
from .ask.whatif import whatif
from .configuration import changed
from .expect import failures
from .inputs import Case
from .plan_check import scene_of, violations_of
from .settle import settle
from .whatif_trial import wrong_with


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of a scenario; nothing under ``failures``: all that is expected holds."""

    title: str
    failures: tuple[str, ...]
    plan: Plan

    @property
    def holds(self) -> bool:
        return not self.failures


def attempt(
    case: Case, config: Config | None = None, process: SolverProcess | None = None, most: int = 30
) -> Verdict:
    """Run a scenario with its own settings, or others."""
    config = config if config is not None else case.config
    wrong: list[str] = []

    def watch(cycle: int, made: Plan, snapshot: Snapshot) -> None:
        for v in violations_of(made, scene_of(snapshot, config)):
            wrong.append(f"cycle {cycle} breaks {v}")

    made = settle(case.snapshot, config, most, process, watch)
    assert made.settled is not None
    if not made.settled.stable:
        wrong.append(f"did not settle in {made.settled.cycles} cycles")
    for i, expectation in enumerate(case.scenario.expect if case.scenario is not None else ()):
        wrong += [f"expect[{i}]: {said}" for said in failures(expectation, case.snapshot, made)]
    base: Plan | None = None
    for question in case.questions:
        other = changed(config, question.changes)
        answer = whatif(
            case.snapshot, config, question.edits, changed_config=other, process=process, known=base
        )
        base = answer.base[1]
        wrong += wrong_with(question, answer, other, process, most)
    return Verdict(case.title, tuple(dict.fromkeys(wrong)), made)
