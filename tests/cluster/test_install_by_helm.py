"""Helm and kubectl themselves on a real API server: install, upgrade, uninstall."""

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from apportion.adapters.crds import definitions
from cluster.authorizing import wait_authorized
from cluster.client import Client
from cluster.helm import helm
from cluster.plane import ControlPlane

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"
NAMESPACE = "apportion-system"
Run = Callable[..., str]


def runs(program: str | Path, plane: ControlPlane, home: Path) -> Run:
    """Return what runs a program as the administrator, and fails where it does."""
    env = {
        "PATH": os.environ["PATH"], "HOME": str(home), "KUBECONFIG": str(plane.kubeconfig),
    }  # fmt: skip

    def run(*words: str | Path, stdin: str = "", fails: bool = False) -> str:
        done = subprocess.run(
            [program, *words], input=stdin, env=env, capture_output=True, text=True, check=False
        )
        assert (done.returncode != 0) is fails, done.stdout + done.stderr
        return done.stdout + done.stderr

    return run


@pytest.fixture
def by_helm(plane: ControlPlane, tmp_path: Path) -> Run:
    program = helm()
    if program is None:
        pytest.skip("no helm here: see `make control-plane`")
    return runs(program, plane, tmp_path)


@pytest.fixture
def kubectl(plane: ControlPlane, tmp_path: Path) -> Run:
    program = shutil.which("kubectl")
    if program is None:
        pytest.skip("no kubectl here")
    return runs(program, plane, tmp_path)


def test_a_release_is_installed_changed_and_taken_away(client: Client, by_helm: Run) -> None:
    where = ["--namespace", NAMESPACE]
    chart = DEPLOY / "chart"

    by_helm("install", "one", chart, *where, "--create-namespace")
    first = client.read("Deployment.apps", "one", NAMESPACE)["spec"]
    said = by_helm("upgrade", "one", chart, *where, "--set", "replicas=3", "--set", "dryRun=true")
    second = client.read("Deployment.apps", "one", NAMESPACE)["spec"]
    by_helm("uninstall", "one", *where)

    assert first["replicas"] == 2
    assert second["replicas"] == 3
    assert "--dry-run" in second["template"]["spec"]["containers"][0]["args"]
    assert "dryRun is set, so it writes nothing" in said
    assert client.find("Deployment.apps", "one", NAMESPACE) is None
    assert client.find("ClusterRole.rbac.authorization.k8s.io", "one") is None
    left = client.find("customresourcedefinitions", "podgroups.scheduling.volcano.sh")
    assert left is not None, "definitions stay, with the objects in them"


def test_two_releases_stand_side_by_side(client: Client, by_helm: Run) -> None:
    for name in ("one", "two"):
        by_helm(
            "install", name, DEPLOY / "chart", "--namespace", f"{name}-system",
            "--create-namespace", "--set", f"schedulerName={name}",
        )  # fmt: skip

    found = [client.read("Deployment.apps", n, f"{n}-system") for n in ("one", "two")]
    assert [d["metadata"]["name"] for d in found] == ["one", "two"]


def test_the_commands_of_the_page_work_with_kubectl(client: Client, kubectl: Run) -> None:
    created = kubectl("create", "-f", "-", stdin=definitions(), fails=bool(
        client.find("customresourcedefinitions", "queues.scheduling.volcano.sh")
    ))  # fmt: skip
    again = kubectl("create", "-f", "-", stdin=definitions(), fails=True)

    assert created.count("customresourcedefinition") >= 5
    assert again.count("AlreadyExists") == 5

    kubectl("apply", "-f", DEPLOY / "apportion.yaml")
    unchanged = kubectl("apply", "--dry-run=server", "-f", DEPLOY / "apportion.yaml")
    changed = [ln for ln in unchanged.splitlines() if "unchanged (server dry run)" not in ln]
    # A selector of a budget is replaced as a whole by every apply, and called configured for it.
    assert [ln for ln in changed if not ln.startswith("poddisruptionbudget.policy/")] == []
    wait_authorized(client)
    told = kubectl(
        "auth", "can-i", "create", "pods", "--subresource=eviction", "-A",
        "--as", f"system:serviceaccount:{NAMESPACE}:apportion",
    )  # fmt: skip
    assert told.strip() == "yes"

    kubectl("delete", "-f", DEPLOY / "apportion.yaml", "--wait=false")
    assert client.find("ClusterRole.rbac.authorization.k8s.io", "apportion") is None
    assert client.find("customresourcedefinitions", "queues.scheduling.volcano.sh")
