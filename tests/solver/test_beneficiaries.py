"""Whom an eviction names: those with a right who use the room, the limit or the port it frees."""

from apportion.models import GroupKey, HostPort, Snapshot
from apportion.solver.beneficiaries import beneficiaries
from apportion.solver.timing import bound_now
from oracle.build import Members, cores, node, queue, snapshot

from .parts import after

STARTS = {"high0": "n1", "far0": "n2"}


def named(world: Snapshot, places: dict[str, str], gone: str = "v0") -> tuple[str, ...]:
    outcome = after(world, places, gone.split())
    found = beneficiaries(outcome, GroupKey("x/v"), bound_now(outcome))
    return tuple(g.removeprefix("x/") for g in found)


def one_queue(cpu: int, limit: int | None = None) -> Snapshot:
    """Return a victim on the first of two nodes, and two that wait with a right to it."""
    return snapshot(
        node("n1", cpu),
        node("n2", 9),
        queue("q") if limit is None else queue("q", capability=cores(limit)),
        Members("v", "q", on=["n1"]),
        Members("high", "q", waiting=1, priority=1),
        Members("far", "q", waiting=1, priority=1),
    )


def test_who_takes_the_victims_room_is_named() -> None:
    assert named(one_queue(1), STARTS) == ("high",)


def test_who_finds_room_elsewhere_is_not_named() -> None:
    assert named(one_queue(1), {**STARTS, "high0": "n2", "far0": "n1"}) == ("far",)


def test_who_waits_for_the_room_is_named_before_who_fits_at_once() -> None:
    assert named(one_queue(2), {"high0": "n1", "far0": "n1"}) == ("high",)


def test_who_needs_the_victims_part_of_a_limit_is_named_wherever_it_starts() -> None:
    assert named(one_queue(9, limit=2), STARTS) == ("high",)
    assert named(one_queue(9, limit=1), {"far0": "n2"}) == ("far",)


def test_who_asks_for_nothing_of_the_limit_is_not_named() -> None:
    world = snapshot(
        node("n1", 9),
        queue("q", capability=cores(1)),
        Members("v", "q", on=["n1"]),
        Members("high", "q", waiting=1, priority=1),
        Members("slot", "q", cpu=0, waiting=1, priority=1),
    )

    assert named(world, {"high0": "n1", "slot0": "n1"}) == ("high",)


def test_who_needs_the_victims_port_is_named() -> None:
    port = {"host_ports": (HostPort(80),)}
    world = snapshot(
        node("n1", 9),
        queue("q"),
        Members("v", "q", on=["n1"], spec=port),
        Members("high", "q", waiting=1, priority=1, spec=port),
        Members("far", "q", waiting=1, priority=1),
    )

    assert named(world, {"high0": "n1", "far0": "n1"}) == ("high",)


def test_where_nobody_uses_what_is_freed_all_with_a_right_are_named() -> None:
    assert named(one_queue(9), STARTS) == ("far", "high")


def test_who_has_no_right_is_never_named() -> None:
    world = snapshot(
        node("n1", 2),
        queue("q"),
        Members("v", "q", on=["n1"] * 2),
        Members("high", "q", waiting=1, priority=1),
        Members("low", "q", waiting=1),
    )

    assert named(world, {"high0": "n1", "low0": "n1"}, "v0 v1") == ("high",)
