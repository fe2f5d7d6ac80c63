"""The order list: which objections count against a plan (section 5)."""

from apportion.models import Snapshot
from apportion.policies.order import objections

from .builders import GPU, Members, after, budget, node, queue, snapshot


def heard(world: Snapshot, starts: str) -> set[str]:
    return {str(o) for o in objections(after(world, starts))}


def test_of_equal_members_any_gives_way() -> None:
    """One member of a is out; that it is not the one in the way is a matter of names."""
    a = Members("a", "q", on=["n1"], waiting=2, cpu=2, preemptable=False)
    a.pods[0] = Members("a", "q", on=["n1"], cpu=1).pods[0]
    world = snapshot(
        node("n1", 6, 2),
        node("n2", 2),
        queue("p", deserved={GPU: 0}),
        queue("q"),
        a,
        Members("b", "p", waiting=2, cpu=2, gpus=1),
    )

    assert heard(world, "a1@n1 a2@n2 b0@n1") == {
        "item 2 (dues and entitlements): starting elastic pod x/a1 should give way to x/b"
    }
    assert heard(world, "a1@n2 b0@n1 b1@n1") == set()


def test_what_another_member_hinders_is_no_objection_to_this_one() -> None:
    """A minimum wants the place of one member of b; the other may start all the same."""
    world = snapshot(
        node("n1", 5),
        node("n2", 2),
        queue("q"),
        Members("a", "q", waiting=1, cpu=3, created_s=1),
        Members("b", "q", on=["n1"], waiting=2, cpu=2, minimum=2),
    )

    assert heard(world, "b1@n1") == {"item 7 (idle capacity): nobody should give way to x/b"}


def test_one_of_two_gives_way_where_a_budget_bears_no_more() -> None:
    """The group may not go whole; either of its pods may, and is enough."""
    world = snapshot(
        node("n1", 2),
        queue("q"),
        Members("a", "q", on=["n1"] * 2),
        Members("b", "q", waiting=1, priority=1),
        budget("a", 1),
    )

    assert heard(world, "") == {
        "item 3 (priority): running elastic pod x/a0 should give way to x/b"
    }
