"""Now or promised: what fits at once is bound, what needs somebody to leave waits."""

from collections.abc import Mapping

from apportion.models import HostPort, PodState, PodTerm, Snapshot
from apportion.solver.timing import bound_now
from oracle.build import Members, cores, foreign, node, only, queue, snapshot

from .parts import after, names


def bound(world: Snapshot, places: Mapping[str, str], evicted: tuple[str, ...] = ()) -> set[str]:
    outcome = after(world, places, evicted)
    return names(dict.fromkeys(bound_now(outcome)))


def test_everything_is_bound_where_nobody_leaves() -> None:
    world = snapshot(node("n1", 2), queue("q"), Members("g", "q", waiting=2))

    assert bound(world, {"g0": "n1", "g1": "n1"}) == {"g0", "g1"}


def test_pod_waits_for_a_terminating_one_only_where_it_needs_its_room() -> None:
    world = snapshot(
        node("n1", 1), node("n2", 2), queue("q"),
        foreign("f1", 1, "n1", PodState.TERMINATING), foreign("f2", 1, "n2", PodState.TERMINATING),
        Members("a", "q", waiting=1), Members("b", "q", waiting=1),
    )  # fmt: skip

    assert bound(world, {"a0": "n1", "b0": "n2"}) == {"b0"}


def test_gang_waits_as_a_whole_and_elastic_members_one_by_one() -> None:
    leaving = foreign("f", 1, "n1", PodState.TERMINATING)
    nodes = node("n1", 1), node("n2", 3), queue("q")
    gang = snapshot(*nodes, leaving, Members("g", "q", waiting=2, minimum=2))
    elastic = snapshot(*nodes, leaving, Members("g", "q", on=["n2"], waiting=2))

    assert bound(gang, {"g0": "n1", "g1": "n2"}) == set()
    assert bound(elastic, {"g1": "n1", "g2": "n2"}) == {"g2"}


def test_who_needs_evicted_room_waits_and_who_claims_nothing_has_free_room_first() -> None:
    world = snapshot(
        node("n1", 2), queue("q"), Members("low", "q", on=["n1"]),
        Members("top", "q", waiting=1, priority=2, created_s=1),
        Members("meek", "q", waiting=1, may_preempt=False),
    )  # fmt: skip

    assert bound(world, {"top0": "n1", "meek0": "n1"}, ("low0",)) == {"meek0"}


def test_who_needs_the_quota_of_a_victim_waits() -> None:
    world = snapshot(
        node("n1", 9), queue("q", capability=cores(1)), Members("low", "q", on=["n1"]),
        Members("top", "q", waiting=1, priority=2),
    )  # fmt: skip

    assert bound(world, {"top0": "n1"}, ("low0",)) == set()


def test_who_needs_the_port_of_one_that_leaves_waits() -> None:
    port = {"host_ports": (HostPort(80),)}
    world = snapshot(
        node("n1", 9), node("n2", 9), queue("q"),
        foreign("f", 1, "n1", PodState.TERMINATING, **port),
        Members("a", "q", waiting=1, spec=port), Members("b", "q", waiting=1, spec=port),
    )  # fmt: skip

    assert bound(world, {"a0": "n1", "b0": "n2"}) == {"b0"}


def test_who_is_repelled_by_one_that_leaves_waits_in_its_domain() -> None:
    lonely = {"anti_affinity": (PodTerm("zone", only("low"), None),)}
    world = snapshot(
        *(node(f"n{i}", 9, labels={"zone": z}) for i, z in enumerate("aab")), queue("q"),
        Members("low", "q", on=["n0"]),
        Members("near", "q", waiting=1, priority=1, spec=lonely),
        Members("far", "q", waiting=1, priority=1, spec=lonely),
    )  # fmt: skip

    assert bound(world, {"near0": "n1", "far0": "n2"}, ("low0",)) == {"far0"}
