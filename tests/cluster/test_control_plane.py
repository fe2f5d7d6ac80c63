"""The control plane itself: what other tests rely on is there."""

import pytest

from cluster import manifests
from cluster.access import Access
from cluster.cleaning import clean, paths
from cluster.client import ApiError, Client
from cluster.objects import budget, definition, node, pod, priority_class
from cluster.plane import ControlPlane
from cluster.waiting import until


def phase_of(client: Client, name: str) -> str:
    return str(client.read("pods", name)["status"]["phase"])


def wait_running(client: Client, *names: str) -> None:
    until(lambda: all(phase_of(client, n) == "Running" for n in names), f"{names} run")


def gone(client: Client, name: str) -> None:
    until(lambda: client.find("pods", name) is None, f"pod {name} is gone")


def test_an_empty_cluster_has_no_nodes_and_no_pods(client: Client) -> None:
    assert client.find_all("nodes") == []
    assert client.find_all("pods") == []
    assert client.get("/version")["gitVersion"].startswith("v1.")


@pytest.mark.usefixtures("kwok")
def test_a_bound_pod_runs_and_a_deleted_one_goes(client: Client) -> None:
    client.create(node("n1"))
    client.create(pod("p", 2))
    assert phase_of(client, "p") == "Pending"

    client.bind("p", "n1")
    wait_running(client, "p")
    client.delete("pods", "p")

    gone(client, "p")


@pytest.mark.usefixtures("kwok")
def test_annotations_time_a_pod(client: Client) -> None:
    client.create(node("n1"))
    client.create(pod("quick", times={"runs": "50ms"}))
    client.create(pod("broken", times={"fails-after": "50ms"}))
    client.create(pod("slow", times={"ready-after": "1h"}))
    client.create(pod("stays", times={"gone-after": "1h"}))
    for name in ("slow", "quick", "broken", "stays"):
        client.bind(name, "n1")

    until(lambda: phase_of(client, "quick") == "Succeeded", "quick succeeds")
    until(lambda: phase_of(client, "broken") == "Failed", "broken fails")
    wait_running(client, "stays")
    client.delete("pods", "stays")

    assert phase_of(client, "slow") == "Pending"
    assert "deletionTimestamp" in client.read("pods", "stays")["metadata"]


@pytest.mark.usefixtures("kwok")
def test_kwok_keeps_what_a_node_offers_and_calls_it_ready(client: Client) -> None:
    client.create(node("n1", 8, cpu="64"))

    def is_ready() -> bool:
        conditions = client.read("nodes", "n1")["status"].get("conditions", ())
        return any(c["type"] == "Ready" and c["status"] == "True" for c in conditions)

    until(is_ready, "n1 is ready")
    found = client.read("nodes", "n1")
    assert found["status"]["allocatable"]["nvidia.com/gpu"] == "8"
    assert found["spec"].get("taints", []) == []


@pytest.mark.usefixtures("kwok", "controllers")
def test_an_eviction_honours_a_budget(client: Client) -> None:
    client.create(node("n1"))
    client.create_all(pod(name, labels={"app": "web"}) for name in ("a", "b"))
    client.create(budget("web", {"app": "web"}, 1))
    for name in ("a", "b"):
        client.bind(name, "n1")
    wait_running(client, "a", "b")

    def may_evict_one() -> bool:
        status = client.read("poddisruptionbudgets", "web").get("status", {})
        return bool(status.get("disruptionsAllowed") == 1)

    until(may_evict_one, "the budget allows one eviction")
    client.evict("a", dryRun=["All"])
    client.evict("a")
    with pytest.raises(ApiError, match="disruption budget") as refused:
        client.evict("b")

    assert refused.value.status == 429
    gone(client, "a")


@pytest.mark.usefixtures("controllers")
def test_the_priority_of_a_class_is_written_into_the_pod(client: Client) -> None:
    client.create(priority_class("high", 1000))

    made = client.create(pod("p", priorityClassName="high"))

    assert made["spec"]["priority"] == 1000


@pytest.mark.usefixtures("controllers", "kwok")
def test_a_deleted_pod_of_a_replica_set_comes_again(client: Client) -> None:
    labels = {"app": "web"}
    template = {"metadata": {"labels": labels}, "spec": pod("any")["spec"]}
    spec = {"replicas": 2, "selector": {"matchLabels": labels}, "template": template}
    meta = {"name": "web", "namespace": "default"}
    client.create({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": meta, "spec": spec})
    until(lambda: len(client.find_all("pods")) == 2, "there are two pods")
    first = client.find_all("pods")[0]["metadata"]

    client.delete("pods", first["name"], grace_s=0)

    def is_replaced() -> bool:
        uids = {p["metadata"]["uid"] for p in client.find_all("pods")}
        return len(uids) == 2 and first["uid"] not in uids

    until(is_replaced, "the pod is replaced")


def test_cleaning_leaves_what_was_there_before(
    client: Client, initial: dict[str, str], kwok: None
) -> None:
    manifests.apply_all(client, [definition("tests.apportion.dev", "Widget")])
    client.create(
        {
            "apiVersion": "tests.apportion.dev/v1", "kind": "Widget",
            "metadata": {"name": "w", "namespace": "default", "finalizers": ["example.com/never"]},
        }
    )  # fmt: skip
    client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "other"}})
    client.create(pod("p", namespace="other", times={"gone-after": "1h"}))
    client.create(node("n1"))
    client.bind("p", "n1", "other")

    clean(client, initial)

    left = paths(client)
    assert [path for uid, path in initial.items() if uid not in left] == []
    assert client.find("namespaces", "other") is None
    assert client.find("customresourcedefinitions", "widgets.tests.apportion.dev") is None


def test_definitions_are_served_when_they_have_been_applied(client: Client) -> None:
    with pytest.raises(LookupError, match=r"serves no gadgets\.tests\.apportion\.dev"):
        client.find_all("gadgets.tests.apportion.dev")
    gadget = {
        "apiVersion": "tests.apportion.dev/v1", "kind": "Gadget",
        "metadata": {"name": "g", "namespace": "default"}, "size": 3,
    }  # fmt: skip

    manifests.apply_all(client, [gadget, definition("tests.apportion.dev", "Gadget")])

    assert [g["size"] for g in client.find_all("gadgets.tests.apportion.dev")] == [3]


def test_an_account_has_the_rights_of_its_role_and_no_others(
    plane: ControlPlane, client: Client
) -> None:
    client.create(
        {"apiVersion": "v1", "kind": "ServiceAccount",
         "metadata": {"name": "reader", "namespace": "default"}}
    )  # fmt: skip
    api = "rbac.authorization.k8s.io"
    rules = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}]
    client.create(
        {"apiVersion": f"{api}/v1", "kind": "ClusterRole", "metadata": {"name": "reader"},
         "rules": rules}
    )  # fmt: skip
    subject = {"kind": "ServiceAccount", "name": "reader", "namespace": "default"}
    client.create(
        {"apiVersion": f"{api}/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "reader"},
         "roleRef": {"apiGroup": api, "kind": "ClusterRole", "name": "reader"},
         "subjects": [subject]}
    )  # fmt: skip

    with plane.client(plane.access_of("default", "reader")) as reader:
        until(lambda: may(reader, "pods"), "the role is known")
        assert not may(reader, "nodes")


def may(client: Client, kind: str) -> bool:
    try:
        client.find_all(kind)
    except ApiError as error:
        if error.status != 403:
            raise
        return False
    return True


def test_a_stranger_is_refused(plane: ControlPlane) -> None:
    stranger = Access(plane.admin.url, plane.admin.ca_file, "wrong")

    with plane.client(stranger) as client, pytest.raises(ApiError) as refused:
        client.get("/api/v1/pods")

    assert refused.value.status == 401


@pytest.mark.usefixtures("kwok", "neighbour")
def test_kube_scheduler_places_its_own_pods_and_no_others(client: Client) -> None:
    client.create(node("n1", 4))
    client.create(pod("ours", 1))
    client.create(pod("theirs", 4, scheduler="default-scheduler"))

    wait_running(client, "theirs")

    assert client.read("pods", "theirs")["spec"]["nodeName"] == "n1"
    assert "nodeName" not in client.read("pods", "ours")["spec"]
