"""On a real API server: definitions, manifest and chart are accepted, and the role is enough."""

import asyncio
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from apportion.adapters.crds import NAMES, definitions
from apportion.adapters.live.access import opened
from apportion.adapters.live.reviews import Reviews
from apportion.adapters.live.rights import IN_OWN_NAMESPACE, Right, everywhere, plural
from cluster.client import ApiError, Client
from cluster.helm import helm
from cluster.manifests import apply_all, documents
from cluster.objects import definition
from cluster.plane import ControlPlane
from cluster.waiting import until

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
NAMESPACE = "apportion-system"
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


def try_all(client: Client, things: list[Data]) -> None:
    """Ask the server what it would say: ``kubectl apply --server-side --dry-run=server``."""
    for thing in things:
        group = thing["apiVersion"].rpartition("/")[0]
        kind = f"{thing['kind']}.{group}" if group else thing["kind"]
        meta = thing["metadata"]
        path = client.path(kind, meta["name"], meta.get("namespace"))
        asked = "dryRun=All&fieldValidation=Strict&fieldManager=tests&force=true"
        client.request("PATCH", f"{path}?{asked}", thing, sent="application/apply-patch+yaml")


def plain() -> list[Data]:
    files = [DEPLOY / "apportion.yaml", *sorted((DEPLOY / "extras").glob("*.yaml"))]
    return [t for f in files for t in yaml.safe_load_all(f.read_text()) if t]


@pytest.fixture
def monitored(client: Client) -> Client:
    """A cluster that has the kind of the Prometheus operator, and our namespace."""
    apply_all(client, [definition("monitoring.coreos.com", "ServiceMonitor"), plain()[0]])
    return client


def test_the_manifest_is_accepted_to_the_letter(monitored: Client) -> None:
    try_all(monitored, plain()[1:])


@pytest.mark.parametrize("values", ["{}", '{"enabled": true}'], ids=["default", "everything"])
def test_the_chart_is_accepted_to_the_letter(monitored: Client, values: str) -> None:
    program = helm()
    if program is None:
        pytest.skip("no helm here: see `make control-plane`")
    on = [f"--set-json={part}={values}" for part in ("dashboards", "networkPolicy")]
    command: list[str | Path] = [program, "template", "other", DEPLOY / "chart", *on]
    command += [f"--namespace={NAMESPACE}", "--kube-version=1.36.0", "--include-crds"]

    done = subprocess.run(command, capture_output=True, text=True, check=True)

    try_all(monitored, [t for t in yaml.safe_load_all(done.stdout) if t])


@pytest.fixture
def installed(monitored: Client) -> Client:
    """The administrator's client of a cluster with all of the manifest, and the definitions."""
    apply_all(monitored, [*ours(), *plain()])
    return monitored


@pytest.fixture
def scheduler(plane: ControlPlane, installed: Client) -> Iterator[Client]:
    """A client with the rights of the scheduler, and no others."""
    assert installed
    with plane.client(plane.access_of(NAMESPACE, "apportion")) as client:
        yield client


def test_the_role_lists_every_kind_that_is_read(scheduler: Client, installed: Client) -> None:
    served = {(k.group, k.plural): k for k in installed.kinds()}
    read = [
        served[right.group, name]
        for right in everywhere()
        for name in right.resources
        if "list" in right.verbs and (right.group, name) in served
    ]

    assert len(read) > 25
    for kind in read:
        assert "items" in scheduler.get(kind.path(None, None))


def may(client: Client, verb: str, group: str, resource: str, namespace: str = "default") -> bool:
    name, _, subresource = resource.partition("/")
    asked = {"verb": verb, "group": group, "resource": name, "namespace": namespace}
    spec = {"resourceAttributes": {**asked, "subresource": subresource}}
    path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    body = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview"}
    answer = msgspec.json.decode(client.request("POST", path, {**body, "spec": spec}))
    allowed: bool = answer["status"]["allowed"]
    return allowed


def single(rights: tuple[Right, ...]) -> set[tuple[str, str, str]]:
    return {(v, r.group, name) for r in rights for name in r.resources for v in r.verbs}


def test_the_role_grants_every_right_of_the_list(scheduler: Client) -> None:
    everything, own = single(everywhere()), single(IN_OWN_NAMESPACE)

    assert [one for one in everything if not may(scheduler, *one)] == []
    assert [one for one in own if not may(scheduler, *one, namespace=NAMESPACE)] == []
    assert [one for one in own if may(scheduler, *one)] == [], "leases of other namespaces"


def test_the_role_grants_nothing_else(scheduler: Client) -> None:
    path = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews"
    body = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectRulesReview"}
    answer = msgspec.json.decode(
        scheduler.request("POST", path, {**body, "spec": {"namespace": "default"}})
    )

    granted = {
        (verb, group, name)
        for rule in answer["status"]["resourceRules"]
        for verb in rule["verbs"]
        for group in rule["apiGroups"]
        for name in rule["resources"]
    }
    # What every account may: ask about itself.
    of_all = {one for one in granted if one[2].startswith("selfsubject")}
    assert granted - of_all == single(everywhere())
    for verb, group, name in (
        ("delete", "", "pods"), ("create", "", "pods"), ("patch", "", "nodes"),
        ("get", "", "secrets"), ("list", "", "configmaps"),
        ("delete", "scheduling.volcano.sh", "queues"),
        ("escalate", "rbac.authorization.k8s.io", "clusterroles"),
    ):  # fmt: skip
        assert not may(scheduler, verb, group, name)


def test_plurals_are_those_of_the_server(installed: Client) -> None:
    kinds = {(k.group, k.kind): k.plural for k in installed.kinds()}
    from apportion.adapters.kubernetes.kinds import READERS

    known = {key: kinds[key] for key in READERS if key in kinds}
    assert len(known) > 25
    assert known == {key: plural(key[1]) for key in known}


def test_debug_pages_are_for_those_who_are_bound_to_the_role(
    plane: ControlPlane, installed: Client, tmp_path: Path
) -> None:
    for name in ("reader", "stranger"):
        installed.create(
            {"apiVersion": "v1", "kind": "ServiceAccount",
             "metadata": {"name": name, "namespace": NAMESPACE}}
        )  # fmt: skip
    installed.create(
        {
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
            "metadata": {"name": "reader"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole",
                        "name": "apportion-debug"},
            "subjects": [{"kind": "ServiceAccount", "name": "reader", "namespace": NAMESPACE}],
        }
    )  # fmt: skip
    tokens = {n: installed.token_of(NAMESPACE, n) for n in ("reader", "stranger")}
    tokens["nobody"] = "no.such.token"
    config = plane.access_of(NAMESPACE, "apportion").write_kubeconfig(tmp_path / "kubeconfig")

    async def ask() -> dict[str, bool]:
        async with opened(str(config)) as api:
            reviews = Reviews(api)
            return {name: await reviews.may_read(token) for name, token in tokens.items()}

    def is_decided() -> bool:
        # The API server's authorizer hears of a new binding a moment later.
        return asyncio.run(ask())["reader"]

    until(is_decided, "the binding holds")
    assert asyncio.run(ask()) == {"reader": True, "stranger": False, "nobody": False}


def test_every_definition_is_there(installed: Client) -> None:
    there = {d["spec"]["names"]["kind"].lower() for d in
             installed.find_all("customresourcedefinitions")}  # fmt: skip

    assert set(NAMES) <= there
