"""Who could have been evicted instead of a victim (item 8 of the order list)."""

from apportion.models import PodKey
from apportion.policies.givers import Giver, runners
from apportion.policies.legality import is_legal
from apportion.policies.needless import stand_ins

from .builders import Members, after, node, queue, snapshot

CLUSTER = snapshot(
    node("n1", 4), node("n2", 4), node("n3", 4), queue("q"),
    Members("v", "q", 2, on=["n1"]), Members("enough", "q", 2, on=["n1"]),
    Members("far", "q", 4, on=["n2"]), Members("wide", "q", 1, on=["n3", "n3"], minimum=1),
    Members("g", "q", 2, waiting=1, priority=5),
)  # fmt: skip


def test_only_who_makes_the_room_stands_in() -> None:
    outcome = after(CLUSTER, "g0@n1", "v0")

    found = stand_ins(outcome, {PodKey("x/v0")}, runners(outcome))

    assert [r.group for r in found] == ["x/enough"]


def test_the_rules_are_asked_about_all_where_nobody_has_to_make_room() -> None:
    outcome = after(CLUSTER, "g0@n3", "v0")
    every = runners(outcome)

    found = [r.group for r in stand_ins(outcome, set(outcome.evicted), every)]

    legal = [r.group for r in every if is_legal(after(CLUSTER, "g0@n3", _pods_of(r)))]
    assert found == legal
    assert set(found) == {"x/enough", "x/far", "x/wide"}


def _pods_of(giver: Giver) -> str:
    return " ".join(p.name for p in giver.pods)
