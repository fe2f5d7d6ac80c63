"""Node affinity: selector and required terms match the node, operator by operator."""

from collections.abc import Sequence
from typing import Any

import pytest

from apportion.models import NodeSelectorTerm, Requirement, Snapshot
from apportion.policies.testing import accepts, refuses

from .builders import Members, after, node, placed, queue, reasons, rule, snapshot
from .conftest import Solve

AFFINITY = rule("node-affinity")
LABELS = {"disk": "ssd", "gpus": "8", "empty": ""}


def labels(*requirements: tuple[str, str, Sequence[str]]) -> NodeSelectorTerm:
    return NodeSelectorTerm(tuple(Requirement(k, op, tuple(v)) for k, op, v in requirements))


def fields(operator: str, *names: str) -> NodeSelectorTerm:
    return NodeSelectorTerm(fields=(Requirement("metadata.name", operator, names),))


def world_of(node_labels: dict[str, str] = LABELS, **spec: Any) -> Snapshot:
    group = Members("g", "q", waiting=1, spec=spec)
    return snapshot(node("n1", 4, labels=node_labels), queue("q"), group)


def matches(*terms: NodeSelectorTerm, on: dict[str, str] = LABELS) -> bool:
    outcome = after(world_of(on, node_affinity=terms), "g0@n1")
    found = bool(accepts(AFFINITY, outcome))
    assert bool(refuses(AFFINITY, outcome, "node n1", "does not match")) is not found
    return found


@pytest.mark.parametrize(
    ("key", "operator", "values", "want"),
    [
        ("disk", "In", ["hdd", "ssd"], True),
        ("disk", "In", ["hdd"], False),
        ("absent", "In", ["ssd"], False),
        ("empty", "In", [""], True),
        ("disk", "NotIn", ["hdd"], True),
        ("disk", "NotIn", ["hdd", "ssd"], False),
        ("absent", "NotIn", ["ssd"], True),
        ("disk", "Exists", [], True),
        ("empty", "Exists", [], True),
        ("absent", "Exists", [], False),
        ("absent", "DoesNotExist", [], True),
        ("disk", "DoesNotExist", [], False),
        ("gpus", "Gt", ["7"], True),
        ("gpus", "Gt", ["8"], False),
        ("gpus", "Gt", ["-1"], True),
        ("gpus", "Lt", ["9"], True),
        ("gpus", "Lt", ["8"], False),
        ("gpus", "Lt", ["10"], True),
        ("absent", "Gt", ["0"], False),
        ("absent", "Lt", ["9"], False),
        ("disk", "Gt", ["0"], False),
        ("disk", "Lt", ["9"], False),
        ("empty", "Lt", ["9"], False),
        ("gpus", "Gt", ["7.5"], False),
    ],
)
def test_each_operator(key: str, operator: str, values: list[str], want: bool) -> None:
    assert matches(labels((key, operator, values))) is want


@pytest.mark.parametrize("value", ["1_0", "99999999999999999999"])
def test_only_plain_64_bit_integers_are_compared(value: str) -> None:
    assert not matches(labels(("gpus", "Gt", ["1"])), on={"gpus": value})


def test_all_requirements_of_a_term_hold_and_any_term_suffices() -> None:
    ssd, many = ("disk", "In", ["ssd"]), ("gpus", "Gt", ["8"])

    assert not matches(labels(ssd, many))
    assert matches(labels(many), labels(ssd))
    assert not matches(labels(many), labels(("disk", "In", ["hdd"])))


@pytest.mark.parametrize(
    ("operator", "names", "want"),
    [
        ("In", ["n1"], True),
        ("In", ["n2"], False),
        ("NotIn", ["n2"], True),
        ("NotIn", ["n1"], False),
    ],
)
def test_match_fields_name_the_node(operator: str, names: list[str], want: bool) -> None:
    assert matches(fields(operator, *names)) is want


def test_fields_and_labels_of_a_term_hold_together() -> None:
    both = NodeSelectorTerm(labels(("disk", "In", ["ssd"])).labels, fields("In", "n2").fields)

    assert not matches(both)


def test_a_term_without_requirements_and_no_term_at_all_match_nothing() -> None:
    assert not matches(NodeSelectorTerm())
    assert matches(NodeSelectorTerm(), labels(("disk", "Exists", [])))
    assert not matches()
    assert accepts(AFFINITY, after(world_of(node_affinity=None), "g0@n1"))


def test_the_selector_holds_besides_the_terms() -> None:
    ssd = labels(("disk", "In", ["ssd"]))
    good = world_of(node_selector=(("disk", "ssd"), ("gpus", "8")), node_affinity=(ssd,))
    bad = world_of(node_selector=(("disk", "ssd"), ("gpus", "4")), node_affinity=(ssd,))

    assert accepts(AFFINITY, after(good, "g0@n1"))
    assert refuses(AFFINITY, after(bad, "g0@n1"), "node n1", "has no label gpus=4")


def test_the_reason_says_which_label_is_missing(solve: Solve) -> None:
    plan = solve(world_of(node_selector=(("disk", "nvme"),)))

    [reason] = reasons(plan, "g")
    assert reason.about == "group x/g"
    assert "1 of 1 nodes: node-affinity: has no label disk=nvme" in reason.message


def test_pods_go_where_their_terms_match(solve: Solve) -> None:
    world = snapshot(
        node("n1", 4, labels={"gpus": "2"}),
        node("n2", 4, labels={"gpus": "8"}),
        queue("q"),
        Members("g", "q", waiting=1, spec={"node_affinity": (labels(("gpus", "Gt", ["2"])),)}),
        Members("h", "q", waiting=1, spec={"node_affinity": (fields("NotIn", "n2"),)}),
    )

    assert placed(solve(world)) == {"g0": "n2", "h0": "n1"}
