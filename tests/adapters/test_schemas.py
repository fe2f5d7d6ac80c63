"""What is written is what the schemas say, and what is wrong is not."""

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from apportion.adapters.ask import capacity, drain, explain, whatif
from apportion.adapters.cli.schema import Document
from apportion.adapters.files import documents
from apportion.adapters.inputs import Asked, Case, read_case
from apportion.adapters.schemas.documents import DOCUMENTS, schema_of
from apportion.models import Config, GroupKey, InputError, Toleration
from apportion.models.edits import AddNodes, Drain, SetPriority, Tolerate
from apportion.models.plan import to_document
from apportion.models.snapshot import from_document, write
from apportion.solver.entry import plan
from apportion.solver.process import SolverProcess
from properties.clusters import cluster

ROOT = Path(__file__).resolve().parents[2]
SCENARIOS = sorted((ROOT / "tests" / "scenarios").rglob("*.yaml"))
SETTINGS = Config(deterministic=True)
HUGE = GroupKey("research/huge")


@cache
def validator(name: str) -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(schema_of(name))


def faults(name: str, document: Any) -> list[str]:
    """Return what the schema says is wrong with a document, as it is read from a file."""
    data = json.loads(json.dumps(document))
    return [f"{e.json_path}: {e.message}" for e in validator(name).iter_errors(data)]


@pytest.fixture(scope="module")
def solver() -> Iterator[SolverProcess]:
    with SolverProcess() as process:
        yield process


@pytest.fixture(scope="module")
def small() -> Case:
    return read_case([str(ROOT / "examples" / "small")], Asked())


@pytest.fixture(scope="module")
def planned(small: Case, solver: SolverProcess) -> dict[str, Any]:
    return to_document(plan(small.snapshot, SETTINGS, process=solver))


@pytest.mark.parametrize("name", DOCUMENTS)
def test_schemas_are_schemas(name: str) -> None:
    jsonschema.Draft202012Validator.check_schema(schema_of(name))


def test_the_command_has_them_all() -> None:
    assert {d.value for d in Document} == set(DOCUMENTS)


@pytest.mark.parametrize("seed", range(40))
def test_snapshots_are_as_their_schema_says(seed: int) -> None:
    assert faults("snapshot", json.loads(write(cluster(seed)))) == []


@pytest.mark.parametrize("path", ["examples/small", "examples/kubectl-dump"])
def test_snapshots_of_examples_are_as_their_schema_says(path: str) -> None:
    case = read_case([str(ROOT / path)], Asked())

    assert faults("snapshot", json.loads(write(case.snapshot))) == []


def test_plans_are_as_their_schema_says(planned: dict[str, Any]) -> None:
    assert planned["evictions"]
    assert faults("plan", planned) == []


@pytest.mark.parametrize("seed", range(15))
def test_plans_of_random_clusters_are_as_their_schema_says(seed: int) -> None:
    made = plan(cluster(seed), Config(engine="greedy", deterministic=True))

    assert faults("plan", to_document(made)) == []


@pytest.mark.slow
@pytest.mark.parametrize("group", ["research/huge", "lab/notes", "batch/more", "default/web-0"])
def test_explanations_are_as_their_schema_says(
    small: Case, solver: SolverProcess, group: str
) -> None:
    found = explain.explain(
        small.snapshot, SETTINGS, GroupKey(group), process=solver, changes=group == "batch/more"
    )

    assert faults("explanation", explain.to_document(found)) == []


@pytest.mark.slow
def test_what_ifs_are_as_their_schema_says(small: Case, solver: SolverProcess) -> None:
    edits = (
        AddNodes("gpu-a", 2, {"x": "y"}), Drain("gpu-b"), SetPriority(HUGE, 7),
        Tolerate(HUGE, Toleration("dedicated", value="ingest", effect="NoSchedule")),
    )  # fmt: skip

    answer = whatif.whatif(small.snapshot, SETTINGS, edits, settings=("a=b",), process=solver)

    assert faults("whatif", whatif.to_document(answer)) == []


@pytest.mark.slow
def test_capacity_and_draining_are_as_their_schemas_say(small: Case, solver: SolverProcess) -> None:
    notes = GroupKey("lab/notes")
    fits = capacity.capacity(small.snapshot, SETTINGS, notes, models=["gpu-a"], process=solver)
    emptied = drain.draining(small.snapshot, SETTINGS, ["cpu-a", "gpu-a"], process=solver)

    assert faults("capacity", capacity.to_document(fits)) == []
    assert faults("draining", drain.to_document(emptied)) == []


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda p: f"{p.parent.name}/{p.stem}")
def test_scenarios_are_as_their_schema_says(path: Path) -> None:
    for document in documents([path]):
        assert faults("scenario", document.data) == []


CONFIGURATION = """
apiVersion: apportion.dev/v1alpha1
kind: Configuration
budget: 2s
tiers: {slices: 4, packing: expected-fragmentation, mix: [{weight: 3, gpu: 500m, cpu: 2}]}
queues: {research: {within: users, capability: {nvidia.com/gpu: 50%}}}
options: {budgets: {}}
"""


def test_a_configuration_is_as_its_schema_says() -> None:
    assert faults("configuration", yaml.safe_load(CONFIGURATION)) == []


def changed(document: Any, path: str, value: Any) -> Any:
    """Return a copy with the value at ``a.0.b``; None takes the key away."""
    copy = json.loads(json.dumps(document))
    *way, last = path.split(".")
    at = copy
    for part in way:
        at = at[int(part)] if isinstance(at, list) else at[part]
    if value is None:
        del at[last]
    else:
        at[last] = value
    return copy


WRONG_SNAPSHOTS = [
    ("kind", "Plan"), ("apiVersion", "v1"), ("kind", None), ("takenAtS", "now"), ("nodes", {}),
    ("nodes.0.name", None), ("nodes.0.name", 7), ("nodes.0.allocatable", {"cpu": "2"}),
    ("nodes.0.taints", [{"key": "a"}]), ("pods.0.spec", None), ("pods.0.spec", {}),
    ("pods.0.state", "asleep"), ("groups.0.queue", None), ("queues.0.state", "Shut"),
    ("specs", [{"requests": {"cpu": 1.5}}]), ("nominations", [["a/b"]]),
]  # fmt: skip


@pytest.mark.parametrize(("path", "value"), WRONG_SNAPSHOTS)
def test_wrong_snapshots_are_refused_by_schema_and_reader(
    small: Case, path: str, value: Any
) -> None:
    wrong = changed(json.loads(write(small.snapshot)), path, value)

    assert faults("snapshot", wrong) != []
    with pytest.raises(InputError):
        from_document(wrong)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("binds", None), ("digest", None), ("digest", "md5:1"), ("evictions.0.for", "all"),
        ("evictions.0.pod", None), ("objective.0.sense", "most"), ("objective.0.bound", "none"),
        ("solver.engine", "guess"), ("held.0.reasons", None), ("queues.0.dominantShare", "half"),
    ],
)  # fmt: skip
def test_wrong_plans_are_refused(planned: dict[str, Any], path: str, value: Any) -> None:
    assert faults("plan", changed(planned, path, value)) != []


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("kind", "Scenery"), ("metadata", None), ("cluster.nodes.0.name", None),
        ("cluster.nodes.0.size", 4), ("groups.0.pods", "four"), ("expect.0.is", "happy"),
    ],
)  # fmt: skip
def test_wrong_scenarios_are_refused(path: str, value: Any) -> None:
    right = yaml.safe_load((ROOT / "tests/scenarios/gang/two-full-size.yaml").read_text())
    assert faults("scenario", right) == []

    assert faults("scenario", changed(right, path, value)) != []


def test_answers_say_all_that_their_schema_asks_for(small: Case, solver: SolverProcess) -> None:
    found = explain.explain(small.snapshot, SETTINGS, HUGE, process=solver, changes=False)
    right = explain.to_document(found)

    for key in right:
        assert faults("explanation", changed(right, key, None)) != [], key
