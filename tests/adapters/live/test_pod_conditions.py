"""PodScheduled is written when the reason changes, and seldom for the message alone."""

from typing import Any

from msgspec.structs import replace

from apportion.adapters.live.pod_conditions import MOST, REFRESH_S, PodConditions
from apportion.adapters.live.verdicts import Verdict, advised
from apportion.adapters.live.write import Write
from apportion.models import GroupKey, PodKey, Snapshot
from kubernetes_objects import NOON, NOON_S, pod, snapshot

FULL = (("capacity", "group g"),)
LIMIT = (("quota", "queue q"),)


def world(n: int = 1, uid: str = "u", at_s: int = NOON_S) -> Snapshot:
    made = snapshot(*(pod(f"p{i}", meta={"uid": f"{uid}{i}"}) for i in range(n)))
    return replace(made, taken_at_s=at_s)


def waits(message: str = "no room", reason: str = "Unschedulable", causes: Any = FULL) -> Verdict:
    return Verdict(GroupKey("default/g"), reason, message, (PodKey("default/p0"),), causes)


def knows(verdict: Verdict) -> Verdict:
    return advised(verdict, "with more")


def nothing(pod: PodKey) -> str | None:
    return None


def due(conditions: PodConditions, verdict: Verdict, seen: Snapshot) -> list[Write]:
    return [write for _, write in conditions.due([verdict], seen, nothing)]


def test_the_condition_names_reason_message_and_moment() -> None:
    (write,) = due(PodConditions(), waits(), world())

    assert (write.method, write.path) == ("PATCH", "/api/v1/namespaces/default/pods/p0/status")
    assert write.content_type == "application/strategic-merge-patch+json"
    assert write.body == {
        "metadata": {"uid": "u0"},
        "status": {
            "conditions": [
                {
                    "type": "PodScheduled",
                    "status": "False",
                    "reason": "Unschedulable",
                    "message": "no room",
                    "lastTransitionTime": NOON,
                }
            ]
        },
    }


def test_it_is_written_once_for_a_reason_and_again_for_another() -> None:
    conditions, seen = PodConditions(), world()

    first = due(conditions, waits(), seen)
    again = due(conditions, waits(), seen)
    other = due(conditions, waits("at its limit", "QueueLimit", LIMIT), seen)

    assert (len(first), again, len(other)) == (1, [], 1)


def test_a_new_message_alone_waits() -> None:
    conditions = PodConditions()
    due(conditions, waits("3 of 4"), world())

    soon = due(conditions, waits("2 of 4"), world(at_s=NOON_S + REFRESH_S - 1))
    late = due(conditions, waits("2 of 4"), world(at_s=NOON_S + REFRESH_S))

    assert (soon, len(late)) == ([], 1)


def test_what_would_start_it_is_added_at_once_but_only_the_first_time() -> None:
    conditions = PodConditions()
    due(conditions, waits(), world())

    known = due(conditions, knows(waits()), world(at_s=NOON_S + 1))
    gone = due(conditions, waits(), world(at_s=NOON_S + 2))
    again = due(conditions, knows(waits("2 of 4")), world(at_s=NOON_S + 3))
    late = due(conditions, waits(), world(at_s=NOON_S + 1 + REFRESH_S))

    (condition,) = known[0].body["status"]["conditions"]
    assert condition["message"] == "no room; would start with more"
    assert (gone, again, len(late)) == ([], [], 1)


def test_whoever_starts_anew_tells_what_would_start_it() -> None:
    found = PodConditions().due([knows(waits())], world(), lambda pod: "Unschedulable")

    assert len(found) == 1


def test_the_time_of_a_condition_that_is_there_stays() -> None:
    ((_, write),) = PodConditions().due([waits()], world(), lambda pod: "QueueLimit")

    assert "lastTransitionTime" not in write.body["status"]["conditions"][0]


def test_whoever_starts_anew_takes_the_right_reason_as_told() -> None:
    conditions = PodConditions()

    first = conditions.due([waits()], world(), lambda pod: "Unschedulable")
    other = conditions.due([waits("x", "QueueLimit", LIMIT)], world(), lambda pod: "Unschedulable")

    assert (first, len(other)) == ([], 1)


def test_another_pod_of_the_name_is_told_anew_and_so_is_one_that_was_not_reached() -> None:
    conditions = PodConditions()
    due(conditions, waits(), world())

    assert len(due(conditions, waits(), world(uid="v"))) == 1
    conditions.forget(PodKey("default/p0"))
    assert len(due(conditions, waits(), world(uid="v"))) == 1


def test_so_many_are_written_at_once_and_the_rest_later() -> None:
    n = MOST + 3
    seen = world(n)
    everybody = Verdict(
        GroupKey("default/g"), "Unschedulable", "no room", tuple(seen.pods_by_key), FULL
    )
    conditions = PodConditions()

    counts = [len(conditions.due([everybody], seen, nothing)) for _ in range(3)]

    assert counts == [MOST, 3, 0]
