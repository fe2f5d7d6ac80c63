"""On a real API server: our definitions are accepted, and do what they say."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from apportion.adapters.crds import definitions
from cluster.client import ApiError, Client
from cluster.manifests import apply_all, documents

ROOT = Path(__file__).resolve().parents[2]
TABLE = "application/json;as=Table;g=meta.k8s.io;v=v1"
Data = dict[str, Any]


def ours() -> list[Data]:
    return list(yaml.safe_load_all(definitions()))


def volcano(kind: str, name: str, *, group: str, namespaced: bool = True, **fields: Any) -> Data:
    meta = {"name": name, **({"namespace": "default"} if namespaced else {})}
    return {"apiVersion": group, "kind": kind, "metadata": meta, **fields}


def pod_group(name: str, **fields: Any) -> Data:
    return volcano("PodGroup", name, group="scheduling.volcano.sh/v1beta1", **fields)


def queue(name: str, **fields: Any) -> Data:
    api = "scheduling.volcano.sh/v1beta1"
    return volcano("Queue", name, group=api, namespaced=False, **fields)


def hyper_node(name: str, *members: Data) -> Data:
    spec = {"tier": 1, "members": list(members)}
    api = "topology.volcano.sh/v1alpha1"
    return volcano("HyperNode", name, group=api, namespaced=False, spec=spec)


@pytest.fixture
def defined(client: Client) -> Client:
    apply_all(client, ours())
    return client


def test_unknown_fields_are_kept_and_defaults_filled_in(defined: Client) -> None:
    made = defined.create(pod_group("g", spec={"minMember": 2, "futureField": {"a": 1}}))
    q = defined.create(queue("q", spec={"capability": {"cpu": 4, "memory": "8Gi"}, "later": True}))

    assert made["spec"] == {"minMember": 2, "futureField": {"a": 1}, "queue": "default"}
    assert (q["spec"]["weight"], q["spec"]["later"]) == (1, True)


def member(**selector: Any) -> Data:
    return {"type": selector.pop("type", "Node"), "selector": selector}


@pytest.mark.parametrize(
    ("wrong", "want_said"),
    [
        (pod_group("g", spec={"minMember": -1}), "greater than or equal to 0"),
        (pod_group("g", spec={"minResources": {"cpu": "much"}}), "should match"),
        (pod_group("g", spec={"networkTopology": {"mode": "near"}}), "supported values"),
        (queue("q", spec={"weight": 0}), "greater than or equal to 1"),
        (queue("q", spec={"parent": "No Name"}), "should match"),
        (
            hyper_node("h", member(exactMatch={"name": "n"}, regexMatch={"pattern": "n.*"})),
            "exactly one of",
        ),
        (hyper_node("h", member()), "exactly one of"),
        (hyper_node("h", member(type="HyperNode", labelMatch={})), "members of type Node"),
        (hyper_node("h"), "at least 1 items"),
    ],
    ids=[
        "negative", "no quantity", "no mode", "no weight", "no name", "two selectors",
        "no selector", "labels of a HyperNode", "no members",
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused(defined: Client, wrong: Data, want_said: str) -> None:
    with pytest.raises(ApiError, match=want_said) as refused:
        defined.create(wrong)

    assert refused.value.status == 422


def test_kubectl_prints_volcanos_columns(defined: Client) -> None:
    defined.create(pod_group("g", spec={"minMember": 3}, status={"phase": "Inqueue"}))

    table = defined.get(defined.path("PodGroup.scheduling.volcano.sh"), wanted=TABLE)

    shown = [c["name"] for c in table["columnDefinitions"]]
    assert shown == ["Name", "STATUS", "minMember", "RUNNINGS", "AGE", "QUEUE"]
    assert table["rows"][0]["cells"][:3] == ["g", "Inqueue", 3]


def test_a_status_is_a_subresource_where_volcano_has_one(defined: Client) -> None:
    defined.create(queue("q", status={"state": "Open"}))
    q = defined.path("Queue.scheduling.volcano.sh", "q")
    group = defined.create(pod_group("g", status={"phase": "Pending"}))

    changed = msgspec.json.decode(
        defined.request("PATCH", f"{q}/status", {"status": {"state": "Closed"}},
                        sent="application/merge-patch+json")
    )  # fmt: skip
    assert "status" not in defined.create(queue("other", status={"state": "Open"}))
    assert changed["status"]["state"] == "Closed"
    assert group["status"] == {"phase": "Pending"}


def test_examples_of_volcano_are_accepted(defined: Client) -> None:
    folder = ROOT / "examples" / "volcano"
    things = list(documents(folder / f"{name}.yaml" for name in ("queue", "podgroup", "job")))
    for name in {t["metadata"].get("namespace", "default") for t in things} - {"default"}:
        defined.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})

    apply_all(defined, things)

    assert defined.find_all("Job.batch.volcano.sh")
    assert defined.find_all("PodGroup.scheduling.volcano.sh")


def test_a_definition_that_is_there_is_left_alone(defined: Client) -> None:
    (mine,) = [d for d in ours() if d["spec"]["names"]["kind"] == "Queue"]
    name = mine["metadata"]["name"]
    mark: Data = {"metadata": {"annotations": {"example.com/from": "somebody else"}}}
    defined.patch("customresourcedefinitions", name, mark)

    with pytest.raises(ApiError) as refused:
        defined.create(mine)

    there = defined.read("customresourcedefinitions", name)
    assert refused.value.reason == "AlreadyExists"
    assert there["metadata"]["annotations"]["example.com/from"] == "somebody else"
    defined.patch("customresourcedefinitions", name, {"metadata": {"annotations": None}})
