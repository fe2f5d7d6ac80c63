"""Selectors match as Kubernetes' do."""

import pytest

from apportion.models import HostPort, LabelSelector, NodeSelectorTerm, PodTerm, Requirement
from apportion.models.selector import integer

LABELS = {"app": "web", "cores": "16", "empty": "", "word": "many"}


@pytest.mark.parametrize(
    ("key", "operator", "values", "want"),
    [
        pytest.param("app", "In", ("web", "db"), True, id="in: one of them"),
        pytest.param("app", "In", ("db",), False, id="in: none of them"),
        pytest.param("app", "In", (), False, id="in nothing"),
        pytest.param("missing", "In", ("web",), False, id="in: not there"),
        pytest.param("empty", "In", ("",), True, id="in: an empty value is a value"),
        pytest.param("missing", "In", ("",), False, id="in: not there is not empty"),
        pytest.param("app", "NotIn", ("db",), True, id="not in"),
        pytest.param("app", "NotIn", ("web",), False, id="not in: but it is"),
        pytest.param("missing", "NotIn", ("web",), True, id="not in: not there"),
        pytest.param("app", "Exists", (), True, id="exists"),
        pytest.param("empty", "Exists", (), True, id="exists: without a value"),
        pytest.param("missing", "Exists", (), False, id="exists: not there"),
        pytest.param("missing", "DoesNotExist", (), True, id="does not exist"),
        pytest.param("empty", "DoesNotExist", (), False, id="does not exist: but it does"),
        pytest.param("cores", "Gt", ("15",), True, id="greater"),
        pytest.param("cores", "Gt", ("16",), False, id="greater: equal is not"),
        pytest.param("cores", "Gt", ("9",), True, id="greater: by number and not by text"),
        pytest.param("cores", "Lt", ("17",), True, id="less"),
        pytest.param("cores", "Lt", ("16",), False, id="less: equal is not"),
        pytest.param("missing", "Lt", ("16",), False, id="less: not there"),
        pytest.param("word", "Gt", ("1",), False, id="greater: no number here"),
        pytest.param("cores", "Gt", ("many",), False, id="greater: no number there"),
        pytest.param("cores", "Gt", (), False, id="greater than nothing"),
        pytest.param("app", "Like", ("web",), False, id="an operator that is none"),
    ],
)
def test_requirement_matches(key: str, operator: str, values: tuple[str, ...], want: bool) -> None:
    assert Requirement(key, operator, values).matches(LABELS) is want


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("7", 7),
        ("-7", -7),
        ("+7", 7),
        ("007", 7),
        (str((1 << 63) - 1), (1 << 63) - 1),
        (str(1 << 63), None),
        (str(-(1 << 63)), -(1 << 63)),
        ("", None),
        ("1.0", None),
        (" 1", None),
        ("1_0", None),
        ("٣", None),
    ],
)
def test_integers_are_those_of_kubernetes(text: str, want: int | None) -> None:
    assert integer(text) == want


def test_selector_asks_for_all_of_it_and_an_empty_one_for_nothing() -> None:
    web, db = Requirement("app", "In", ("web",)), Requirement("app", "In", ("db",))

    assert LabelSelector().matches({})
    assert LabelSelector((web,)).matches(LABELS)
    assert not LabelSelector((web, db)).matches(LABELS)
    assert LabelSelector((web, Requirement("x", "Exists"))).keys() == {"app", "x"}


def test_node_term_without_requirements_matches_no_node() -> None:
    name = Requirement("metadata.name", "In", ("n1",))
    web = Requirement("app", "Exists")

    assert not NodeSelectorTerm().matches(LABELS, "n1")
    assert NodeSelectorTerm(fields=(name,)).matches({}, "n1")
    assert not NodeSelectorTerm(fields=(name,)).matches({}, "n2")
    assert NodeSelectorTerm((web,), (name,)).matches(LABELS, "n1")
    assert not NodeSelectorTerm((web,), (name,)).matches({}, "n1")


def test_pod_term_looks_at_namespaces_and_a_missing_selector_matches_nothing() -> None:
    everything = LabelSelector()

    assert PodTerm("zone", everything, None).matches("a", {})
    assert PodTerm("zone", everything, frozenset("a")).matches("a", {})
    assert not PodTerm("zone", everything, frozenset("a")).matches("b", {})
    assert not PodTerm("zone", None, None).matches("a", {})


@pytest.mark.parametrize(
    ("a", "b", "want"),
    [
        pytest.param(HostPort(80), HostPort(80), True, id="the same"),
        pytest.param(HostPort(80), HostPort(81), False, id="another port"),
        pytest.param(HostPort(80), HostPort(80, "UDP"), False, id="another protocol"),
        pytest.param(HostPort(80), HostPort(80, address="10.0.0.1"), True, id="every address"),
        pytest.param(
            HostPort(80, address="10.0.0.1"), HostPort(80, address="10.0.0.2"), False,
            id="two addresses",
        ),
    ],
)  # fmt: skip
def test_ports_clash(a: HostPort, b: HostPort, want: bool) -> None:
    assert a.clashes(b) is b.clashes(a) is want


@pytest.mark.parametrize(
    ("requirement", "want"),
    [
        (Requirement("app", "In", ("web",)), "app=web"),
        (Requirement("app", "In", ("db", "web")), "app In (db, web)"),
        (Requirement("app", "Exists"), "app"),
        (Requirement("app", "DoesNotExist"), "!app"),
        (Requirement("cores", "Gt", ("4",)), "cores Gt (4)"),
    ],
)
def test_selectors_read_as_kubectl_writes_them(requirement: Requirement, want: str) -> None:
    assert str(requirement) == want
    assert str(LabelSelector((requirement, requirement))) == f"{want}, {want}"
    assert str(NodeSelectorTerm((requirement,))) == want
    assert str(LabelSelector()) == "everything"
