"""Objections to plans of worlds small enough to judge by hand."""

from apportion.models import (
    Config,
    QueueShare,
)
from oracle.build import Members, node, queue, snapshot
from oracle.report import Report
from oracle.verdicts import DEFAULT, against, items


def test_the_older_twin_goes_first() -> None:
    s = snapshot(
        node("n1", 2),
        queue("q"),
        Members("old", "q", cpu=2, waiting=1, created_s=1),
        Members("young", "q", cpu=2, waiting=1, created_s=2),
    )

    assert against(s, {"young0": "n1"}) == {(5, "old", ("young",))}
    assert against(s, {"old0": "n1"}) == set()


def test_idle_room_is_used_and_a_minimum_goes_before_surplus() -> None:
    s = snapshot(
        node("n1", 2),
        queue("q"),
        Members("a", "q", waiting=2, minimum=1, created_s=1),
        Members("b", "q", waiting=1, created_s=2),
    )

    assert against(s, {"b0": "n1"}) == {(7, "a", ())}
    assert against(s, {"a0": "n1", "a1": "n1"}) == {(6, "b", ("a0",)), (6, "b", ("a1",))}
    assert against(s, {"a0": "n1", "b0": "n1"}) == set()


def test_surplus_is_shared_by_weight() -> None:
    s = snapshot(
        node("n1", 4),
        queue("a", due=0, weight=3),
        queue("b", due=0, weight=1),
        *(Members(f"{q}{i}", q, waiting=1, created_s=i) for q in "ab" for i in range(4)),
    )
    even = {"a00": "n1", "a10": "n1", "b00": "n1", "b10": "n1"}

    assert (4, "a2", ("b1",)) in against(s, even)
    assert against(s, {"a00": "n1", "a10": "n1", "a20": "n1", "b00": "n1"}) == set()


def test_priority_counts_across_queues_only_if_asked_to() -> None:
    s = snapshot(
        node("n1", 1),
        queue("a"),
        queue("b"),
        Members("low", "a", waiting=1),
        Members("high", "b", waiting=1, priority=9),
    )

    assert items(s, {"low0": "n1"}) == set()
    assert items(s, {"low0": "n1"}, config=Config(priority_everywhere=True)) == {3}


def test_an_objection_does_not_count_if_a_lower_item_takes_its_place_again() -> None:
    s = snapshot(
        node("n1", 2),
        queue("q"),
        Members("g", "q", on=["n1"], waiting=1, minimum=2),
        Members("h", "q", cpu=1, waiting=1, priority=5),
    )

    # h outranks the rest of g (item 3), but would break it again (item 1).
    assert against(s, {"g1": "n1"}) == set()


def test_no_more_goes_than_must() -> None:
    s = snapshot(
        node("n1", 3),
        queue("q"),
        Members("a", "q", on=["n1"]),
        Members("b", "q", on=["n1"]),
        Members("g", "q", cpu=2, waiting=1, priority=1),
    )

    assert against(s, {"g0": "n1"}, "a0") == set()
    assert items(s, {"g0": "n1"}, "a0", "b0") == {8}


def test_the_wrong_victim_would_come_back() -> None:
    s = snapshot(
        node("n1", 2),
        queue("q"),
        Members("low", "q", on=["n1"]),
        Members("mid", "q", on=["n1"], priority=1),
        Members("g", "q", waiting=1, priority=2),
    )

    assert items(s, {"g0": "n1"}, "mid0") == {8}
    assert against(s, {"g0": "n1"}, "low0") == set()


def test_room_may_be_used_though_a_victim_will_want_it() -> None:
    s = snapshot(
        node("n1", 2),
        node("n2", 1, labels={"disk": "ssd"}),
        queue("q"),
        Members("mid", "q", on=["n2"], priority=1),
        Members("low", "q", cpu=2, waiting=1),
        Members("g", "q", waiting=1, priority=2, spec={"node_selector": (("disk", "ssd"),)}),
    )

    assert against(s, {"g0": "n2", "low0": "n1"}, "mid0") == set()


def test_an_item_with_a_nominated_pod_counts_as_running() -> None:
    def order(**nominations: str) -> list[str]:
        s = snapshot(
            node("n1", 9),
            queue("q"),
            Members("run", "q", on=["n1"], created_s=2),
            Members("new", "q", waiting=2, minimum=1, created_s=1),
            nominations=nominations,
        )
        return [name for name, _, _ in Report(s, DEFAULT).row("q", frozenset({"x/new0", "x/new1"}))]

    assert order() == ["x/run", "x/new", "x/new1"]
    assert order(new0="n1") == ["x/new", "x/run", "x/new1"]
    assert order(new1="n1") == ["x/new", "x/run", "x/new0"]  # what was promised forms the minimum


def test_namespaces_share_a_queue_by_what_they_use() -> None:
    def world_of(*shares: str) -> Report:
        s = snapshot(
            node("n1", 9),
            queue("q"),
            Members("r", "q", on=["n1"], namespace="a"),
            Members("a1", "q", waiting=1, namespace="a", created_s=1),
            Members("a2", "q", waiting=1, namespace="a", created_s=2),
            Members("b1", "q", waiting=1, namespace="b", created_s=3),
            Members("b2", "q", waiting=1, namespace="b", created_s=4),
        )
        return Report(s, Config(queues={q: QueueShare(within="namespaces") for q in shares}))

    started = frozenset({"a/a10", "a/a20", "b/b10", "b/b20"})

    by_age = [name for name, _, _ in world_of().row("q", started)]
    fair = [name for name, _, _ in world_of("q").row("q", started)]

    assert by_age == ["a/r", "a/a1", "a/a2", "b/b1", "b/b2"]
    assert fair == ["a/r", "b/b1", "a/a1", "b/b2", "a/a2"]


def test_what_was_promised_a_place_keeps_it_against_a_poorer_queue() -> None:
    def objections(**nominations: str) -> set[object]:
        s = snapshot(
            node("n1", 7),
            queue("rich", due=0),
            queue("poor", due=0),
            Members("a", "rich", on=["n1"] * 3, minimum=3),
            Members("b", "poor", on=["n1"] * 2, minimum=2),
            Members("g", "poor", cpu=2, waiting=1),
            Members("h", "rich", waiting=1),
            nominations=nominations,
        )
        return set(against(s, {"h0": "n1"}))

    assert objections() == {(4, "g", ("h",))}
    assert objections(h0="n1") == set()
    assert objections(h0="n1", g0="n1") == {(4, "g", ("h",))}


def test_where_priority_counts_everywhere_a_due_yields_to_it() -> None:
    s = snapshot(
        node("n1", 1),
        queue("a", due=1),
        queue("b", due=0),
        Members("low", "a", waiting=1, priority=1),
        Members("high", "b", waiting=1, priority=2),
    )

    assert items(s, {"high0": "n1"}) == {2}
    assert items(s, {"high0": "n1"}, config=Config(priority_everywhere=True)) == set()


def test_one_more_of_equal_members_is_judged_by_the_last_place() -> None:
    """The entitlement of q reaches for one: whichever of its two starts, the other is beyond."""
    s = snapshot(
        node("n1", 2),
        queue("q", due=1),
        queue("other", due=0),
        Members("g", "q", waiting=2, minimum=0),
        Members("h", "other", waiting=1),
    )

    assert items(s, {"g0": "n1", "h0": "n1"}) == set()
    assert items(s, {"g1": "n1", "h0": "n1"}) == set()
