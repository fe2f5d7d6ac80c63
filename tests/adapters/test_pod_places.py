"""Where a pod may go: selectors, affinity, taints, ports and spreading are read exactly."""

from typing import Any

import pytest

from apportion.models import (
    HostPort,
    LabelSelector,
    NodeSelectorTerm,
    PodSpec,
    PodTerm,
    Requirement,
    SpreadConstraint,
    Toleration,
)
from kubernetes_objects import container, obj, pod, pod_in, snapshot

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
IS_WEB = LabelSelector((Requirement("app", "In", ("web",)),))


def spec(*others: Any, labels: dict[str, str] | None = None, **fields: Any) -> PodSpec:
    world = snapshot(pod("p", labels=labels, **fields), *others)
    assert world.rejected == ()
    return pod_in(world, "p").spec


def namespace(name: str, **labels: str) -> dict[str, Any]:
    return obj("v1", "Namespace", name, None, meta={"labels": labels})


def term(**more: Any) -> dict[str, Any]:
    return {
        "topologyKey": "zone",
        "labelSelector": {"matchLabels": {"app": "web"}},
        **more,
    }


def near(*terms: dict[str, Any]) -> dict[str, Any]:
    return {"podAffinity": {REQUIRED: list(terms)}}


def test_node_selector_and_required_terms() -> None:
    expressions = [
        {"key": "cpu-count", "operator": "Gt", "values": ["8"]},
        {"key": "arch", "operator": "In", "values": ["b", "a", "a"]},
        {"key": "old", "operator": "DoesNotExist"},
    ]
    fields = [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]
    terms = [{"matchExpressions": expressions, "matchFields": fields}, {}]

    read = spec(
        nodeSelector={"b": "2", "a": None},
        affinity={"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": terms}}},
    )

    assert read.node_selector == (("a", ""), ("b", "2"))
    assert read.node_affinity == (
        NodeSelectorTerm(
            labels=(
                Requirement("arch", "In", ("a", "b")),
                Requirement("cpu-count", "Gt", ("8",)),
                Requirement("old", "DoesNotExist"),
            ),
            fields=(Requirement("metadata.name", "In", ("n1",)),),
        ),
        NodeSelectorTerm(),
    )


def test_no_required_terms_differ_from_an_empty_list_of_them() -> None:
    assert spec().node_affinity is None
    assert (
        spec(affinity={"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": []}}}).node_affinity == ()
    )


def test_preferred_terms_carry_their_weight() -> None:
    wish = {"matchExpressions": [{"key": "ssd", "operator": "Exists"}]}

    read = spec(
        affinity={
            "nodeAffinity": {PREFERRED: [{"weight": 10, "preference": wish}]},
            "podAntiAffinity": {PREFERRED: [{"weight": 100, "podAffinityTerm": term()}]},
        }
    )

    assert read.preferred_nodes == ((10, NodeSelectorTerm((Requirement("ssd", "Exists"),))),)
    assert read.preferred_anti_affinity == ((100, PodTerm("zone", IS_WEB, frozenset({"default"}))),)


@pytest.mark.parametrize(
    ("more", "want"),
    [
        pytest.param({}, {"default"}, id="its own where nothing is said"),
        pytest.param({"namespaces": ["a", "b"]}, {"a", "b"}, id="those listed"),
        pytest.param({"namespaceSelector": {}}, None, id="an empty selector means all"),
        pytest.param(
            {"namespaceSelector": {"matchLabels": {"team": "x"}}}, {"x1", "x2"}, id="those selected"
        ),
        pytest.param(
            {"namespaces": ["a"], "namespaceSelector": {"matchLabels": {"team": "x"}}},
            {"a", "x1", "x2"},
            id="those listed and selected",
        ),
        pytest.param(
            {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "seen"}}},
            {"seen"},
            id="a namespace without an object bears its name",
        ),
        pytest.param(
            {"namespaceSelector": {"matchLabels": {"team": "nobody"}}}, set(), id="none selected"
        ),
    ],
)
def test_namespaces_of_a_term(more: dict[str, Any], want: set[str] | None) -> None:
    read = spec(
        namespace("x1", team="x"),
        namespace("x2", team="x"),
        namespace("y", team="y"),
        pod("q", namespace="seen"),
        affinity=near(term(**more)),
    )

    assert read.affinity[0].namespaces == (None if want is None else frozenset(want))


def test_label_keys_of_the_pod_are_merged_into_the_selector() -> None:
    read = spec(
        labels={"version": "7", "tenant": "t"},
        affinity=near(term(matchLabelKeys=["version", "absent"], mismatchLabelKeys=["tenant"])),
    )

    assert read.affinity[0].selector == LabelSelector(
        (
            Requirement("app", "In", ("web",)),
            Requirement("tenant", "NotIn", ("t",)),
            Requirement("version", "In", ("7",)),
        )
    )


def test_a_missing_selector_selects_nothing_and_an_empty_one_everything() -> None:
    read = spec(affinity=near(term(labelSelector=None), term(labelSelector={})))

    missing, empty = read.affinity
    assert missing.selector is None
    assert empty.selector == LabelSelector()


def test_spread_constraints_have_the_defaults_of_the_api() -> None:
    plain = {"maxSkew": 2, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
    full = {
        "maxSkew": 1,
        "topologyKey": "host",
        "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": {"matchLabels": {"app": "web"}},
        "minDomains": 3,
        "nodeAffinityPolicy": "Ignore",
        "nodeTaintsPolicy": "Honor",
        "matchLabelKeys": ["rev"],
    }

    read = spec(labels={"rev": "1"}, topologySpreadConstraints=[plain, full])

    own = Requirement("rev", "In", ("1",))
    assert read.spread == (
        SpreadConstraint(2, "zone", hard=True, selector=None),
        SpreadConstraint(
            1,
            "host",
            hard=False,
            selector=LabelSelector((*IS_WEB.requirements, own)),
            min_domains=3,
            honor_affinity=False,
            honor_taints=True,
        ),
    )


def test_tolerations() -> None:
    read = spec(
        tolerations=[
            {"operator": "Exists"},
            {"key": "a", "value": "b", "effect": "NoSchedule", "tolerationSeconds": 5},
        ]
    )

    assert read.tolerations == (
        Toleration(operator="Exists"),
        Toleration("a", "Equal", "b", "NoSchedule"),
    )


def test_host_ports_of_containers_and_sidecars() -> None:
    ports = [{"hostPort": 80, "protocol": "UDP", "hostIP": "10.0.0.1"}, {"containerPort": 9}]
    sidecar = container(ports=[{"hostPort": 81}], restartPolicy="Always")
    init = container(ports=[{"hostPort": 82}])

    read = spec(containers=[container(ports=ports)], initContainers=[sidecar, init])

    assert read.host_ports == (HostPort(80, "UDP", "10.0.0.1"), HostPort(81))


def test_on_the_host_network_every_port_is_a_host_port() -> None:
    read = spec(hostNetwork=True, containers=[container(ports=[{"containerPort": 9}])])

    assert read.host_ports == (HostPort(9),)
