"""Queue access: a group starts only in an open leaf queue that its namespace may use."""

import pytest
from msgspec.structs import replace

from apportion.models import Config, Queue, QueueShare, QueueState, Reason, Rejected, Snapshot
from apportion.policies.testing import accepts, held, refuses

from .builders import Members, after, node, placed, queue, reasons, rule, snapshot
from .conftest import Solve

ACCESS = rule("queue")
OURS, OTHERS = frozenset({"x", "y"}), frozenset({"y"})
HELD_AT_THE_DOOR = Reason("queue", "queue q", "queue q: the parents form a circle: q, r, q")


def world_of(*queues: Queue, of: str = "q") -> Snapshot:
    return snapshot(node("n1", 4), *queues, Members("g", of, waiting=1))


@pytest.mark.parametrize(
    ("about", "queues", "subject", "why"),
    [
        ("open", [queue("q")], "", ""),
        ("for this namespace among others", [queue("q", namespaces=OURS)], "", ""),
        ("missing", [queue("r")], "queue q", "queue q not found"),
        (
            "not a leaf",
            [queue("q"), queue("q1", parent="q"), queue("q2", parent="q")],
            "queue q",
            "queue q is not a leaf: use one of q1, q2",
        ),
        ("closed", [queue("q", state=QueueState.CLOSED)], "queue q", "queue q is Closed"),
        ("closing", [queue("q", state=QueueState.CLOSING)], "queue q", "queue q is Closing"),
        ("of unknown state", [queue("q", state=QueueState.UNKNOWN)], "queue q", "is Unknown"),
        (
            "below a closed one",
            [queue("q", parent="up"), queue("up", state=QueueState.CLOSED)],
            "queue up",
            "queue up is Closed",
        ),
        (
            "for others",
            [queue("q", namespaces=OTHERS)],
            "queue q",
            "queue q is not open to namespace x",
        ),
        (
            "for nobody",
            [queue("q", namespaces=frozenset())],
            "queue q",
            "queue q is not open to namespace x",
        ),
        (
            "below one for others",
            [queue("q", parent="up"), queue("up", namespaces=OTHERS)],
            "queue up",
            "queue up is not open to namespace x",
        ),
        ("held at the door", [queue("q", hold=(HELD_AT_THE_DOOR,))], "queue q", "form a circle"),
    ],
)
def test_queue_access_says_who_may_start(
    about: str, queues: list[Queue], subject: str, why: str
) -> None:
    world = world_of(*queues)

    found = held(ACCESS, after(world), "x/g")

    assert [r.about for r in found] == ([subject] if why else []), about
    assert all(r.rule == "queue" and why in r.message for r in found), about
    assert bool(accepts(ACCESS, after(world, "g0@n1"))) is (not why), about
    assert bool(refuses(ACCESS, after(world, "g0@n1"), "group x/g", why)) is bool(why), about


@pytest.mark.parametrize("kind", ["Queue", "ClusterQueue", "ElasticQuota"])
def test_a_queue_that_was_refused_is_not_said_to_be_missing(kind: str) -> None:
    notes = (
        Rejected(f"{kind} other", "spec", "is odd"), Rejected(f"{kind} q", "spec.x", "is none")
    )  # fmt: skip
    world = replace(world_of(queue("r")), rejected=notes)

    (why,) = held(ACCESS, after(world), "x/g")

    assert why.message == f"{kind} q was rejected, so it is no queue: spec.x is none"


def test_every_reason_is_said() -> None:
    world = world_of(
        queue("q", parent="up", namespaces=OTHERS), queue("up", state=QueueState.CLOSED)
    )

    assert [r.about for r in held(ACCESS, after(world), "x/g")] == ["queue q", "queue up"]


@pytest.mark.parametrize(
    ("about", "own", "ours", "want"),
    [
        ("the setting opens what the queue closes", OTHERS, ("x",), True),
        ("the setting closes what the queue opens", OURS, ("y",), False),
        ("no setting", OTHERS, None, False),
    ],
)
def test_namespaces_of_our_configuration_replace_the_queues_own(
    about: str, own: frozenset[str], ours: tuple[str, ...] | None, want: bool
) -> None:
    config = Config(queues={"q": QueueShare(namespaces=ours)})

    outcome = after(world_of(queue("q", namespaces=own)), "g0@n1", config=config)

    assert bool(accepts(ACCESS, outcome)) is want, about


def test_what_runs_in_a_closed_queue_keeps_running() -> None:
    world = snapshot(
        node("n1", 4), queue("q", state=QueueState.CLOSED), Members("g", "q", on=["n1"])
    )

    assert accepts(ACCESS, after(world))


def test_the_plan_holds_the_group_with_that_reason(solve: Solve) -> None:
    plan = solve(world_of(queue("q", state=QueueState.CLOSED)))

    assert placed(plan) == {}
    assert reasons(plan, "g") == [Reason("queue", "queue q", "queue q is Closed")]
