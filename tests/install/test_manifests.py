"""The plain manifest: safe by default, of one piece, and the rights are those of the program."""

from typing import Any

import pytest
import typer
import yaml
from deploy.generate import generated

from apportion.adapters.cli.app import app
from apportion.adapters.configuration import Configuration
from apportion.adapters.live.reviews import PATH
from apportion.adapters.live.rights import IN_OWN_NAMESPACE, Right, everywhere

Data = dict[str, Any]
Objects = dict[tuple[str, str], Data]


def test_generated_files_are_as_they_would_be_generated() -> None:
    stale = [p.name for p, text in generated().items() if not p.exists() or p.read_text() != text]

    assert stale == [], "make generate writes them"


@pytest.fixture
def pod(plain: Objects) -> Data:
    found: Data = plain["Deployment", "apportion"]["spec"]["template"]
    return found


@pytest.fixture
def container(pod: Data) -> Data:
    (only,) = pod["spec"]["containers"]
    found: Data = only
    return found


def test_the_manifest_has_what_an_installation_needs(plain: Objects) -> None:
    kinds = sorted(kind for kind, _ in plain)

    assert kinds == [
        "ClusterRole", "ClusterRole", "ClusterRole", "ClusterRole", "ClusterRoleBinding",
        "ConfigMap", "Deployment", "Namespace", "NetworkPolicy", "PodDisruptionBudget",
        "PriorityClass", "Role", "RoleBinding", "Service", "ServiceAccount", "ServiceMonitor",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "rights"), [("ClusterRole", everywhere()), ("Role", IN_OWN_NAMESPACE)]
)
def test_roles_grant_what_the_program_needs(
    plain: Objects, kind: str, rights: tuple[Right, ...]
) -> None:
    want = [
        {"apiGroups": [r.group], "resources": list(r.resources), "verbs": list(r.verbs)}
        for r in rights
    ]

    assert plain[kind, "apportion"]["rules"] == want


def test_bindings_join_the_account_to_its_roles(plain: Objects) -> None:
    account = plain["ServiceAccount", "apportion"]["metadata"]
    for kind in ("ClusterRoleBinding", "RoleBinding"):
        binding = plain[kind, "apportion"]
        (subject,) = binding["subjects"]

        assert (subject["kind"], subject["name"], subject["namespace"]) == (
            "ServiceAccount", account["name"], account["namespace"],
        )  # fmt: skip
        assert (binding["roleRef"]["kind"], binding["roleRef"]["name"]) in plain


def test_the_debug_role_is_the_right_that_is_asked_for(plain: Objects) -> None:
    (rule,) = plain["ClusterRole", "apportion-debug"]["rules"]

    assert rule == {"nonResourceURLs": [PATH], "verbs": ["get"]}
    bound = {thing["roleRef"]["name"] for (kind, _), thing in plain.items() if "Binding" in kind}
    assert "apportion-debug" not in bound


def test_one_set_of_labels_selects_the_pods(plain: Objects, pod: Data) -> None:
    labels = pod["metadata"]["labels"]

    assert plain["Deployment", "apportion"]["spec"]["selector"]["matchLabels"] == labels
    assert plain["Service", "apportion"]["spec"]["selector"] == labels
    assert plain["PodDisruptionBudget", "apportion"]["spec"]["selector"]["matchLabels"] == labels
    assert plain["NetworkPolicy", "apportion"]["spec"]["podSelector"]["matchLabels"] == labels
    service = plain["Service", "apportion"]["metadata"]["labels"].items()
    monitored = plain["ServiceMonitor", "apportion"]["spec"]["selector"]["matchLabels"].items()
    assert monitored <= service


def test_everything_is_in_the_namespace_of_the_manifest(plain: Objects) -> None:
    clusterwide = {"Namespace", "ClusterRole", "ClusterRoleBinding", "PriorityClass"}
    namespaces = {kind: thing["metadata"].get("namespace") for (kind, _), thing in plain.items()}

    assert {n for kind, n in namespaces.items() if kind not in clusterwide} == {"apportion-system"}
    assert {n for kind, n in namespaces.items() if kind in clusterwide} == {None}


def test_the_container_may_do_as_little_as_it_can(pod: Data, container: Data) -> None:
    whole, own = pod["spec"]["securityContext"], container["securityContext"]

    assert whole["runAsNonRoot"] is True
    assert whole["runAsUser"] > 0
    assert whole["seccompProfile"] == {"type": "RuntimeDefault"}
    assert own == {
        "allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }  # fmt: skip
    assert "command" not in container
    writable = [m["mountPath"] for m in container["volumeMounts"] if not m.get("readOnly")]
    assert writable == ["/tmp"]


def test_two_replicas_share_a_lease_on_two_nodes(plain: Objects, pod: Data) -> None:
    (spread,) = pod["spec"]["topologySpreadConstraints"]

    assert plain["Deployment", "apportion"]["spec"]["replicas"] == 2
    assert spread["topologyKey"] == "kubernetes.io/hostname"
    assert plain["PodDisruptionBudget", "apportion"]["spec"]["maxUnavailable"] == 1


def test_it_is_scheduled_by_another_scheduler_and_goes_first(plain: Objects, pod: Data) -> None:
    spec = pod["spec"]

    assert spec["schedulerName"] == "default-scheduler"
    assert spec["priorityClassName"] == "apportion"
    # The largest value that is not kept for Kubernetes itself.
    assert plain["PriorityClass", "apportion"]["value"] == 1_000_000_000


def test_probes_and_service_ask_the_port_that_is_listened_on(
    plain: Objects, container: Data
) -> None:
    (port,) = container["ports"]
    listens = [a for a in container["args"] if a.startswith("--listen=")]

    assert listens == [f"--listen=0.0.0.0:{port['containerPort']}"]
    for probe, path in (("livenessProbe", "/healthz"), ("readinessProbe", "/readyz")):
        assert container[probe]["httpGet"] == {"path": path, "port": port["name"]}
    (served,) = plain["Service", "apportion"]["spec"]["ports"]
    assert served["targetPort"] == port["name"]


def test_settings_are_mounted_where_they_are_looked_for(
    plain: Objects, pod: Data, container: Data
) -> None:
    (mount,) = [m for m in container["volumeMounts"] if m["name"] == "config"]
    (volume,) = [v for v in pod["spec"]["volumes"] if v["name"] == "config"]
    data = plain["ConfigMap", volume["configMap"]["name"]]["data"]

    assert "subPath" not in mount, "a file that is mounted singly never changes"
    assert f"--config={mount['mountPath']}/config.yaml" in container["args"]
    assert Configuration.model_validate(yaml.safe_load(data["config.yaml"]))


def test_the_lease_is_where_the_role_is(plain: Objects, container: Data) -> None:
    namespace = plain["Role", "apportion"]["metadata"]["namespace"]

    assert f"--lease-namespace={namespace}" in container["args"]


def test_memory_is_enough_for_the_solver_at_its_limit(container: Data) -> None:
    from apportion.models import Config
    from apportion.models.quantity import parse

    limit = parse(container["resources"]["limits"]["memory"], "memory")

    assert limit >= (Config().memory_limit_mib + 1024) << 20


def test_arguments_are_options_of_the_command(container: Data) -> None:
    group: Any = typer.main.get_command(app())
    command, *words = container["args"]
    known = {o for p in group.commands[command].params for o in (*p.opts, *p.secondary_opts)}

    assert {word.partition("=")[0] for word in words} <= known
