"""On a real API server: manifest and chart are accepted, and the rights are those needed."""

import asyncio
import subprocess
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest
import urllib3
import yaml

from apportion.adapters.crds import definitions
from apportion.adapters.live.access import opened
from apportion.adapters.live.reviews import Reviews
from apportion.adapters.live.rights import IN_OWN_NAMESPACE, Right, everywhere, plural
from apportion.models.snapshot import read
from cluster.access import Access
from cluster.client import ApiError, Client
from cluster.helm import helm
from cluster.looking import wait_placed
from cluster.manifests import apply_all
from cluster.objects import definition, gang, node
from cluster.plane import ControlPlane
from cluster.scheduler import Scheduler, Schedulers
from cluster.waiting import until

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
NAMESPACE = "apportion-system"
Data = dict[str, Any]


def ours() -> list[Data]:
    return list(yaml.safe_load_all(definitions()))


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
def admin(client: Client, installed: Access) -> Client:
    """The administrator's client of a cluster with our manifest and definitions."""
    assert installed
    apply_all(client, ours())
    return client


@pytest.fixture
def account(plane: ControlPlane, admin: Client, installed: Access) -> Iterator[Client]:
    """A client with the rights of the scheduler, and no others."""
    assert admin
    with plane.client(installed) as client:
        yield client


def test_the_role_lists_every_kind_that_is_read(account: Client, admin: Client) -> None:
    served = {(k.group, k.plural): k for k in admin.kinds()}
    read = [
        served[right.group, name]
        for right in everywhere()
        for name in right.resources
        if "list" in right.verbs and (right.group, name) in served
    ]

    assert len(read) > 25
    for kind in read:
        until(partial(can_be_listed, account, kind.path()), f"{kind.plural} are listed")


def can_be_listed(client: Client, path: str) -> bool:
    try:
        return "items" in client.get(path)
    except ApiError as error:
        if error.status == 429:  # its definition is new, and its store is being made ready
            return False
        raise


def single(rights: tuple[Right, ...]) -> set[tuple[str, str, str]]:
    return {(v, r.group, name) for r in rights for name in r.resources for v in r.verbs}


def test_the_role_grants_every_right_of_the_list(account: Client) -> None:
    everything, own = single(everywhere()), single(IN_OWN_NAMESPACE)

    assert [one for one in everything if not account.may(*one)] == []
    assert [one for one in own if not account.may(*one, namespace=NAMESPACE)] == []
    assert [one for one in own if account.may(*one)] == [], "leases of other namespaces"


def test_the_role_grants_nothing_else(account: Client) -> None:
    path = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews"
    body = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectRulesReview"}
    answer = msgspec.json.decode(
        account.request("POST", path, {**body, "spec": {"namespace": "default"}})
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
        assert not account.may(verb, group, name)


def test_plurals_are_those_of_the_server(admin: Client) -> None:
    kinds = {(k.group, k.kind): k.plural for k in admin.kinds()}
    from apportion.adapters.kubernetes.kinds import READERS

    known = {key: kinds[key] for key in READERS if key in kinds}
    assert len(known) > 25
    assert known == {key: plural(key[1]) for key in known}


def readers(admin: Client) -> dict[str, str]:
    """Return tokens: of an account that is bound to the debug role, of one that is not, of none."""
    for name in ("reader", "stranger"):
        meta = {"name": name, "namespace": NAMESPACE}
        admin.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta})
    group = "rbac.authorization.k8s.io"
    admin.create(
        {
            "apiVersion": f"{group}/v1", "kind": "ClusterRoleBinding",
            "metadata": {"name": "reader"},
            "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": "apportion-debug"},
            "subjects": [{"kind": "ServiceAccount", "name": "reader", "namespace": NAMESPACE}],
        }
    )  # fmt: skip
    tokens = {name: admin.token_of(NAMESPACE, name) for name in ("reader", "stranger")}
    return {**tokens, "nobody": "no.such.token"}


def test_debug_pages_are_for_those_who_are_bound_to_the_role(
    admin: Client, installed: Access, tmp_path: Path
) -> None:
    tokens = readers(admin)
    config = installed.write_kubeconfig(tmp_path / "kubeconfig")

    async def ask() -> dict[str, bool]:
        async with opened(str(config)) as api:
            reviews = Reviews(api)
            return {name: await reviews.may_read(token) for name, token in tokens.items()}

    # The API server's authorizer hears of a new binding a moment later.
    until(lambda: asyncio.run(ask())["reader"], "the binding holds")
    assert asyncio.run(ask()) == {"reader": True, "stranger": False, "nobody": False}


def get(port: int, path: str, token: str = "") -> tuple[int, bytes]:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    answer = urllib3.request("GET", f"http://127.0.0.1:{port}{path}", headers=headers)
    return answer.status, answer.data


@pytest.mark.usefixtures("kwok")
def test_the_command_of_the_deployment_schedules_with_the_rights_of_the_manifest(
    admin: Client, installed: Access, tmp_path: Path
) -> None:
    (deployment,) = [t for t in plain() if t["kind"] == "Deployment"]
    (settings,) = [t for t in plain() if t["kind"] == "ConfigMap"]
    (tmp_path / "config.yaml").write_text(settings["data"]["config.yaml"])
    command, *words = deployment["spec"]["template"]["spec"]["containers"][0]["args"]
    changed = {"--config": tmp_path / "config.yaml", "--listen": "127.0.0.1:0"}
    words = [f"{w.partition('=')[0]}={changed.get(w.partition('=')[0])}"
             if w.partition("=")[0] in changed else w for w in words]  # fmt: skip
    admin.create_all([node("n1", 8), *gang("g", 2, 4)])
    tokens = readers(admin)
    schedulers = Schedulers(tmp_path, installed)

    try:
        one = schedulers.start(*words, elects=True)
        wait_placed(admin, "g-0", "g-1")
        (listening,) = one.wait_for("listening")
        port = listening["port"]

        assert command == "run"
        assert get(port, "/healthz") == (200, b"ok\n")
        assert get(port, "/readyz") == (200, b"ok\n")
        until(lambda: b"\napportion_binds_total 2.0\n" in get(port, "/metrics")[1], "binds counted")
        until(lambda: b"\napportion_leader 1.0\n" in get(port, "/metrics")[1], "it says it leads")
        until(lambda: get(port, "/debug/snapshot", tokens["reader"])[0] == 200, "it may be read")
        seen = read(get(port, "/debug/snapshot", tokens["reader"])[1])
        assert {p.name for p in seen.pods} == {"g-0", "g-1"}
        assert get(port, "/debug/snapshot", tokens["stranger"])[0] == 403
        assert get(port, "/debug/plan")[0] == 401
        assert admin.read("leases", "apportion", NAMESPACE)["spec"]["holderIdentity"]
        assert [e for e in one.events() if e.get("level") in ("WARNING", "ERROR")] == []
    finally:
        schedulers.stop()


def test_a_right_that_is_missing_is_said(
    plane: ControlPlane, admin: Client, tmp_path: Path
) -> None:
    role = admin.read("ClusterRole.rbac.authorization.k8s.io", "apportion")
    without = [r for r in role["rules"] if r["apiGroups"] != ["policy"]]
    admin.patch("ClusterRole.rbac.authorization.k8s.io", "apportion", {"rules": without})
    access = plane.access_of(NAMESPACE, "apportion")
    with plane.client(access) as account:
        until(lambda: not account.may("list", "policy", "poddisruptionbudgets"), "it is refused")
    one = Scheduler(tmp_path, access, "--listen=127.0.0.1:0")
    one.start()

    try:
        (listening, *_) = one.wait_for("listening")
        (said, *_) = one.wait_for("some kinds cannot be read")
        status, why = get(listening["port"], "/readyz")
    finally:
        one.kill()

    assert said["why"][0].startswith("poddisruptionbudgets: 403 Forbidden")
    assert (status, b"poddisruptionbudgets: 403" in why) == (503, True)
    assert one.events("synced") == []


@pytest.mark.usefixtures("kwok", "volcano")
def test_a_group_whose_status_is_apart_has_it_written(
    client: Client, schedulers: Schedulers
) -> None:
    name = "podgroups.scheduling.volcano.sh"
    (usual,) = client.read("customresourcedefinitions", name)["spec"]["versions"]
    apart = {**usual, "subresources": {"status": {}}}
    root = "/apis/scheduling.volcano.sh/v1beta1"

    def has_status() -> bool:
        return any(r["name"] == "podgroups/status" for r in client.get(root)["resources"])

    client.patch("customresourcedefinitions", name, {"spec": {"versions": [apart]}})
    try:
        until(has_status, "the status is apart")
        client.create_all([node("n1", 8), *gang("g", 2, 4)])
        schedulers.start()
        wait_placed(client, "g-0", "g-1")
        until(
            lambda: client.read("PodGroup.scheduling.volcano.sh", "g")
            .get("status", {}).get("phase") == "Running",
            "the group is called running",
        )  # fmt: skip
    finally:
        client.patch("customresourcedefinitions", name, {"spec": {"versions": [usual]}})
        until(lambda: not has_status(), "the status is where it was")
