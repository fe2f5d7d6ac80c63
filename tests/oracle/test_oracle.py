"""The referee's verdicts on worlds small enough to judge by hand."""

from fractions import Fraction
from itertools import combinations, product
from typing import Any

import pytest
from msgspec.structs import replace

from apportion.models import (
    Amounts,
    Config,
    GroupKey,
    HostPort,
    NodeName,
    PodKey,
    PodSpec,
    PodState,
    PodTerm,
    QueueShare,
    QueueState,
    Snapshot,
    SpreadConstraint,
    Taint,
    Toleration,
)
from oracle.build import GPU, Members, budget, cores, foreign, node, only, queue, snapshot
from oracle.clean import clean_plan
from oracle.envy import eviction_cost, objections
from oracle.legality import violations
from oracle.search import Found, Oversize, optimum, plans, worth
from oracle.standing import Report, standing_of
from oracle.worlds import world

DEFAULT = Config()


def plan_of(places: dict[str, str], *evicted: str) -> Found:
    """Return the plan with pods of namespace x."""
    at = {PodKey(f"x/{p}"): NodeName(n) for p, n in places.items()}
    return at, frozenset(PodKey(f"x/{p}") for p in evicted)


def broken(
    s: Snapshot, places: dict[str, str], *evicted: str, config: Config = DEFAULT
) -> set[str]:
    """Return the names of the broken rules."""
    found = violations(s, config, *plan_of(places, *evicted))
    return {v.split(":")[0] for v in found}


def against(
    s: Snapshot, places: dict[str, str], *evicted: str, config: Config = DEFAULT
) -> set[tuple[int, str, tuple[str, ...]]]:
    """Return (item, group, what gives way) of the objections, without the namespace."""
    assert not broken(s, places, *evicted, config=config)
    found = objections(s, config, *plan_of(places, *evicted))
    return {(o.item, o.group[2:], tuple(g[2:] for g in o.gives_way)) for o in found}


def items(s: Snapshot, places: dict[str, str], *evicted: str, config: Config = DEFAULT) -> set[int]:
    return {item for item, _, _ in against(s, places, *evicted, config=config)}


# places


@pytest.mark.parametrize(
    ("name", "spec", "host", "want"),
    [
        ("plain", {}, {}, set()),
        ("selector", {"node_selector": (("disk", "ssd"),)}, {}, {"node selector or affinity"}),
        ("no affinity term", {"node_affinity": ()}, {}, {"node selector or affinity"}),
        ("taint", {}, {"taints": (Taint("k", "NoSchedule"),)}, {"taint"}),
        ("soft taint", {}, {"taints": (Taint("k", "PreferNoSchedule"),)}, set()),
        (
            "tolerated",
            {"tolerations": (Toleration("k", "Exists"),)},
            {"taints": (Taint("k", "NoExecute"),)},
            set(),
        ),
        ("cordoned", {}, {"unschedulable": True}, {"node takes no pods"}),
        ("not ready", {}, {"ready": False}, {"node takes no pods"}),
        ("too big", {}, {"allocatable": Amounts({"cpu": 500, "pods": 9})}, {"capacity"}),
        ("no slot", {}, {"allocatable": Amounts({"cpu": 5000})}, {"capacity"}),
    ],
)
def test_a_pod_may_stand_where_kube_scheduler_lets_it(
    name: str, spec: dict[str, Any], host: dict[str, Any], want: set[str]
) -> None:
    n = node("n1", 4)
    for key, value in host.items():
        n = type(n)(**{**{f: getattr(n, f) for f in n.__struct_fields__}, key: value})
    s = snapshot(n, queue("q"), Members("g", "q", waiting=1, spec=spec))

    assert broken(s, {"g0": "n1"}) == want, name


def test_company_is_judged_in_the_final_state() -> None:
    keep_off = PodTerm("host", only("g"), None)
    near = PodTerm("host", only("h"), None)
    s = snapshot(
        node("n1", 9, labels={"host": "n1"}),
        node("n2", 9, labels={"host": "n2"}),
        queue("q"),
        Members("g", "q", waiting=2, minimum=2, spec={"host_ports": (HostPort(80),)}),
        Members("h", "q", on=["n1"], waiting=1, spec={"anti_affinity": (keep_off,)}),
        Members("i", "q", waiting=1, spec={"affinity": (near,)}),
        Members(
            "j", "q", waiting=2, spec={"spread": (SpreadConstraint(1, "host", True, only("j")),)}
        ),
    )

    assert broken(s, {"g0": "n2", "g1": "n2"}) == {"host port or anti-affinity"}
    assert broken(s, {"g0": "n1", "g1": "n2"}) == {"host port or anti-affinity"}
    assert broken(s, {"i0": "n2"}) == {"affinity"}
    assert broken(s, {"i0": "n2", "h1": "n2"}) == set()
    assert broken(s, {"j0": "n2", "j1": "n2"}) == {"spread"}
    assert broken(s, {"j0": "n2", "j1": "n1"}) == set()


def test_terminating_pods_are_gone_and_foreign_pods_are_not() -> None:
    waiting = Members("g", "q", cpu=2, waiting=1)
    leaving = snapshot(
        node("n1", 2), queue("q"), waiting, foreign("f", 1, "n1", PodState.TERMINATING)
    )
    staying = snapshot(node("n1", 2), queue("q"), waiting, foreign("f", 1, "n1"))

    assert broken(leaving, {"g0": "n1"}) == set()
    assert broken(staying, {"g0": "n1"}) == {"capacity"}
    assert violations(staying, DEFAULT, {}, [PodKey("sys/f")])


# groups and queues


def test_a_gang_starts_as_a_whole() -> None:
    s = snapshot(
        node("n1", 9),
        queue("q"),
        Members("g", "q", waiting=3, minimum=2, roles=["a", "b", "b"], role_minimum={"a": 1}),
    )

    assert broken(s, {"g0": "n1"}) == {"gang"}
    assert broken(s, {"g1": "n1", "g2": "n1"}) == {"gang"}
    assert broken(s, {"g0": "n1", "g2": "n1"}) == set()


def test_held_groups_do_not_start() -> None:
    s = snapshot(
        node("n1", 9),
        queue("closed", state=QueueState.CLOSED),
        queue("inner"),
        queue("leaf", parent="inner", namespaces=frozenset({"y"})),
        Members("a", "closed", waiting=1),
        Members("b", "inner", waiting=1),
        Members("c", "leaf", waiting=1),
        Members("d", "nowhere", waiting=1),
    )

    for name in "abcd":
        assert broken(s, {f"{name}0": "n1"}) == {"held"}
    assert Report(s, DEFAULT).could_run == set()


def test_a_queue_above_its_limit_may_not_grow() -> None:
    s = snapshot(
        node("n1", 9, 2),
        queue("q", capability={"cpu": 2000}),
        Members("a", "q", on=["n1"] * 3, minimum=3),
        Members("b", "q", waiting=1, priority=1),
        Members("c", "q", cpu=0, gpus=1, waiting=1),
    )

    assert broken(s, {"b0": "n1"}) == {"limit"}
    assert broken(s, {"c0": "n1"}) == set()
    assert broken(s, {"b0": "n1"}, "a0", "a1", "a2") == set()


def test_what_is_guaranteed_to_one_queue_limits_the_others() -> None:
    s = snapshot(
        node("n1", 10),
        queue("a", guarantee=Amounts(cores(4))),
        queue("b"),
        queue("b1", parent="b", capability={"cpu": 9000}),
    )

    r = Report(s, DEFAULT)

    assert [r.limit(q)["cpu"] for q in ("a", "b", "b1")] == [10_000, 6000, 6000]


def test_guarantees_beyond_the_cluster_are_scaled_down() -> None:
    s = snapshot(
        node("n1", 10),
        queue("a", guarantee=Amounts(cores(15))),
        queue("b", guarantee=Amounts(cores(5))),
    )

    r = Report(s, DEFAULT)

    assert [r.limit(q)["cpu"] for q in ("a", "b")] == [7500, 2500]


def test_non_preemptible_work_starts_only_inside_deserved() -> None:
    s = snapshot(
        node("n1", 9, 9),
        queue("q", due=2),
        Members("a", "q", on=["n1"], preemptable=False),
        Members("b", "q", waiting=2, minimum=2, preemptable=False),
        Members("c", "q", cpu=0, gpus=3, waiting=1, preemptable=False),
        Members("d", "q", cpu=3, waiting=1, pod={"preemptable": False}),
    )

    assert broken(s, {"b0": "n1", "b1": "n1"}) == {"non-preemptible"}
    assert broken(s, {"c0": "n1"}) == set()
    assert broken(s, {"d0": "n1"}) == set()


# entitlements


def sixty_forty(**a: Any) -> Snapshot:
    return snapshot(
        node("n1", 10),
        queue("a", due=6),
        queue("b", due=4),
        *(Members(f"a{i}", "a", on=["n1"], created_s=i, **a) for i in range(9)),
        foreign("f", 1, "n1", PodState.TERMINATING),
        *(Members(f"b{i}", "b", waiting=1, created_s=i) for i in range(3)),
    )


def test_what_is_lent_comes_back_as_far_as_the_due_goes() -> None:
    s = sixty_forty()

    # b starts three: one in the free place, two where a stands above its six.
    assert items(s, {"b00": "n1"}) == {2}
    assert items(s, {"b00": "n1", "b10": "n1", "b20": "n1"}, "a70", "a80") == set()
    assert broken(s, {"b00": "n1", "b10": "n1", "b20": "n1"}, "a00", "a10") == {"rights", "claims"}


def test_an_idle_queue_lends_all() -> None:
    r = Report(snapshot(*sixty_forty().nodes, queue("a", due=6), queue("b", due=4)), DEFAULT)
    full = Report(sixty_forty(), DEFAULT)

    assert r.entitlement("a")["cpu"] == 0
    assert full.entitlement("a")["cpu"] == 7000
    assert full.entitlement("b")["cpu"] == 3000


def test_work_that_is_not_reclaimable_stays() -> None:
    s = snapshot(
        node("n1", 2),
        queue("a", due=0, reclaimable=False),
        queue("b", due=2),
        Members("a", "a", on=["n1", "n1"]),
        Members("b", "b", waiting=1),
    )

    assert broken(s, {"b0": "n1"}, "a1") == {"rights", "claims"}
    assert against(s, {}) == set()


def test_surplus_goes_by_queue_priority_then_by_weight_and_never_to_weight_zero() -> None:
    s = snapshot(
        node("n1", 12),
        queue("top", priority=1, capability={"cpu": 2000}),
        queue("two", weight=2),
        queue("one"),
        queue("none", weight=0),
        *(Members(q, q, waiting=12) for q in ("top", "two", "one", "none")),
    )

    r = Report(s, DEFAULT)

    want = {"top": 2000, "two": Fraction(20_000, 3), "one": Fraction(10_000, 3), "none": 0}
    assert {q: r.entitlement(q)["cpu"] for q in want} == want


@pytest.mark.parametrize("named", [False, True])
def test_of_what_nobody_names_weight_zero_takes_in_equal_parts_what_is_left(named: bool) -> None:
    s = snapshot(
        node("n1", 9, 9),
        queue("one", capability={"cpu": 2000}),
        queue("low", priority=-1, capability={"cpu": 1000}),
        queue("none", weight=0),
        queue("void", weight=0, capability={"cpu": 4000}),
        queue("idle", due=0 if named else None),
        *(Members(q, q, waiting=9) for q in ("one", "low", "none", "void")),
    )

    r = Report(s, Config(literal_deserved=True))

    got = [r.entitlement(q)["cpu"] for q in ("one", "low", "none", "void")]
    assert got == [2000, 1000, *((0, 0) if named else (3000, 3000))]


def test_a_due_that_is_not_named_is_unlimited_at_a_leaf_unless_literal() -> None:
    s = snapshot(
        node("n1", 4),
        queue("a", due=1),
        queue("b", parent=None),
        queue("b1", parent="b"),
        queue("b2", due=1, parent="b"),
        Members("g", "a", waiting=4),
        Members("h", "b1", waiting=4),
    )

    loose, literal = Report(s, DEFAULT), Report(s, Config(literal_deserved=True))

    assert (loose.due("b")["cpu"] > 10**9, literal.due("b")["cpu"]) == (True, 1000)
    assert loose.entitlement("b1")["cpu"] == 4000
    assert literal.entitlement("b1")["cpu"] == 2000


def test_only_what_could_run_makes_demand() -> None:
    s = snapshot(
        node("n1", 4),
        node("n2", 4),
        queue("q"),
        Members("big", "q", cpu=5, waiting=1),
        Members("gang", "q", cpu=3, waiting=3, minimum=3),
        Members("fits", "q", cpu=3, waiting=4, minimum=1),
        Members("stuck", "q", cpu=1, on=["n1"], preemptable=False),
    )

    r = Report(s, DEFAULT)

    assert r.could_run == {"x/fits", "x/stuck"}
    assert r.demand("q") == {"cpu": 7000}


def test_a_lost_group_makes_no_demand_and_pushes_nobody_out() -> None:
    s = snapshot(
        node("n1", 6),
        queue("a"),
        queue("b"),
        Members("lost", "a", cpu=3, on=["n1"], waiting=1, minimum=3),
        Members("next", "a", cpu=3, on=["n1"]),
        Members("g", "b", cpu=3, waiting=2, minimum=1),
    )

    r = Report(s, DEFAULT)

    assert r.entitlement("a")["cpu"] == 3000
    assert r.row("a") == [("x/next", True, 0)]


# rights


def test_priority_counts_inside_a_queue_and_strictly() -> None:
    s = snapshot(
        node("n1", 2),
        queue("q"),
        Members("low", "q", on=["n1"]),
        Members("even", "q", on=["n1"], priority=1),
        Members("g", "q", waiting=1, priority=1),
    )

    assert against(s, {}) == {(3, "g", ("low",))}
    assert against(s, {"g0": "n1"}, "low0") == set()
    assert broken(s, {"g0": "n1"}, "even0") == {"rights", "claims"}


def test_nobody_takes_the_room_that_another_one_has_the_right_to() -> None:
    s = snapshot(
        node("n1", 2),
        queue("a"),
        queue("b"),
        Members("low", "a", cpu=2, on=["n1"]),
        Members("high", "a", waiting=1, priority=1),
        Members("small", "b", cpu=1, waiting=1, may_preempt=False),
    )

    assert broken(s, {"high0": "n1"}, "low0") == set()
    assert broken(s, {"small0": "n1"}, "low0") == {"rights", "claims"}
    assert broken(s, {"high0": "n1", "small0": "n1"}, "low0") == {"claims"}


def test_budgets_and_guarantees_stop_evictions() -> None:
    def world_of(**rest: Any) -> Snapshot:
        return snapshot(
            node("n1", 3),
            queue("a", due=0, **rest),
            queue("b", due=3),
            Members("v", "a", on=["n1"] * 3),
            Members("g", "b", waiting=2),
            budget("v", 1),
        )

    free, floor = world_of(), world_of(guarantee=Amounts(cores(2)))

    assert broken(free, {"g0": "n1", "g1": "n1"}, "v1", "v2") == {"budget"}
    assert broken(free, {"g0": "n1"}, "v2") == set()
    assert broken(floor, {"g0": "n1", "g1": "n1"}, "v1", "v2") >= {"guarantee", "budget"}


@pytest.mark.parametrize(("priority", "want"), [(0, {"rights", "claims"}), (-1, set())])
def test_a_named_due_of_zero_takes_surplus_only_from_lower_queues(
    priority: int, want: set[str]
) -> None:
    s = snapshot(
        node("n1", 2),
        queue("zero", due=0),
        queue("b", due=0, priority=priority),
        Members("v", "b", on=["n1", "n1"]),
        Members("g", "zero", waiting=1),
    )

    assert broken(s, {"g0": "n1"}, "v1") == want


def test_a_gang_gives_its_elastic_members_first_and_its_minimum_only_whole() -> None:
    s = snapshot(
        node("n1", 4),
        queue("a", due=2),
        queue("b", due=2),
        Members("v", "a", on=["n1"] * 4, minimum=2),
        Members("g", "b", waiting=2, minimum=2),
    )

    assert against(s, {}) == {(2, "g", ("v2", "v3"))}
    assert against(s, {"g0": "n1", "g1": "n1"}, "v2", "v3") == set()
    assert against(s, {"g0": "n1", "g1": "n1"}, "v0", "v2") == set()  # counts, not identities
    assert broken(s, {"g0": "n1", "g1": "n1"}, "v0", "v1", "v2") == {"gang", "rights", "claims"}
    assert broken(s, {"g0": "n1", "g1": "n1"}, "v0", "v1", "v2", "v3") == {"rights", "claims"}


def test_no_more_single_pods_go_than_elastic_members_are_beyond() -> None:
    s = snapshot(
        node("n1", 4),
        queue("a", due=3),
        queue("b", due=3),
        Members("v", "a", on=["n1"] * 4, minimum=1),
        Members("g", "b", waiting=2, minimum=1),
    )

    # a holds one more than its due; e is 2, 2.
    assert broken(s, {"g0": "n1"}, "v0") == set()
    assert broken(s, {"g0": "n1", "g1": "n1"}, "v0", "v3") == {"rights", "claims"}


def test_what_is_due_is_claimed_from_anything_above_its_due() -> None:
    def world_of(due: int) -> Snapshot:
        return snapshot(
            *(node(n, 2) for n in ("n1", "n2", "n3")),
            queue("a", due=2),
            queue("b", due=due),
            *(Members(f"v{i}", "a", on=[f"n{i}"], created_s=i) for i in (1, 2, 3)),
            Members("w", "a", waiting=3, minimum=3, created_s=4),
            Members("g", "b", cpu=2, waiting=1),
        )

    s, less = world_of(2), world_of(1)

    # Fragmented: a's third is inside its entitlement of four, and beyond its due of two.
    assert Report(s, DEFAULT).entitlement("a")["cpu"] == 4000
    assert broken(s, {"g0": "n3"}, "v30") == set()
    assert broken(s, {"g0": "n2"}, "v20") == {"rights", "claims"}
    assert broken(less, {"g0": "n3"}, "v30") == {"rights", "claims"}
    assert against(s, {"w0": "n1", "w1": "n2", "w2": "n3"}) == {(2, "g", ("v3", "w"))}


@pytest.mark.parametrize(("gpus", "want"), [(0, {"rights", "claims"}), (1, set())])
def test_a_victim_is_beyond_on_something_that_both_ask_for(gpus: int, want: set[str]) -> None:
    due = {"cpu": 4000, GPU: 0}
    s = snapshot(
        node("n1", 4, 1),
        queue("a", deserved=due),
        queue("b", deserved={**due, GPU: 1000}),
        Members("v", "a", cpu=4, gpus=1, on=["n1"]),
        Members("g", "b", cpu=1, gpus=gpus, waiting=1),
    )

    assert broken(s, {"g0": "n1"}, "v0") == want


def test_a_group_asks_for_what_any_of_its_members_asks_for() -> None:
    def world_of(gpus: int) -> Snapshot:
        g = Members("g", "b", waiting=2)
        lead = PodSpec(Amounts(cores(1, gpus)))
        g.pods[1] = replace(g.pods[1], spec=lead)
        due = {"cpu": 1000, GPU: 0}
        return snapshot(
            node("n1", 2, 1),
            queue("a", deserved=due),
            queue("b", deserved=due, weight=0),
            Members("used", "b", cpu=0, gpus=1, on=["n1"]),
            Members("v", "a", on=["n1"] * 2, minimum=1),
            g,
        )

    # b is beyond its share of devices already, which stops a group that asks for some anywhere.
    assert broken(world_of(0), {"g0": "n1"}, "v1") == set()
    assert broken(world_of(1), {"g0": "n1"}, "v1") == {"rights", "claims"}


def test_a_group_does_not_start_and_lose_pods_in_one_plan() -> None:
    s = snapshot(
        node("n1", 2),
        node("n2", 2),
        queue("q"),
        Members("v", "q", on=["n1", "n1"], waiting=1, minimum=1),
        Members("g", "q", cpu=1, waiting=1, priority=1),
    )

    assert broken(s, {"g0": "n1"}, "v1") == set()
    assert broken(s, {"g0": "n1", "v2": "n2"}, "v1") == {"gang"}


def test_running_work_has_the_larger_of_the_priorities_and_starting_work_its_groups() -> None:
    s = snapshot(
        node("n1", 1),
        node("n2", 1),
        queue("q"),
        Members("runs", "q", on=["n1"], pod={"priority": 5}),
        Members("starts", "q", waiting=1, pod={"priority": 5}),
        Members("g", "q", waiting=1, priority=3),
    )

    assert against(s, {"starts0": "n2"}) == {(3, "g", ("starts",))}
    assert broken(s, {"g0": "n1"}, "runs0") == {"rights", "claims"}


def test_running_work_of_a_missing_queue_counts_nowhere_and_stays() -> None:
    s = snapshot(
        node("n1", 4),
        queue("q", due=1),
        Members("stray", "gone", on=["n1"] * 4),
        Members("g", "q", waiting=1, priority=9),
    )

    r = Report(s, DEFAULT)

    assert r.could_run == set()
    assert r.demand("q")["cpu"] == 0
    assert broken(s, {"g0": "n1"}, "stray0", "stray1", "stray2", "stray3") == {"rights", "claims"}


def test_running_work_of_an_inner_queue_is_its_own() -> None:
    s = snapshot(
        node("n1", 4),
        queue("p", due=2),
        queue("c", due=2, parent="p"),
        queue("other", due=2),
        Members("own", "p", on=["n1"] * 3, minimum=1),
        Members("child", "c", on=["n1"]),
        Members("inside", "c", waiting=1, priority=9),
        Members("outside", "other", waiting=2),
    )

    r = Report(s, DEFAULT)

    assert r.demand("p")["cpu"] == 4000
    assert [name for name, _, _ in r.row("p")] == ["x/own", "x/own1", "x/own2", "x/child"]
    assert broken(s, {"outside0": "n1", "outside1": "n1"}, "child0", "own2") == set()
    assert broken(s, {"inside0": "n1"}, "own2") == {"rights", "claims"}


def test_children_of_a_parent_inside_its_due_are_safe_from_its_siblings() -> None:
    s = snapshot(
        node("n1", 4),
        queue("p", due=4),
        queue("p1", due=1, parent="p"),
        queue("p2", due=3, parent="p"),
        queue("other", due=1),
        Members("v", "p1", on=["n1"] * 4),
        Members("outside", "other", waiting=1),
        Members("inside", "p2", waiting=1),
    )

    assert broken(s, {"outside0": "n1"}, "v3") == {"rights", "claims"}
    assert broken(s, {"inside0": "n1"}, "v3") == set()


def test_broken_gangs_are_completed_or_given_up_after_their_grace() -> None:
    def world_of(since: int) -> Snapshot:
        return snapshot(
            node("n1", 3),
            queue("q"),
            Members("g", "q", on=["n1"], waiting=1, minimum=2, broken_since_s=since),
            Members("h", "q", cpu=2, waiting=1, priority=5),
        )

    over, within = world_of(9000), world_of(9990)

    assert broken(over, {}) == {"gang"}
    assert against(over, {"h0": "n1"}, "g0") == {(1, "g", ("h",))}
    assert against(over, {"g1": "n1"}) == set()
    assert broken(within, {}) == set()
    assert broken(within, {}, "g0") == {"rights"}
    assert against(within, {"h0": "n1"}) == {(1, "g", ("h",))}


@pytest.mark.parametrize(("allowed", "gone"), [(2, "ab"), (1, "a"), (0, "")])
def test_groups_are_given_up_in_order_as_far_as_budgets_bear_it(allowed: int, gone: str) -> None:
    both = {"labels": {"app": "both"}}
    s = snapshot(
        node("n1", 5),
        queue("q"),
        Members("a", "q", on=["n1"], waiting=1, minimum=2, pod=both),
        Members("b", "q", on=["n1"], waiting=1, minimum=2, pod=both),
        Members("c", "q", on=["n1"], waiting=1, minimum=2, pod={"critical": True}),
        Members("v", "q", on=["n1"], pod=both),
        Members("g", "q", waiting=1, priority=1),
        budget("both", allowed),
    )

    for n in range(4):
        for some in combinations("abc", n):
            right = "".join(some) == gone
            assert (broken(s, {}, *(f"{name}0" for name in some)) == set()) is right
    given_up = [f"{name}0" for name in gone]
    assert ("budget" in broken(s, {"g0": "n1"}, "v0", *given_up)) is (allowed - len(gone) < 1)
    # One that is completed leaves its budget to the next.
    assert broken(s, {"a1": "n1"}, *(["b0"] if allowed else [])) == set()


# envy


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


# cost and search


def test_cost_counts_priorities_then_gangs_then_work_then_age() -> None:
    s = snapshot(
        node("n1", 9, 9),
        queue("q"),
        Members("a", "q", cpu=1, gpus=2, on=["n1"] * 2, minimum=2),
        Members("b", "q", cpu=2, on=["n1"], priority=1),
        Members("g", "q", cpu=6, waiting=1, priority=2),
    )

    gang = eviction_cost(s, DEFAULT, *plan_of({"g0": "n1"}, "a0", "a1"))
    single = eviction_cost(s, DEFAULT, *plan_of({"g0": "n1"}, "b0"))

    assert gang == (0, 0, 2, 1, 2 * 2000 * 50, 2 * 100)
    assert single == (1, 1, 0, 0, 2000 * 50, 100)  # it is in: g and b come to 8 of 9 cores


def test_cost_counts_first_who_would_be_in_once_everything_else_that_goes_is_gone() -> None:
    s = snapshot(
        node("n1", 4),
        queue("a", due=2),
        queue("b", due=2),
        Members("u", "a", on=["n1"], created_s=1),
        Members("v", "a", on=["n1"] * 3, minimum=1, created_s=2),
        Members("g", "b", waiting=2, minimum=1),
    )

    # Two of a are in. Without u, two of v are: only one of its elastic members is out.
    assert eviction_cost(s, DEFAULT, *plan_of({"g0": "n1", "g1": "n1"}, "v1", "v2"))[0] == 0
    assert eviction_cost(s, DEFAULT, *plan_of({"g0": "n1"}, "u0"))[0] == 1
    assert eviction_cost(s, DEFAULT, *plan_of({"g0": "n1", "g1": "n1"}, "u0", "v1", "v2"))[0] == 2


def test_optimum_takes_the_best_vector_and_then_the_cheapest_victims() -> None:
    s = snapshot(
        node("n1", 3),
        queue("q"),
        Members("low", "q", on=["n1"]),
        Members("mid", "q", on=["n1"], priority=1),
        Members("g", "q", waiting=3, minimum=1, priority=2),
        Members("h", "q", waiting=1),
    )
    g, h = GroupKey("x/g"), GroupKey("x/h")
    first = [{(g, "minimum"): 1}, {(h, "minimum"): 1, (g, "elastic"): 2}]

    found = optimum(s, DEFAULT, first)
    kept = optimum(s, DEFAULT, first, forced=[h])

    none = (0,) * 6
    work, ages = 2 * 1000 * 50, 2 * 100
    assert found is not None
    assert found[0] == (1, *none, 4, 0, -1, -1, 0, -work, -ages)
    assert kept is not None
    assert kept[0] == (1, *none, 3, -2, -1, -1, 0, -work, -ages)  # both would be in before h
    assert kept[1][1] == {"x/low0", "x/mid0"}


@pytest.mark.parametrize("has_right", [False, True])
def test_victims_are_priced_at_the_last_level_that_has_a_right_to_them(has_right: bool) -> None:
    s = snapshot(
        node("n1", 1),
        node("n2", 1),
        queue("q"),
        Members("low", "q", on=["n1"]),
        Members("g", "q", waiting=1, priority=2),
        Members("h", "q", waiting=1, priority=int(has_right)),
    )
    levels = [{(GroupKey("x/g"), "minimum"): 1}, {(GroupKey("x/h"), "minimum"): 1}]
    none, would_be_in = (0,) * 5, int(not has_right)
    minus = (-would_be_in, -1, 0, -1000 * 50, -100)

    found = optimum(s, DEFAULT, levels)
    moved = worth(s, DEFAULT, levels, *plan_of({"g0": "n1", "h0": "n2"}, "low0"))

    # Without a right of its own h would be bought with a victim of g.
    assert found is not None
    if has_right:
        assert found[0] == moved == (1, *none, 1, *minus)
    else:
        assert found == ((1, *none, 0, *none), plan_of({"g0": "n2"}))
        assert moved == (1, *minus, 1, *none)


def test_elastic_members_of_a_repaired_group_count_beyond_what_it_misses() -> None:
    s = snapshot(
        node("n1", 4),
        queue("q"),
        Members("g", "q", on=["n1"], waiting=3, minimum=2),
    )
    g = GroupKey("x/g")

    found = optimum(s, DEFAULT, [{(g, "minimum"): 5}, {(g, "elastic"): 3}])

    assert found is not None
    assert [x for x in found[0] if x] == [5, 6]


def test_an_enumeration_beyond_its_limit_says_so() -> None:
    s = snapshot(node("n1", 9), node("n2", 9), queue("q"), Members("g", "q", waiting=9))

    with pytest.raises(Oversize):
        list(plans(s, DEFAULT, limit=20))


@pytest.mark.parametrize("seed", range(12))
def test_plans_are_what_violations_lets_pass(seed: int) -> None:
    s = world(seed, "tiny")
    c = standing_of(s, DEFAULT).cluster
    waiting = [p.key for p in s.pods if p.state is PodState.PENDING]
    running = [p.key for p in s.pods if p.state is PodState.RUNNING and p.ours]
    where: list[NodeName | None] = [None, *(n.name for n in s.nodes)]

    def form(places: Any, evicted: Any) -> object:
        started = sorted((c.kind[c.pod_index[p]], n) for p, n in places.items())
        return tuple(started), tuple(sorted(c.kind[c.pod_index[p]] for p in evicted))

    want = set()
    for at in product(where, repeat=len(waiting)):
        places = {p: n for p, n in zip(waiting, at, strict=True) if n}
        for bits in product((False, True), repeat=len(running)):
            evicted = frozenset(p for p, gone in zip(running, bits, strict=True) if gone)
            if not violations(s, DEFAULT, places, evicted):
                want.add(form(places, evicted))
    got = [form(*plan) for plan in plans(s, DEFAULT)]

    assert len(got) == len(set(got))
    assert set(got) == want


@pytest.mark.parametrize("seed", range(20))
def test_worlds_have_a_plan_that_nobody_objects_to(seed: int) -> None:
    s = world(seed, "small")

    plan = clean_plan(s, DEFAULT)

    assert plan is not None
    assert not violations(s, DEFAULT, *plan)
    assert not objections(s, DEFAULT, *plan)


def test_worlds_repeat() -> None:
    assert world(3, "small").digest == world(3, "small").digest
