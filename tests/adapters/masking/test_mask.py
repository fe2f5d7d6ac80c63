"""A masked snapshot has no name of the original, and the plan of it is that plan under masks."""

import json
import subprocess
import sys
import types
import typing
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from apportion.adapters.files import documents
from apportion.adapters.inputs import Asked, Case, read_case, scenario_cases
from apportion.adapters.masking.fields import RULES, WHOLE
from apportion.adapters.masking.key_file import Unmasking
from apportion.adapters.masking.mask import Mask
from apportion.models import (
    Config,
    Group,
    GroupKey,
    InputError,
    Node,
    NodeName,
    Plan,
    Pod,
    PodSpec,
    PodState,
    Queue,
    QueueName,
    QueueShare,
    Reason,
    Snapshot,
    Taint,
    Warned,
    snapshot_of,
)
from apportion.models.snapshot import from_document, read, write
from apportion.solver.process import SolverProcess
from hostile import HOSTILE
from leaks import left, names_in, names_of
from masked_plans import plans_apart
from oracle.build import Members, node, queue, snapshot

ROOT = Path(__file__).resolve().parents[3]
EXAMPLES = {
    "examples/small": (),
    "examples/kubectl-dump": (),
    "examples/volcano": ("volcano",),
}
SCENARIOS = ROOT / "tests" / "scenarios"
WORLD = snapshot(node("n1", 2), queue("q"), Members("g", "q", waiting=2, minimum=2))


@pytest.fixture(scope="module")
def solver() -> Iterator[SolverProcess]:
    with SolverProcess() as process:
        yield process


def example(path: str) -> Case:
    return read_case([str(ROOT / path)], Asked(EXAMPLES[path]))


def every_seventh() -> list[Any]:
    """Return a sample of the scenarios, of all areas."""
    files = sorted(SCENARIOS.rglob("*.yaml"))
    return [pytest.param(f, id=str(f.relative_to(SCENARIOS))) for f in files[::7]]


def scenarios_of(path: Path) -> list[Case]:
    return list(scenario_cases([str(path)], Asked()))


@pytest.mark.parametrize("path", EXAMPLES)
def test_no_name_of_an_example_is_left(path: str) -> None:
    case = example(path)
    originals = names_in([d.data for d in documents([ROOT / path])])

    masked = write(Mask([case.snapshot]).of(case.snapshot))

    assert len(originals) > 10
    assert left(masked, originals | names_of(case.snapshot), case.snapshot) == []


@pytest.mark.parametrize("path", sorted(SCENARIOS.rglob("*.yaml")), ids=lambda p: p.stem)
def test_no_name_of_a_scenario_is_left(path: Path) -> None:
    for case in scenarios_of(path):
        masked = write(Mask([case.snapshot]).of(case.snapshot))

        assert left(masked, names_of(case.snapshot), case.snapshot) == [], case.title


@pytest.mark.parametrize("path", EXAMPLES)
def test_the_plan_of_a_masked_example_is_its_plan(path: str, solver: SolverProcess) -> None:
    case = example(path)

    assert plans_apart(case.snapshot, case.config, solver) == []


@pytest.mark.parametrize("path", every_seventh())
def test_the_plan_of_a_masked_scenario_is_its_plan(path: Path, solver: SolverProcess) -> None:
    for case in scenarios_of(path):
        assert plans_apart(case.snapshot, case.config, solver) == [], case.title


@pytest.mark.parametrize("path", EXAMPLES)
def test_the_key_leads_back_to_the_snapshot(path: str) -> None:
    world = example(path).snapshot
    mask = Mask([world])

    document = Unmasking(mask.key_of_all).document(json.loads(write(mask.of(world))))

    assert from_document(document) == read(write(world))


def test_kinds_that_only_this_cluster_has_are_names() -> None:
    (pod, *others) = WORLD.pods
    world = replace(
        WORLD,
        pods=(replace(pod, owner="AcmeJob/x"), *(replace(p, owner="Job/x") for p in others)),
        groups=tuple(replace(g, source="AcmeJob") for g in WORLD.groups),
        counted={"AcmeThing": 2, "ConfigMap": 3},
    )

    masked = Mask([world]).of(world)

    assert b"Acme" not in write(masked)
    assert masked.pods[1].owner.startswith("Job/")
    assert masked.counted["ConfigMap"] == 3


DIGEST = """
from apportion.adapters.inputs import Asked, read_case
from apportion.adapters.masking.mask import Mask
from apportion.models import Config
from apportion.solver.entry import plan
world = read_case(["examples/small"], Asked()).snapshot
masked = Mask([world]).of(world)
print(masked.digest, plan(masked, Config(deterministic=True)).digest)
"""


@pytest.mark.slow
def test_two_processes_mask_and_plan_alike() -> None:
    digests = set()
    for seed in ("1", "2"):
        run = subprocess.run(
            [sys.executable, "-c", DIGEST], capture_output=True, text=True, check=True, cwd=ROOT,
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
        )  # fmt: skip
        digests.add(run.stdout)

    assert len(digests) == 1
    assert [d[:7] for d in digests.pop().split()] == ["sha256:", "sha256:"]


def test_what_is_masked_is_not_masked_again() -> None:
    masked = Mask([WORLD]).of(WORLD)

    with pytest.raises(InputError, match="masked already"):
        Mask([masked])


def test_one_mask_of_several_snapshots_has_one_pseudonym_for_a_name() -> None:
    later = replace(WORLD, pods=WORLD.pods[1:])
    mask = Mask([WORLD, later])

    assert mask.of(WORLD).nodes == mask.of(later).nodes
    assert mask.of(WORLD).pods[1:] == mask.of(later).pods


def test_settings_speak_of_the_masked_queues() -> None:
    mask = Mask([WORLD])
    settings = Config(queues={"q": QueueShare(within="users", namespaces=("x", "elsewhere"))})

    masked = mask.of_settings(settings)

    assert masked.queues == {
        mask.name("q"): QueueShare(within="users", namespaces=(mask.name("x"),))
    }
    assert "q" not in masked.queues


def structs(kind: Any, seen: set[type]) -> set[type]:
    """Return the kinds of values that a kind holds, itself too."""
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct) and kind not in seen:
        seen.add(kind)
        for hint in typing.get_type_hints(kind).values():
            structs(hint, seen)
    for part in typing.get_args(kind):
        structs(part, seen)
    return seen


def holds_text(hint: Any) -> bool:
    """Say whether a field has text of its own, outside of the values that it holds."""
    if typing.get_origin(hint) is typing.Literal:
        return True
    if isinstance(hint, types.UnionType) or typing.get_args(hint):
        return any(map(holds_text, typing.get_args(hint)))
    if isinstance(hint, typing.NewType):
        return True
    return isinstance(hint, type) and issubclass(hint, str) and not issubclass(hint, Enum)


@pytest.mark.parametrize("kind", sorted(structs(Snapshot, structs(Plan, set())), key=str))
def test_every_field_that_holds_text_has_a_rule(kind: Any) -> None:
    hints = typing.get_type_hints(kind)
    texts = {name for name in kind.__struct_fields__ if holds_text(hints[name])}

    assert kind in WHOLE or texts <= RULES.get(kind, {}).keys()


def hostile() -> Snapshot:
    """Return a cluster of names that try to be more than names, two members to each group."""
    names = [QueueName(w) for w in HOSTILE]
    label = {w: w for w in HOSTILE}
    hold = (Reason("queue", f"queue {HOSTILE[0]}", f"it is {HOSTILE[0]}"),)
    return snapshot_of(
        nodes=[Node(NodeName(w), labels=label, taints=(Taint(w, "NoSchedule", w),)) for w in names],
        queues=[Queue(w) for w in names],
        groups=[Group(w, w, w, hold=hold) for w in names],
        pods=[
            Pod(w, f"{w}{i}", PodSpec(node_selector=((w, w),)), PodState.PENDING,
                GroupKey(f"{w}/{w}"), labels=label)
            for w in names for i in range(2)
        ],
        warnings=[Warned(*HOSTILE[:3])],
    )  # fmt: skip


def test_hostile_names_are_masked_like_others() -> None:
    world = hostile()
    mask = Mask([world])

    masked = write(mask.of(world))

    assert left(masked, names_of(world), world) == []
    document = Unmasking(mask.key_of_all).document(json.loads(masked))
    assert from_document(document) == read(write(world))


def test_an_empty_snapshot_is_masked() -> None:
    empty = snapshot_of()

    assert Mask([empty]).of(empty) == replace(empty, masked=True)
