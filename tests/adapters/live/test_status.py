"""What ``apportion status`` finds out, from answers of an API server."""

import json
from collections.abc import AsyncIterator, Mapping
from typing import Any

from apportion.adapters.live.access import RefusedError
from apportion.adapters.live.lease import NOTE, LeaseName
from apportion.adapters.live.status import Status, status_of

LEASE = LeaseName("ns", "apportion", "")
LEASE_PATH = "/apis/coordination.k8s.io/v1/namespaces/ns/leases/apportion"
QUEUES = "/apis/scheduling.volcano.sh/v1beta1/queues"
PODS = "/api/v1/pods"


class Answers:
    """Serves what it was given by path; all else is not found. Pods come in pages of two."""

    def __init__(self, pods: list[dict[str, Any]], **of: Any) -> None:
        self._pods = pods
        self._of = {LEASE_PATH: of.get("lease"), QUEUES: of.get("queues")}
        self.asked: list[Mapping[str, str]] = []

    async def get(self, path: str, params: Mapping[str, str] | None = None) -> bytes:
        if path == PODS:
            assert params is not None
            self.asked.append(params)
            at = int(params.get("continue", "0"))
            more = str(at + 2) if at + 2 < len(self._pods) else ""
            page = {"items": self._pods[at : at + 2], "metadata": {"continue": more}}
            return json.dumps(page).encode()
        if self._of.get(path) is None:
            raise RefusedError(404, "NotFound")
        return json.dumps(self._of[path]).encode()

    async def send(self, *_: Any, **__: Any) -> bytes:
        raise NotImplementedError

    async def watch(self, path: str, params: Mapping[str, str]) -> AsyncIterator[bytes]:
        raise NotImplementedError
        yield b""


def pod(name: str, node: str = "", message: str = "", phase: str = "Pending") -> dict[str, Any]:
    told = {
        "type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message,
        "lastTransitionTime": "1970-01-01T00:01:40Z",
    }  # fmt: skip
    return {
        "metadata": {"name": name, "namespace": "x"},
        "spec": {"nodeName": node} if node else {},
        "status": {"phase": phase, "conditions": [told] if message else []},
    }


def found(run: Any, answers: Answers) -> Status:
    status: Status = run(status_of(answers, LEASE, ("apportion",)))
    return status


def test_pods_that_wait_for_the_same_are_one_row(run: Any) -> None:
    answers = Answers(
        [
            pod("a", message="no room"), pod("b", message="no room"), pod("c", "n1"), pod("d"),
            pod("e", phase="Failed"),
        ]
    )  # fmt: skip

    status = found(run, answers)

    assert [(w.pods, w.message, w.since_s) for w in status.waiting] == [
        (("d",), "", None),
        (("a", "b"), "no room", 100),
    ]
    assert status.running == 1
    assert answers.asked[0]["fieldSelector"] == "spec.schedulerName=apportion"
    assert len(answers.asked) == 3


def test_the_leader_and_its_last_cycle_are_in_the_lease(run: Any) -> None:
    lease = {
        "metadata": {"annotations": {NOTE: '{"number": 7, "bound": 2}'}},
        "spec": {
            "holderIdentity": "me", "renewTime": "1970-01-01T00:01:40.000000Z",
            "leaseTransitions": 3,
        },
    }  # fmt: skip

    leader = found(run, Answers([], lease=lease)).leader

    assert leader is not None
    assert (leader.holder, leader.renewed_s, leader.changes) == ("me", 100, 3)
    assert leader.cycle["number"] == 7


def test_without_lease_and_queues_there_is_less_to_show(run: Any) -> None:
    status = found(run, Answers([]))

    assert status.leader is None
    assert status.queues == ()


def test_an_annotation_that_is_no_json_is_passed_over(run: Any) -> None:
    lease = {"metadata": {"annotations": {NOTE: "{"}}, "spec": {}}

    leader = found(run, Answers([], lease=lease)).leader

    assert leader is not None
    assert (leader.holder, leader.renewed_s, leader.cycle) == ("", None, {})


def test_queues_are_as_their_status_says(run: Any) -> None:
    queues = {
        "items": [
            {"metadata": {"name": "b"}},
            {
                "metadata": {"name": "a"},
                "status": {
                    "state": "Closed", "running": 1, "pending": 2, "inqueue": 3,
                    "allocated": {"cpu": "4"},
                },
            },
        ]
    }  # fmt: skip

    a, b = found(run, Answers([], queues=queues)).queues

    assert (a.name, a.state, a.running, a.waiting, a.allocated) == (
        "a",
        "Closed",
        1,
        5,
        {"cpu": "4"},
    )
    assert (b.name, b.state) == ("b", "Open")
