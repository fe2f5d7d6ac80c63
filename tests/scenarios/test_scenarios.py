"""Every scenario below this folder holds: planned, settled, verified, and as expected."""

from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from msgspec.structs import replace

from apportion.adapters.files import documents
from apportion.adapters.inputs import Asked, Case, scenario_cases
from apportion.adapters.scenario import is_scenario
from apportion.adapters.trial import attempt
from apportion.solver.process import SolverProcess

HERE = Path(__file__).parent
KNOWN: dict[str, str] = {}
"""Files and ids of what does not hold yet, with the reason; what begins to hold fails here."""


def scenarios() -> Iterator[object]:
    """Yield file and number of each scenario; the id is its file, with its name if one of many."""
    for path in sorted(HERE.rglob("*.yaml")):
        file = str(path.relative_to(HERE))
        stem = file.removesuffix(".yaml")
        found = [d.data["metadata"]["name"] for d in documents([path]) if is_scenario(d.data)]
        for i, name in enumerate(found):
            key = stem if found == [path.stem] else f"{stem}/{name}"
            why = KNOWN.get(key) or KNOWN.get(file)
            marks = [pytest.mark.xfail(reason=why, strict=True)] if why else []
            yield pytest.param(path, i, id=key, marks=marks)


@cache
def cases(path: Path) -> list[Case]:
    return list(scenario_cases([str(path)], Asked()))


@pytest.fixture(scope="session")
def solver() -> Iterator[SolverProcess]:
    with SolverProcess() as process:
        yield process


@pytest.mark.parametrize(("path", "number"), list(scenarios()))
def test_scenario_holds(path: Path, number: int, solver: SolverProcess) -> None:
    case = cases(path)[number]

    verdict = attempt(case, replace(case.config, deterministic=True), solver)

    assert verdict.failures == ()


@pytest.mark.parametrize(
    "path", sorted(HERE.rglob("*.yaml")), ids=lambda p: f"{p.parent.name}/{p.stem}"
)
def test_scenario_says_what_it_is_about_and_expects_it(path: Path) -> None:
    told = [c.scenario for c in cases(path) if c.scenario is not None]

    assert told
    assert len({s.metadata.name for s in told}) == len(told)
    assert [s.metadata.name for s in told if not s.metadata.about.endswith(".")] == []
    assert [s.metadata.name for s in told if not s.expect] == []
