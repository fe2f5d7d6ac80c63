"""PodGroups have the phases, counts and conditions that users of Volcano expect."""

from typing import Any

import pytest

from apportion.adapters.files import Document
from apportion.adapters.kubernetes import ReadOptions
from apportion.adapters.kubernetes.faults import Ledger
from apportion.adapters.kubernetes.meta import Thing
from apportion.adapters.kubernetes.reader import read_objects
from apportion.adapters.live.discovery import Resource
from apportion.adapters.live.group_records import GroupStatus, status_writes
from apportion.adapters.live.group_status import group_statuses
from apportion.adapters.live.verdicts import advised, verdicts_of
from apportion.models import Config
from apportion.solver.entry import plan
from kubernetes_objects import (
    NOON,
    Data,
    in_group,
    node,
    obj,
    pod,
    pod_group,
    queue,
    snapshot,
)

API = "scheduling.volcano.sh"
GREEDY = Config(engine="greedy", deterministic=True)
AT = Resource(API, "v1beta1", "PodGroup", "podgroups", True, frozenset(("status",)))


def things(*objects: Data) -> list[Thing]:
    documents = [Document("test", i, o) for i, o in enumerate(objects)]
    return read_objects(documents, ReadOptions(), Ledger()).of(API, "PodGroup")


def statuses(*objects: Data) -> dict[str, GroupStatus]:
    at = {"creationTimestamp": NOON}
    world = snapshot(obj("v1", "Namespace", "x", None, meta=at), *objects)
    return group_statuses(things(*objects), world, plan(world, GREEDY))


def group(phase: str = "", minimum: int = 2, **more: Any) -> Data:
    status = {"phase": phase, **more.pop("status", {})} if phase else {}
    return pod_group("g", minMember=minimum, status=status, meta={"uid": "u"}, **more)


def member(name: str, **more: Any) -> Data:
    return pod(name, annotations=in_group("g"), **more)


def running(name: str, **more: Any) -> Data:
    return member(name, nodeName="n", **more)


def over(name: str, phase: str) -> Data:
    return running(name, status={"phase": phase})


GONE = {"meta": {"deletionTimestamp": NOON}}
LARGE = {"cpu": "99"}


@pytest.mark.parametrize(
    ("objects", "want"),
    [
        pytest.param([group()], ("Inqueue", 0, 0, 0), id="nothing to reserve"),
        pytest.param(
            [group("Pending", minResources={"cpu": 1})], ("Inqueue", 0, 0, 0), id="let in"
        ),
        pytest.param(
            [group("Pending", minResources={"cpu": 99})], ("Pending", 0, 0, 0), id="not let in"
        ),
        pytest.param(
            [queue("shut", status={"state": "Closed"}), group(queue="shut")],
            ("Pending", 0, 0, 0), id="into a closed queue",
        ),
        pytest.param(
            [queue("top", status={"state": "Closing"}), queue("q", parent="top"),
             group(queue="q")],
            ("Pending", 0, 0, 0), id="below a closed queue",
        ),
        pytest.param([group(queue="gone")], ("Pending", 0, 0, 0), id="into no queue"),
        pytest.param([group("Inqueue")], ("Inqueue", 0, 0, 0), id="pods are still to come"),
        pytest.param(
            [group("Running", minResources={"cpu": 99})], ("Pending", 0, 0, 0), id="all pods gone"
        ),
        pytest.param(
            [group("Pending"), member("a"), member("b")], ("Inqueue", 0, 0, 0), id="pods wait"
        ),
        pytest.param(
            [group("Inqueue"), running("a"), running("b")], ("Running", 2, 0, 0), id="it runs"
        ),
        pytest.param(
            [group("Inqueue"), running("a"), running("b"), member("c", requests=LARGE)],
            ("Running", 2, 0, 0), id="it runs, and more of it waits",
        ),
        pytest.param(
            [group("Running"), running("a"), member("b", requests=LARGE)],
            ("Unknown", 1, 0, 0), id="one of two runs",
        ),
        pytest.param(
            [group("Running"), running("a"), running("b", **GONE)],
            ("Running", 1, 0, 0), id="one of two is leaving",
        ),
        pytest.param(
            [group("Running"), running("a"), over("b", "Succeeded")],
            ("Running", 1, 1, 0), id="one of two is done",
        ),
        pytest.param(
            [group("Running"), over("a", "Succeeded"), over("b", "Failed")],
            ("Completed", 0, 1, 1), id="all are done",
        ),
        pytest.param(
            [group("Running"), over("a", "Failed"), member("b")],
            ("Inqueue", 0, 0, 1), id="one has failed, one waits",
        ),
    ],
)  # fmt: skip
def test_phase_and_counts(objects: list[Data], want: tuple[str, int, int, int]) -> None:
    (status,) = statuses(node("n"), *objects).values()

    assert (status.phase, status.running, status.succeeded, status.failed) == want


def conditions(*objects: Data) -> dict[str, tuple[str, str, str]]:
    (status,) = statuses(node("n"), *objects).values()
    return {c.type: (c.status, c.reason, c.message) for c in status.conditions}


def test_a_gang_that_waits_says_why() -> None:
    found = conditions(group(), member("a", requests=LARGE), member("b"))

    status, reason, message = found.pop("Unschedulable")
    assert (status, reason, found) == ("True", "NotEnoughResources", {})
    assert message.startswith(
        "2/2 tasks in gang unschedulable: pod group is not ready, 2 Pending, 2 minAvailable. "
        "Origin reason is cannot run on this cluster even when it is empty"
    )


def test_and_what_would_start_it_where_that_is_known() -> None:
    objects = (node("n"), group(), member("a", requests=LARGE), member("b", requests=LARGE))
    world = snapshot(*objects)
    made = plan(world, GREEDY)
    known = {g: advised(v, "with more") for g, v in verdicts_of(made, world).items()}

    (status,) = group_statuses(things(*objects), world, made, known).values()

    (condition,) = status.conditions
    assert condition.message.endswith("; would start with more")


def test_a_gang_that_lacks_pods_says_so() -> None:
    _, reason, message = conditions(group(minimum=3), member("a"))["Unschedulable"]

    assert reason == "NotEnoughTasks"
    assert "only 1/3 members exist" in message


def test_a_group_that_is_not_let_in_says_why() -> None:
    found = conditions(group("Pending", minResources={"cpu": 99}))["Unschedulable"]

    assert found[:2] == ("True", "NotEnoughResources")
    assert found[2].startswith("not let in yet: ")


def test_a_gang_that_runs_is_scheduled() -> None:
    old = {
        "type": "Unschedulable", "status": "True", "reason": "NotEnoughResources",
        "lastTransitionTime": NOON, "transitionID": "t",
    }  # fmt: skip
    ready = "tasks in gang are ready to be scheduled"
    was = group("Inqueue", status={"conditions": [old]})

    assert conditions(was, running("a"), running("b")) == {
        "Unschedulable": ("False", ready, ""),
        "Scheduled": ("True", ready, ""),
    }


def test_a_gang_that_starts_now_is_told_of_by_the_next_cycle() -> None:
    assert conditions(group(), member("a"), member("b")) == {}


@pytest.mark.parametrize(
    ("bound", "want"),
    [
        ((), ("Inqueue", 0, [])),
        (("a",), ("Inqueue", 0, [])),
        (("a", "b"), ("Running", 2, ["Scheduled"])),
    ],
    ids=["not bound yet", "bound in part", "bound whole"],
)
def test_a_gang_whose_binds_were_all_made_runs_at_once(
    bound: tuple[str, ...], want: tuple[str, int, list[str]]
) -> None:
    objects = (node("n"), group("Pending"), member("a"), member("b"))
    world = snapshot(*objects)
    made = plan(world, GREEDY)
    keys = [b.pod for b in made.binds if b.pod.partition("/")[2] in bound]

    (status,) = group_statuses(things(*objects), world, made, bound=keys).values()

    assert (status.phase, status.running, [c.type for c in status.conditions]) == want


def test_what_is_told_of_a_gang_that_was_bound_need_not_be_told_again() -> None:
    objects = (node("n"), group("Pending"), member("a"), member("b"))
    world = snapshot(*objects)
    made = plan(world, GREEDY)
    told = group_statuses(things(*objects), world, made, bound=[b.pod for b in made.binds])
    (write,) = status_writes(things(*objects), told, AT)

    later = statuses(
        node("n"), group("Running", status=write.body["status"]), running("a"), running("b")
    )

    assert later == {}


def test_roles_count_for_readiness() -> None:
    def two(role: str) -> dict[str, tuple[str, str, str]]:
        marks = {"volcano.sh/task-spec": "ps"}
        wanted = group(minTaskMember={"ps": 1, role: 1})
        return conditions(wanted, running("a", labels=marks), running("b", labels=marks))

    assert two("ps").keys() == {"Scheduled"}
    assert two("worker").keys() == set()


def written(world: list[Data], first: dict[str, GroupStatus] | None = None) -> Any:
    found = first or statuses(*world)
    return status_writes(things(*world), found, AT)


def test_a_status_is_written_once() -> None:
    world = [node("n"), group(), member("a", requests=LARGE), member("b")]
    (write,) = written(world)
    told: Any = write.body["status"]
    again = [node("n"), pod_group("g", minMember=2, status=told, meta={"uid": "u"}), *world[2:]]

    assert (write.method, write.about) == ("PATCH", "PodGroup default/g")
    assert write.path == (
        "/apis/scheduling.volcano.sh/v1beta1/namespaces/default/podgroups/g/status"
    )
    assert write.body["metadata"] == {"uid": "u"}
    assert told["conditions"][0]["lastTransitionTime"] == NOON
    assert len(told["conditions"][0]["transitionID"]) == 32
    assert written(again) == []


def test_without_the_subresource_the_object_itself_is_patched() -> None:
    world = [node("n"), group(), member("a")]
    plain = Resource(API, "v1beta1", "PodGroup", "podgroups", True)

    (write,) = status_writes(things(*world), statuses(*world), plain)

    assert write.path.endswith("/podgroups/g")


@pytest.mark.parametrize(
    ("written_at", "want"),
    [
        pytest.param("2026-01-05T11:59:30Z", [], id="lately"),
        pytest.param("2026-01-05T11:58:00Z", ["PodGroup default/g"], id="a while ago"),
    ],
)
def test_a_new_message_alone_is_not_written_each_time(written_at: str, want: list[str]) -> None:
    def world(n: int, status: Any) -> list[Data]:
        declared = pod_group("g", minMember=2, status=status, meta={"uid": "u"})
        return [node("n"), declared, *(member(f"m{i}", requests=LARGE) for i in range(n))]

    (first,) = written(world(2, {}))
    told: Any = dict(first.body["status"])
    told["conditions"] = [{**told["conditions"][0], "lastTransitionTime": written_at}]

    assert [w.about for w in written(world(3, told))] == want


def test_groups_of_others_and_deleted_ones_are_left_alone() -> None:
    theirs = pod_group("g", minMember=1)
    leaving = pod_group("h", minMember=1, meta={"deletionTimestamp": NOON})

    found = statuses(node("n"), theirs, leaving, member("a", scheduler="volcano"))

    assert found == {}
