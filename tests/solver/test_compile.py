"""Merging: what no rule tells apart is one thing; what a rule sees stays apart."""

from msgspec.structs import replace

from apportion.models import Config, HostPort, Pod, PodTerm, TierSettings
from apportion.policies.parts import NOBODY
from oracle.build import Members, budget, cores, foreign, node, only, queue, snapshot

from .parts import Model, model_of

HOST = "host"


def shapes(model: Model) -> list[int]:
    """Return how many pods each shape stands for."""
    return [
        sum(r.limit * len(r.type.members) for r in model.board.rolesets if r.shape is s)
        for s in model.board.shapes
    ]


def types(model: Model) -> list[list[str]]:
    return [[m.group.name for m in t.members] for t in model.board.types]


def test_equal_groups_are_one_type_oldest_first() -> None:
    model = model_of(
        snapshot(
            node("n1", 20),
            queue("q"),
            Members("young", "q", waiting=2, minimum=2, created_s=300),
            Members("old", "q", waiting=2, minimum=2, created_s=100),
            Members("middle", "q", waiting=2, minimum=2, created_s=200),
        ),
        # More slices tell apart how full the queue is with each of them.
        Config(deterministic=True, tiers=TierSettings(slices=1)),
    )

    assert types(model) == [["old", "middle", "young"]]
    assert shapes(model) == [6]


def test_groups_that_differ_in_what_a_rule_sees_stay_apart() -> None:
    model = model_of(
        snapshot(
            node("n1", 30),
            queue("q"),
            queue("r"),
            Members("plain", "q", waiting=2),
            Members("gang", "q", waiting=2, minimum=2),
            Members("urgent", "q", waiting=2, priority=1),
            Members("elsewhere", "r", waiting=2),
            Members("fixed", "q", waiting=2, preemptable=False),
        )
    )

    assert sorted(types(model)) == [["elsewhere"], ["fixed"], ["gang"], ["plain"], ["urgent"]]


def test_labels_split_shapes_only_where_somebody_reads_them() -> None:
    two = [Members("a", "q", waiting=1), Members("b", "q", waiting=1)]
    blind = snapshot(node("n1", 9), queue("q"), *two)
    lonely = PodTerm(HOST, only("a"), None)
    watched = snapshot(
        node("n1", 9),
        queue("q"),
        *two,
        Members("c", "q", waiting=1, spec={"anti_affinity": (lonely,)}),
    )

    assert shapes(model_of(blind)) == [2]
    assert shapes(model_of(watched)) == [1, 1, 1]


def test_pods_that_fit_nowhere_get_no_place() -> None:
    model = model_of(
        snapshot(
            node("n1", 2),
            queue("q"),
            Members("big", "q", 3, waiting=1),
            Members("g", "q", waiting=1),
        )
    )

    assert [m.group.name for t in model.board.types for m in t.members] == ["g"]


def test_group_that_runs_is_a_type_of_its_own() -> None:
    model = model_of(
        snapshot(
            node("n1", 9),
            queue("q"),
            Members("a", "q", on=["n1"], waiting=1),
            Members("b", "q", on=["n1"], waiting=1),
        )
    )

    assert sorted(types(model)) == [["a"], ["b"]]
    assert all(model.board.started(t) is None for t in model.board.types)


def test_only_work_that_somebody_could_evict_is_a_victim() -> None:
    model = model_of(
        snapshot(
            node("n1", 5),
            queue("q"),
            Members("low", "q", on=["n1"]),
            Members("same", "q", on=["n1"], priority=5),
            Members("fixed", "q", on=["n1"], preemptable=False),
            foreign("f", 1, "n1"),
            Members("top", "q", 3, waiting=1, priority=5),
        )
    )

    assert [v.members.group.name for v in model.board.victims] == ["low"]


def test_equal_pods_of_a_victim_on_a_node_are_one_unit_and_the_last_ranked_go_first() -> None:
    model = model_of(
        snapshot(
            node("n1", 3),
            node("n2", 1),
            queue("q"),
            Members("low", "q", on=["n1", "n1", "n1", "n2"]),
            Members("top", "q", 2, waiting=1, priority=5),
        )
    )

    units = [(model.scene.nodes[u.node].name, [p.name for p in u.pods]) for u in model.board.units]
    assert sorted(units) == [("n1", ["low2", "low1", "low0"]), ("n2", ["low3"])]


def test_budget_splits_the_pods_it_covers() -> None:
    low = Members("low", "q", on=["n1", "n1"])
    low.pods[1] = with_labels(low, 1, app="other")
    model = model_of(
        snapshot(
            node("n1", 2), queue("q"), low, budget("low", 1),
            Members("top", "q", 1, waiting=1, priority=5),
        )
    )  # fmt: skip

    assert sorted([p.name for p in u.pods] for u in model.board.units) == [["low0"], ["low1"]]


def with_labels(group: Members, i: int, **labels: str) -> Pod:
    return replace(group.pods[i], labels=labels)


def test_equal_nodes_are_one_class_once_there_are_many_pairs() -> None:
    world = snapshot(
        *(node(f"n{i}", 4) for i in range(5)),
        node("large", 8),
        queue("q"),
        Members("g", "q", 2, waiting=8),
    )

    exact, merged = model_of(world), model_of(world, exact_pairs=1)

    assert not exact.compiled.merged
    assert [c.size for c in exact.board.classes] == [1] * 6
    assert merged.compiled.merged
    assert sorted(c.size for c in merged.board.classes) == [1, 5]


def test_node_with_a_victim_stays_alone() -> None:
    model = model_of(
        snapshot(
            *(node(f"n{i}", 4) for i in range(4)),
            queue("q"),
            Members("low", "q", 1, on=["n0"]),
            Members("top", "q", 4, waiting=4, priority=1),
        ),
        exact_pairs=1,
    )

    assert sorted(c.size for c in model.board.classes) == [1, 3]


def test_merged_class_offers_what_all_its_nodes_offer_but_no_more_than_is_asked_for() -> None:
    world = snapshot(
        *(node(f"n{i}", 5) for i in range(4)), queue("q"), Members("g", "q", 2, waiting=7)
    )

    board = model_of(world, exact_pairs=1).board
    ((shape, nodes),) = board.parts.fits

    assert board.parts.fits[shape, nodes] == 7


def test_ports_do_not_keep_equal_pods_from_being_one_shape() -> None:
    port = {"host_ports": (HostPort(80),)}
    model = model_of(snapshot(node("n1", 9), queue("q"), Members("g", "q", waiting=3, spec=port)))

    assert shapes(model) == [3]


def test_claimants_of_equal_rights_are_one() -> None:
    waiting = [Members(f"g{i}", "q", waiting=1, priority=5 + i) for i in range(3)]
    model = model_of(snapshot(node("n1", 1), queue("q"), Members("low", "q", on=["n1"]), *waiting))

    claimants = {s.claimant for s in model.board.shapes if s.claimant is not None}
    assert len(claimants) == 1
    assert len(model.board.types) == 3


def test_who_may_not_preempt_claims_nothing() -> None:
    model = model_of(
        snapshot(
            node("n1", 1), queue("q"), Members("low", "q", on=["n1"]),
            Members("meek", "q", waiting=1, priority=5, may_preempt=False),
        )
    )  # fmt: skip

    assert model.board.victims == ()


def test_size_in_devices_keeps_shapes_apart() -> None:
    model = model_of(
        snapshot(
            node("n1", 8, 4),
            queue("q"),
            Members("a", "q", waiting=1),
            Members("b", "q", gpus=1, waiting=1),
        )
    )

    assert len(model.board.shapes) == 2
    assert cores(1, 1) != cores(1)


def test_room_that_nobody_claims_is_not_less_than_none_on_an_overfull_node() -> None:
    """The node runs seven cores of its six; what a lost gang leaves is anybody's."""
    world = snapshot(
        node("n1", 6),
        queue("a"),
        queue("b"),
        Members("v", "a", cpu=3, on=["n1"] * 2, minimum=0),
        Members("lost", "a", on=["n1"], minimum=4, broken_since_s=1),
        Members("one", "a", waiting=1, priority=2),
        Members("two", "b", waiting=1),
    )

    model = model_of(world)
    pool = next(s for s in model.board.shapes if s.claimant is NOBODY)

    assert [(cls.name, model.board.upper(var)) for cls, var in model.board.cells(pool)] == [
        ("n1", 1)
    ]
