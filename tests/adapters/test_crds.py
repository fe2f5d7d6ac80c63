"""The definitions that travel with the program: Volcano's names, and every field that is read."""

import re
from typing import Any, get_args

import msgspec
import pydantic
import pytest
import yaml

from apportion.adapters.crds import NAMES, definition, definitions
from apportion.adapters.kubernetes import body_group, body_numa, body_queue, body_topology
from apportion.adapters.kubernetes.kinds import READERS
from apportion.models import InputError

OTHER_DIALECTS = {
    "preemptibility", "subGroups", "topologyConstraint", "schedulingPolicy",
    "schedulingConstraints", "priority", "minSubGroup", "preemptionDelay", "stalenessGracePeriod",
}  # fmt: skip
"""Fields of PodGroups that are not Volcano's."""
LENIENT = {".spec.state"}
"""Read by the door, although Volcano has it in the status only."""
SHAPES: dict[str, Any] = {
    "podgroup": body_group.GroupBody,
    "queue": body_queue.VolcanoQueue,
    "job": body_queue.VolcanoJob,
    "hypernode": body_topology.HyperNode,
    "numatopology": body_numa.Numatopology,
}


def parsed(name: str) -> dict[str, Any]:
    made: dict[str, Any] = yaml.safe_load(definition(name))
    return made


def version(name: str) -> dict[str, Any]:
    (only,) = parsed(name)["spec"]["versions"]
    found: dict[str, Any] = only
    return found


def schema(name: str) -> dict[str, Any]:
    found: dict[str, Any] = version(name)["schema"]["openAPIV3Schema"]
    return found


def parts(schema: dict[str, Any], path: str = "") -> list[tuple[str, dict[str, Any]]]:
    """Return every schema inside one, with its path."""
    out = [(path, schema)]
    for key, inner in schema.get("properties", {}).items():
        out += parts(inner, f"{path}.{key}")
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            out += parts(schema[key], f"{path}[]")
    return out


def struct_in(hint: Any) -> Any:
    """Return the shape that a hint is about, through lists, mappings and None."""
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct | pydantic.BaseModel):
        return hint
    return next((found for arg in get_args(hint) if (found := struct_in(arg))), None)


def fields_of(shape: Any) -> dict[str, Any]:
    if issubclass(shape, msgspec.Struct):
        return {f.encode_name: f.type for f in msgspec.structs.fields(shape)}
    return {f.alias or n: f.annotation for n, f in shape.model_fields.items()}


def fields_read(shape: Any, path: str = "") -> list[str]:
    out: list[str] = []
    for name, hint in fields_of(shape).items():
        out.append(f"{path}.{name}")
        if (inner := struct_in(hint)) is not None:
            many = "[]" if "list[" in str(hint) or "dict[" in str(hint) else ""
            out += fields_read(inner, f"{path}.{name}{many}")
    return out


def top(path: str) -> str:
    """Return the field of the spec that a path leads through."""
    return re.split(r"[.\[]", path.removeprefix(".spec."))[0]


@pytest.mark.parametrize(
    ("name", "want_name", "want_version", "want_short", "want_columns", "want_status"),
    [
        (
            "podgroup", "podgroups.scheduling.volcano.sh", "v1beta1", ["pg", "podgroup-v1beta1"],
            ["STATUS", "minMember", "RUNNINGS", "AGE", "QUEUE"], False,
        ),
        (
            "queue", "queues.scheduling.volcano.sh", "v1beta1", ["q", "queue-v1beta1"],
            ["PARENT", "STATE", "WEIGHT"], True,
        ),
        (
            "job", "jobs.batch.volcano.sh", "v1alpha1", ["vcjob", "vj"],
            ["STATUS", "minAvailable", "RUNNINGS", "AGE", "QUEUE"], True,
        ),
        (
            "hypernode", "hypernodes.topology.volcano.sh", "v1alpha1", ["hn"],
            ["Tier", "TierName", "NodeCount", "Age"], True,
        ),
        (
            "numatopology", "numatopologies.nodeinfo.volcano.sh", "v1alpha1", ["numatopo"],
            [], False,
        ),
    ],
)  # fmt: skip
def test_definition_is_known_by_volcanos_names(
    name: str,
    want_name: str,
    want_version: str,
    want_short: list[str],
    want_columns: list[str],
    want_status: bool,
) -> None:
    made, served = parsed(name), version(name)

    assert made["apiVersion"] == "apiextensions.k8s.io/v1"
    assert made["metadata"]["name"] == want_name
    assert f"{made['spec']['names']['plural']}.{made['spec']['group']}" == want_name
    assert served["name"] == want_version
    assert made["spec"]["names"]["shortNames"] == want_short
    assert [c["name"] for c in served.get("additionalPrinterColumns", [])] == want_columns
    assert ("status" in served.get("subresources", {})) is want_status


def test_there_is_one_for_every_kind_of_volcano_that_is_read() -> None:
    read = {key for key in READERS if key[0].endswith("volcano.sh")}

    made = [parsed(name)["spec"] for name in NAMES]

    assert {(spec["group"], spec["names"]["kind"]) for spec in made} == read


@pytest.mark.parametrize("name", NAMES)
def test_every_field_that_is_read_has_its_place(name: str) -> None:
    known = {path: part for path, part in parts(schema(name))}
    read = fields_read(SHAPES[name])

    opaque = tuple(
        path for path, part in known.items() if part.get("type") == "object"
        and part.get("x-kubernetes-preserve-unknown-fields") and "properties" not in part
    )  # fmt: skip
    missing = [
        path for path in read
        if path not in known and not path.startswith(opaque) and path not in LENIENT
        and top(path) not in OTHER_DIALECTS
    ]  # fmt: skip
    assert missing == []


@pytest.mark.parametrize("name", NAMES)
def test_unknown_fields_are_kept(name: str) -> None:
    top = schema(name)["properties"]

    for part in ("spec", "status"):
        if part in top:
            assert top[part]["x-kubernetes-preserve-unknown-fields"] is True


@pytest.mark.parametrize("name", NAMES)
def test_every_part_says_its_type(name: str) -> None:
    untyped = [
        path for path, part in parts(schema(name))
        if "type" not in part and not part.get("x-kubernetes-int-or-string")
    ]  # fmt: skip

    assert untyped == []


def test_definitions_are_one_stream() -> None:
    kinds = [d["spec"]["names"]["kind"] for d in yaml.safe_load_all(definitions())]

    assert kinds == ["PodGroup", "Queue", "Job", "HyperNode", "Numatopology"]


def test_a_name_that_is_none_of_them_is_refused() -> None:
    with pytest.raises(InputError, match="no definition 'pg'; there are podgroup, queue"):
        definition("pg")
