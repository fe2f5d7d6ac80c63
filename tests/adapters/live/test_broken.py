"""How long gangs have been broken, whatever the clock of the machine does meanwhile."""

from msgspec.structs import replace

from apportion.adapters.live.broken import BrokenGangs
from apportion.models import GroupKey, Snapshot
from oracle.build import NOW, Members, node, queue, snapshot

G = GroupKey("x/g")


def world(taken_s: int = NOW, running: int = 1, owner: str = "Job/g") -> Snapshot:
    members = Members("g", "q", on=["n1"] * running, waiting=2, minimum=3, pod={"owner": owner})
    return replace(snapshot(node("n1", 4), queue("q"), members), taken_at_s=taken_s)


def test_a_gang_is_broken_since_it_was_first_seen_so() -> None:
    gangs = BrokenGangs()

    assert gangs.in_snapshot(world(), 100.0)[G].broken_since_s == NOW
    assert gangs.in_snapshot(world(NOW + 7), 107.9)[G].broken_since_s == NOW
    assert gangs.since == {G: 100.0}


def test_a_clock_that_jumps_neither_gives_up_a_gang_early_nor_late() -> None:
    gangs = BrokenGangs()
    gangs.in_snapshot(world(), 100.0)

    ahead = gangs.in_snapshot(world(NOW + 3600), 107.0)[G].broken_since_s
    behind = gangs.in_snapshot(world(NOW - 3600), 110.0)[G].broken_since_s

    assert ahead == NOW + 3600 - 7
    assert behind == NOW - 3600 - 10


def test_a_gang_that_was_whole_in_between_is_broken_anew() -> None:
    gangs = BrokenGangs()
    gangs.in_snapshot(world(), 100.0)

    assert gangs.in_snapshot(world(NOW + 5, running=3), 105.0) == {}
    assert gangs.in_snapshot(world(NOW + 9), 109.0)[G].broken_since_s == NOW + 9


def test_a_gang_with_a_pod_that_nobody_brings_back_is_always_broken_just_now() -> None:
    gangs = BrokenGangs()
    gangs.in_snapshot(world(owner=""), 100.0)

    assert gangs.in_snapshot(world(NOW + 50, owner=""), 150.0)[G].broken_since_s == NOW + 50
