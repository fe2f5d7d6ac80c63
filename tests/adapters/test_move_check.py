"""Plans with moves that are tampered with are refused, each way with the name of the right rule."""

import json
from collections.abc import Callable
from typing import Any

import jsonschema
import pytest

from apportion.adapters.plan_check import order_violations, scene_of, violations_of
from apportion.adapters.plan_file import given, plan_of
from apportion.adapters.schemas.documents import schema_of
from apportion.adapters.settle import settle
from apportion.models import Config, Plan, PodKey
from apportion.models.plan import to_document
from apportion.solver.entry import plan
from oracle.build import NOW, Members, budget, node, queue, snapshot

Data = dict[str, Any]
MOVING = Config(moves=1, engine="greedy", deterministic=True)
WORLD = snapshot(
    node("a", 4), node("b", 4), node("c", 3), queue("q"), budget("kept", 0),
    Members("old", "q", cpu=2, on=["a"]),
    Members("kept", "q", cpu=1, on=["a"]),
    Members("gang", "q", cpu=2, on=["b", "b"], minimum=2),
    Members("young", "q", cpu=1, on=["c"], pod={"started_s": NOW - 1}),
    Members("new", "q", cpu=3, waiting=1),
)  # fmt: skip
"""Only old0 can make room for new0: it moves from a to c."""


@pytest.fixture(scope="module")
def made() -> Plan:
    return plan(WORLD, MOVING)


def said(document: Data) -> list[str]:
    document.pop("digest")
    found = violations_of(plan_of(document, WORLD), scene_of(WORLD, MOVING))
    return [f"{v.rule}: {v.about} {v.message}" for v in found]


def test_a_plan_with_moves_is_right_as_it_is(made: Plan) -> None:
    scene = scene_of(WORLD, MOVING)

    assert made.moved == {"x/old0": "c"}
    assert {n.pod: n.node for n in made.nominations} == {"x/new0": "a"}
    assert [(e.pod, e.node, e.beneficiaries) for e in made.evictions] == [
        ("x/old0", "a", ("x/new",))
    ]
    assert violations_of(made, scene) == []
    assert list(order_violations(given(made), scene)) == []


def test_it_is_read_back_as_it_was_written(made: Plan) -> None:
    document = json.loads(json.dumps(to_document(made)))

    jsonschema.Draft202012Validator(schema_of("plan")).validate(document)
    assert plan_of(document, WORLD).plan == made


def test_it_comes_to_rest_where_it_promised(made: Plan) -> None:
    settled = settle(WORLD, MOVING).settled

    assert settled is not None
    assert settled.stable
    assert settled.evicted == ("x/old0",)
    assert settled.running[PodKey("x/old0")]["node"] == "c"
    assert settled.running[PodKey("x/new0")]["node"] == "a"


def turn(part: str, **changes: str) -> Callable[[Data], object]:
    return lambda p: p[part][0].update(changes)


def moved_too(pod: str, node: str, to: str) -> Callable[[Data], object]:
    """Return what has one more pod moved."""

    def tamper(p: Data) -> None:
        group = f"x/{pod.rstrip('01')}"
        p["moves"].append({**p["moves"][0], "pod": f"x/{pod}", "group": group, "node": to})
        more = {**p["evictions"][0], "pod": f"x/{pod}", "group": group, "node": node}
        p["evictions"].append(more)

    return tamper


def moved_instead(pod: str, node: str, to: str) -> Callable[[Data], object]:
    def tamper(p: Data) -> None:
        moved_too(pod, node, to)(p)
        del p["moves"][0], p["evictions"][0]

    return tamper


def bound_at_once(p: Data) -> None:
    p["binds"], p["nominations"] = p["nominations"], []


def bound_besides(p: Data) -> None:
    p["binds"].append({"pod": "x/old0", "group": "x/old", "node": "c"})


TAMPERINGS: list[tuple[str, Callable[[Data], object], str]] = [
    ("no place", turn("moves", node=""), "moves: pod x/old0 is to run on node none"),
    ("a place that is full", turn("moves", node="b"), "capacity: node b"),
    ("its own place", turn("moves", node="a"), "moves: pod x/old0 is to run again where it runs"),
    ("more than may be", moved_too("gang0", "b", "a"), "moves: plan moves 2 pods, at most 1"),
    ("under a budget", moved_instead("kept0", "a", "c"), "moves: budget x/kept bears 0"),
    ("too young", moved_instead("young0", "c", "a"), "moves: pod x/young0 is moved, but has run"),
    ("for nobody who starts", turn("moves", roomFor="x/gang"), "moves: pod x/old0 makes room for"),
    ("evicted for others", lambda p: p["evictions"][0].update({"for": ["x/gang"]}),
     "moves: pod x/old0 is moved for x/new, and evicted for others"),
    ("not evicted", lambda p: p["evictions"].clear(), "moves: pod x/old0 is moved, but is not"),
    ("not placed again", lambda p: p["moves"].clear(),
     "preemption: group x/old is evicted for nobody with a right"),
    ("elsewhere evicted", turn("evictions", node="b"), "moves: pod x/old0 runs on node a, not"),
    ("listed twice", lambda p: p["moves"].append(p["moves"][0]), "moves: pod x/old0 is moved 2"),
    ("in place of who is still there", bound_at_once, "capacity: node a"),
    ("bound as well", bound_besides, "moves: pod x/old0 is moved, and bound or nominated besides"),
    ("of another group", turn("moves", group="x/new"), "moves: pod x/old0 is a member of group"),
    ("who waits", moved_instead("new0", "a", "c"), "moves: pod x/new0 is moved, but does not run"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("tamper", "want"), [t[1:] for t in TAMPERINGS], ids=[t[0] for t in TAMPERINGS]
)
def test_each_way_of_tampering_is_told(
    made: Plan, tamper: Callable[[Data], object], want: str
) -> None:
    document = json.loads(json.dumps(to_document(made)))
    tamper(document)

    assert any(s.startswith(want) for s in said(document))
