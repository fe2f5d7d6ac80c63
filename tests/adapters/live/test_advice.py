"""Advice: whom to ask about and when, and how long an answer stands."""

from typing import Any

import pytest
from msgspec.structs import replace

from apportion.adapters.ask.brief import Brief
from apportion.adapters.live.advice import AGAIN_S, OLD_S, SETTLE_S, Advice, Ground
from apportion.adapters.live.verdicts import MOST_BYTES, Verdict, advised
from apportion.models import Config, GroupKey, PodKey, Snapshot
from kubernetes_objects import Data, in_group, node, pod, pod_group, queue, snapshot

GREEDY = Config(engine="greedy", deterministic=True)
FULL = (("capacity", "group g"),)


def key(name: str) -> GroupKey:
    return GroupKey(f"default/{name}")


def world(*more: Data, names: str = "g") -> Snapshot:
    ages = {n: f"2026-01-05T11:00:{9 - i:02}Z" for i, n in enumerate(names)}
    groups = [pod_group(n, minMember=1, meta={"creationTimestamp": t}) for n, t in ages.items()]
    pods = [pod(f"{n}0", annotations=in_group(n)) for n in names]
    return snapshot(node("n"), *groups, *pods, *more)


def waits(name: str = "g", message: str = "no room", reason: str = "Unschedulable") -> Verdict:
    return Verdict(key(name), reason, message, (PodKey(f"default/{name}0"),), FULL)


def noted(advice: Advice, seen: Snapshot, *verdicts: Verdict, at_s: float = 0.0) -> None:
    advice.note(seen, GREEDY, {v.group: v for v in verdicts}, at_s)


def asked(advice: Advice, at_s: float = SETTLE_S, most: int = 3) -> dict[GroupKey, Ground]:
    return advice.due(at_s, most)


def told(advice: Advice, *verdicts: Verdict) -> list[str]:
    return [v.advice for v in advice.over({v.group: v for v in verdicts}).values()]


def answered(says: str = "with more", at_s: float = SETTLE_S) -> Advice:
    """Return advice with one answer about g."""
    advice = Advice()
    noted(advice, world(), waits())
    (ground,) = asked(advice, at_s).values()
    assert advice.learn(Brief(key("g"), says), ground, at_s) == bool(says)
    return advice


def test_a_group_is_asked_about_once_it_has_been_held_for_a_while() -> None:
    advice = Advice()
    noted(advice, world(), waits())

    early, late = asked(advice, SETTLE_S / 2), asked(advice, SETTLE_S)

    assert (list(early), list(late)) == ([], [key("g")])


def test_the_oldest_come_first_and_so_many_at_once() -> None:
    advice, seen = Advice(), world(names="abcd")
    noted(advice, seen, *(waits(n) for n in "abcd"))

    first, then = asked(advice), asked(advice)

    assert [*first, *then] == [key(n) for n in "dcba"]
    assert len(first) == 3


@pytest.mark.parametrize("reason", ["GangNotReady", "NotReady", "WaitsForRoom"])
def test_what_no_change_may_cure_is_not_asked_about(reason: str) -> None:
    advice = Advice()
    noted(advice, world(), waits(reason=reason))

    assert asked(advice) == {}


def test_an_answer_stands_while_all_that_it_rests_on_is_so() -> None:
    advice = answered()
    noted(advice, replace(world(), taken_at_s=99), waits(), at_s=AGAIN_S * 2)

    assert told(advice, waits()) == ["with more"]
    assert asked(advice, AGAIN_S * 2) == {}


CHANGED: list[tuple[str, Snapshot, dict[str, Any]]] = [
    ("its reason", world(), {"reason": "QueueLimit"}),
    ("the numbers against it", world(), {"message": "less room"}),
    ("a node", world(node("new")), {}),
    ("a queue", world(queue("new")), {}),
    ("its pods", world(pod("g1", annotations=in_group("g"))), {}),
]


@pytest.mark.parametrize(("seen", "other"), [pytest.param(s, o, id=i) for i, s, o in CHANGED])
def test_it_goes_when_something_of_it_has_changed(seen: Snapshot, other: dict[str, Any]) -> None:
    advice, now = answered(), waits(**other)

    noted(advice, seen, now, at_s=AGAIN_S)

    assert told(advice, now) == [""]
    assert list(asked(advice, AGAIN_S)) == []
    assert list(asked(advice, AGAIN_S + SETTLE_S)) == [key("g")]


def test_it_stands_where_other_pods_have_changed_and_is_given_anew_after_a_while() -> None:
    advice, seen = answered(), world(pod("other"))

    noted(advice, seen, waits())

    assert told(advice, waits()) == ["with more"]
    assert list(asked(advice, OLD_S)) == []
    assert list(asked(advice, OLD_S + SETTLE_S)) == [key("g")]


def test_an_answer_to_what_is_so_no_longer_is_not_told() -> None:
    advice = Advice()
    noted(advice, world(), waits())
    (ground,) = asked(advice).values()
    noted(advice, world(node("new")), waits())

    assert not advice.learn(Brief(key("g"), "with more"), ground, 2.0)
    assert told(advice, waits()) == [""]


def test_no_answer_in_time_is_not_tried_for_again_at_once() -> None:
    advice = Advice()
    noted(advice, world(), waits())
    (ground,) = asked(advice).values()
    advice.late(key("g"), ground, SETTLE_S)

    noted(advice, world(pod("other")), waits())

    assert asked(advice, AGAIN_S * 2) == {}
    assert list(asked(advice, OLD_S + SETTLE_S)) == [key("g")]


def test_who_is_held_no_longer_is_forgotten() -> None:
    advice = answered()
    noted(advice, world())

    noted(advice, world(), waits(), at_s=2.0)

    assert told(advice, waits()) == [""]


def test_a_long_message_gives_way_to_the_change() -> None:
    verdict = advised(waits(message="ä" * 600), "with 2 more nodes")

    assert verdict.message.endswith("ä...; would start with 2 more nodes")
    assert len(verdict.message.encode()) <= MOST_BYTES
    assert verdict.key == waits().key
