"""The chart: by default what the plain manifest is, and every value does what it says."""

import re
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml

from apportion import __version__
from apportion.adapters.cli.app import app

ROOT = Path(__file__).resolve().parents[2]
CHART = ROOT / "deploy" / "chart"
VALUES = yaml.safe_load((CHART / "values.yaml").read_text())
SCHEMA = yaml.safe_load((CHART / "values.schema.json").read_text())
BY_HELM = ("helm.sh/chart", "app.kubernetes.io/version", "app.kubernetes.io/managed-by")
OPEN = {"config", "resources", "nodeSelector", "affinity", "podAnnotations", "podLabels"}
"""Values that are passed on as they are."""

Data = dict[str, Any]
Objects = dict[tuple[str, str], Data]


def leaves(values: Data, path: str = "") -> list[str]:
    """Return the paths of the values that can be set."""
    out = []
    for key, value in values.items():
        inside = isinstance(value, dict) and f"{path}{key}" not in OPEN
        if inside and value and not key.endswith(("labels", "annotations")):
            out += leaves(value, f"{path}{key}.")
        else:
            out.append(f"{path}{key}")
    return out


def in_schema(path: str) -> bool:
    at = SCHEMA
    for part in path.split("."):
        if part not in at["properties"]:
            return False
        at = at["properties"][part]
    return True


def used(path: str) -> bool:
    texts = (p.read_text() for p in (CHART / "templates").iterdir())
    return any(re.search(rf"\.Values\.{re.escape(path)}\b", text) for text in texts)


@pytest.mark.parametrize("path", leaves(VALUES))
def test_every_value_is_explained_checked_and_used(path: str) -> None:
    page = (ROOT / "docs" / "install.md").read_text()

    assert f"| `{path}` |" in page
    assert in_schema(path)
    assert used(path)


def test_the_page_and_the_templates_know_no_other_values() -> None:
    page = (ROOT / "docs" / "install.md").read_text()
    table = re.findall(r"^\| `([\w.]+)` \| ", page.partition("### Values")[2], re.MULTILINE)
    texts = "".join(p.read_text() for p in (CHART / "templates").iterdir())

    assert table == leaves(VALUES)
    assert set(re.findall(r"\.Values\.([\w.]+)", texts)) == set(leaves(VALUES))


def test_the_chart_is_of_the_version_that_it_installs() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())

    assert chart["version"] == chart["appVersion"] == __version__


def without_helm(thing: Data) -> Data:
    meta = thing["metadata"]
    labels = {k: v for k, v in meta.get("labels", {}).items() if k not in BY_HELM}
    return {**thing, "metadata": {**meta, "labels": labels}}


def test_by_default_it_is_the_plain_manifest(render: Any, plain: Objects) -> None:
    made = {key: without_helm(thing) for key, thing in render().items()}

    optional = {("NetworkPolicy", "apportion"), ("ServiceMonitor", "apportion")}
    assert made == {
        key: thing for key, thing in plain.items() if key not in optional and key[0] != "Namespace"
    }


def test_switched_on_it_has_the_extras_too(render: Any, plain: Objects) -> None:
    made = render("networkPolicy.enabled=true", "serviceMonitor.enabled=true")

    for key in (("NetworkPolicy", "apportion"), ("ServiceMonitor", "apportion")):
        assert without_helm(made[key]) == plain[key]


def shares() -> Objects:
    things = yaml.safe_load_all((ROOT / "deploy" / "shares.yaml").read_text())
    return {(t["kind"], t["metadata"]["name"]): t for t in things}


def test_switched_on_it_hands_shares_of_devices_over(render: Any) -> None:
    before, made = render(), render("deviceShares.enabled=true")
    beside = render("deviceShares.enabled=true", "deviceShares.createNamespace=false")

    added = {key: without_helm(made[key]) for key in set(made) - set(before)}
    for thing in added.values():
        assert thing["metadata"].pop("labels")
    assert added == shares()
    assert set(made) - set(beside) == {
        (kind, "kai-resource-reservation")
        for kind in ("Namespace", "ServiceAccount", "Role", "RoleBinding")
    }


@pytest.mark.parametrize(
    ("switch", "want_gone"),
    [
        ("serviceAccount.create=false", {("ServiceAccount", "apportion")}),
        (
            "rbac.create=false",
            {
                ("ClusterRole", "apportion"), ("ClusterRoleBinding", "apportion"),
                ("Role", "apportion"), ("RoleBinding", "apportion"),
            },
        ),
        ("rbac.debugRole=false", {("ClusterRole", "apportion-debug")}),
        (
            "rbac.userRoles=false",
            {("ClusterRole", "apportion-view"), ("ClusterRole", "apportion-edit")},
        ),
        ("priorityClass.create=false", {("PriorityClass", "apportion")}),
        ("podDisruptionBudget.enabled=false", {("PodDisruptionBudget", "apportion")}),
        ("service.enabled=false", {("Service", "apportion")}),
    ],
)  # fmt: skip
def test_what_is_switched_off_is_left_out(
    render: Any, switch: str, want_gone: set[tuple[str, str]]
) -> None:
    assert set(render()) - set(render(switch)) == want_gone


def test_one_replica_needs_neither_lease_nor_role(render: Any) -> None:
    made = render("replicas=1", "leaderElection.enabled=false")

    args = container_of(made)["args"]
    assert "--no-leader-elect" in args
    assert not any(a.startswith("--lease") for a in args)
    assert ("Role", "apportion") not in made


@pytest.mark.parametrize(
    ("settings", "want_said"),
    [
        (["leaderElection.enabled=false"], "needs leaderElection.enabled"),
        (["serviceMonitor.enabled=true", "service.enabled=false"], "needs service.enabled"),
        (['period="soon"'], "period"),
        (["replica=3"], "replica"),
        (['image.tags="1"'], "tags"),
        (["priorityClass.value=2000000000"], "/priorityClass/value"),
    ],
    ids=["two that write", "nothing to scrape", "no time", "unknown", "unknown inside", "kept"],
)
def test_values_that_cannot_be_are_refused(
    render: Any, settings: list[str], want_said: str
) -> None:
    said = render(*settings)

    assert isinstance(said, str)
    assert want_said in said


def container_of(made: Objects, name: str = "apportion") -> Data:
    (only,) = made["Deployment", name]["spec"]["template"]["spec"]["containers"]
    found: Data = only
    return found


def test_values_reach_the_command_line(render: Any) -> None:
    made = render(
        'schedulerName="gpu"', 'period="500ms"', "dryRun=true", 'shard="pool=gpu"',
        'logFormat="text"', 'extraArgs=["--queues-from=kueue"]', 'image.repository="example.com/a"',
        'image.tag="9"',
    )  # fmt: skip
    one = container_of(made)

    assert one["image"] == "example.com/a:9"
    assert {
        "--scheduler-name=gpu", "--period=500ms", "--dry-run", "--shard=pool=gpu",
        "--log-format=text", "--queues-from=kueue",
    } <= set(one["args"])  # fmt: skip


def test_an_image_may_be_named_by_its_digest(render: Any) -> None:
    one = container_of(render('image.repository="example.com/a"', 'image.tag="sha256:ab"'))

    assert one["image"] == "example.com/a@sha256:ab"


def test_without_election_the_old_replica_ends_before_the_new_one_begins(render: Any) -> None:
    alone = render("replicas=1", "leaderElection.enabled=false")["Deployment", "apportion"]

    assert alone["spec"]["strategy"] == {"type": "Recreate"}
    assert "strategy" not in render()["Deployment", "apportion"]["spec"]


def test_arguments_are_options_of_the_command(render: Any) -> None:
    everything = render('period="2s"', "dryRun=true", 'shard="pool=gpu"',
                        'deviceShares.reservationImage="example.com/reserve:1"')  # fmt: skip
    alone = render("replicas=1", "leaderElection.enabled=false")
    group: Any = typer.main.get_command(app())
    params = group.commands["run"].params

    known = {o for p in params for o in (*p.opts, *p.secondary_opts)}
    for made in (everything, alone):
        command, *words = container_of(made)["args"]
        assert command == "run"
        assert {word.partition("=")[0] for word in words} <= known


def test_values_reach_the_pod(render: Any) -> None:
    made = render(
        'nodeSelector={"a":"b"}', 'tolerations=[{"operator":"Exists"}]',
        'affinity={"nodeAffinity":{}}', 'podAnnotations={"c":"d"}', 'podLabels={"e":"f"}',
        'podSchedulerName="other"', 'image.pullSecrets=[{"name":"s"}]',
        'resources={"limits":{"memory":"9Gi"}}', 'serviceAccount.name="mine"',
        'serviceAccount.annotations={"g":"h"}', 'image.pullPolicy="Always"',
    )  # fmt: skip
    pod = made["Deployment", "apportion"]["spec"]["template"]
    spec = pod["spec"]

    assert pod["metadata"]["annotations"] == {"c": "d"}
    assert pod["metadata"]["labels"]["e"] == "f"
    assert (spec["nodeSelector"], spec["affinity"]) == ({"a": "b"}, {"nodeAffinity": {}})
    assert (spec["tolerations"], spec["schedulerName"]) == ([{"operator": "Exists"}], "other")
    assert (spec["imagePullSecrets"], spec["serviceAccountName"]) == ([{"name": "s"}], "mine")
    assert container_of(made)["resources"]["limits"] == {"memory": "9Gi"}
    assert container_of(made)["imagePullPolicy"] == "Always"
    assert made["ServiceAccount", "mine"]["metadata"]["annotations"] == {"g": "h"}
    (subject,) = made["ClusterRoleBinding", "apportion"]["subjects"]
    assert subject["name"] == "mine"


def test_settings_are_those_of_the_values(render: Any) -> None:
    made = render('config={"budget":"750ms","tiers":{"packing":"spread"}}')

    settings = yaml.safe_load(made["ConfigMap", "apportion"]["data"]["config.yaml"])
    assert settings == {
        "apiVersion": "apportion.dev/v1alpha1", "kind": "Configuration",
        "budget": "750ms", "tiers": {"packing": "spread"},
    }  # fmt: skip


def test_an_existing_priority_class_is_used_and_none_if_it_has_no_name(render: Any) -> None:
    given = render("priorityClass.create=false", 'priorityClass.name="system-cluster-critical"')
    none = render("priorityClass.create=false")

    def of(made: Objects) -> Any:
        return made["Deployment", "apportion"]["spec"]["template"]["spec"].get("priorityClassName")

    assert (of(given), of(none)) == ("system-cluster-critical", None)


def test_two_releases_share_nothing(render: Any) -> None:
    one, other = render(name="one"), render(name="two")

    assert set(one).isdisjoint(other)
    selector = [
        made["Deployment", name]["spec"]["selector"]["matchLabels"]
        for made, name in ((one, "one"), (other, "two"))
    ]
    assert selector[0] != selector[1]
    assert "--lease-name=two" in container_of(other, "two")["args"]


def test_dashboards_are_a_config_map_for_a_side_car(render: Any) -> None:
    made = render("dashboards.enabled=true")["ConfigMap", "apportion-dashboards"]

    assert made["metadata"]["labels"]["grafana_dashboard"] == "1"
    assert set(made["data"]) == {p.name for p in (CHART / "dashboards").iterdir()}
    for name, text in made["data"].items():
        assert yaml.safe_load(text) == yaml.safe_load((CHART / "dashboards" / name).read_text())


def test_who_may_reach_the_pages_can_be_said(render: Any) -> None:
    peers = 'networkPolicy.from=[{"namespaceSelector":{"matchLabels":{"a":"b"}}}]'
    made = render("networkPolicy.enabled=true", peers, "networkPolicy.apiServerPorts=[7443]")
    spec = made["NetworkPolicy", "apportion"]["spec"]

    (rule,) = spec["ingress"]
    assert rule["from"] == [{"namespaceSelector": {"matchLabels": {"a": "b"}}}]
    assert [p["port"] for p in spec["egress"][0]["ports"]] == [53, 53, 7443]


def test_definitions_come_along_and_are_no_part_of_the_release(render: Any, helm: Any) -> None:
    without, with_them = render(), render(crds=True)
    lint = helm("lint", "--strict", str(CHART))

    assert {kind for kind, _ in set(with_them) - set(without)} == {"CustomResourceDefinition"}
    assert len(with_them) == len(without) + 5
    assert lint.returncode == 0, lint.stdout + lint.stderr
