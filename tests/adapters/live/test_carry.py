"""What becomes of a plan when the cluster agrees, and when it does not."""

import asyncio
from typing import Any

import pytest
from msgspec.structs import replace

from apportion.adapters.live.access import IN_FLIGHT, LostError, RefusedError
from apportion.adapters.live.assumed import Bound
from apportion.adapters.live.binder import TRIES
from apportion.adapters.live.guarded import DeposedError
from apportion.models import (
    Claim,
    ClaimSpec,
    DeviceRequest,
    GroupKey,
    NodeName,
    PodClaim,
    PodKey,
    PodState,
    PodTerm,
    PoolDevice,
)
from oracle.build import Members, budget, foreign, node, only, queue, snapshot

from .worlds import Bench, changed, failing, planned

NODES = (node("n1", 2), node("n2", 2))


def gang(n: int = 4) -> Members:
    return Members("g", "q", waiting=n, minimum=n, priority=5)


def full_of(app: str) -> Members:
    return Members(app, "q", on=["n1", "n1", "n2", "n2"])


def test_every_member_of_a_gang_is_bound_with_uid_and_version() -> None:
    bench = Bench(snapshot(*NODES, queue("q"), gang()))

    done = bench.carry()

    assert sorted(done.bound) == ["x/g0", "x/g1", "x/g2", "x/g3"]
    assert sorted(bench.cluster.places.values()) == ["n1", "n1", "n2", "n2"]
    body = bench.cluster.requests[0].body
    assert body["metadata"]["resourceVersion"] == "1"
    assert body["metadata"]["uid"].startswith("uid-x/g")


def test_binds_count_until_the_watch_tells_of_them() -> None:
    bench = Bench(snapshot(*NODES, queue("q"), gang()))
    bench.cluster.deaf = True

    bench.carry()
    unseen = bench.cluster.snapshot(0)
    over = bench.assumed.over(unseen)

    assert all(p.state is PodState.PENDING for p in unseen.pods)
    assert all(p.state is PodState.RUNNING for p in over.pods)
    assert not planned(over).binds
    bench.cluster.hear()
    assert bench.assumed.over(bench.cluster.snapshot(0)) == bench.cluster.snapshot(0)
    assert bench.assumed.is_empty


def test_a_bind_that_is_refused_for_good_frees_its_place_and_holds_the_group_back() -> None:
    forbidden = failing("bind", lambda: RefusedError(403, "Forbidden", "by policy"), "x/g1")
    bench = Bench(snapshot(*NODES, queue("q"), gang()), forbidden)

    done = bench.carry()

    assert sorted(done.bound) == ["x/g0", "x/g2", "x/g3"]
    assert "by policy" in done.refused[GroupKey("x/g")]
    assert "3 bound, 1 refused of 4 members" in done.refused[GroupKey("x/g")]
    assert PodKey("x/g1") not in bench.assumed.bound
    assert list(bench.backoff.held(0.5)) == ["x/g"]
    assert not bench.backoff.held(1.5)


def test_a_busy_server_is_asked_again_as_late_as_it_wishes() -> None:
    busy = failing("bind", lambda: RefusedError(429, "", "slow", 7.0), "x/g1", times=2)
    bench = Bench(snapshot(*NODES, queue("q"), gang()), busy)

    done = bench.carry()

    assert len(done.bound) == 4
    assert bench.slept == [7.0, 7.0]
    assert not done.refused


def test_a_server_that_stays_busy_is_left_alone_after_some_tries() -> None:
    busy = failing("bind", lambda: RefusedError(500, "InternalError"), "x/g1")
    bench = Bench(snapshot(*NODES, queue("q"), gang()), busy)

    done = bench.carry()

    assert bench.cluster.asked("bind").count("x/g1") == TRIES
    assert "1 busy" in done.refused[GroupKey("x/g")]


def test_a_bind_whose_answer_was_lost_is_looked_up_and_not_sent_twice() -> None:
    lost = failing("bind", lambda: LostError("reset"), "x/g1", times=1)
    bench = Bench(snapshot(*NODES, queue("q"), gang()), lost)

    done = bench.carry()

    assert len(done.bound) == 4
    assert bench.cluster.asked("bind").count("x/g1") == 1
    assert bench.cluster.asked("get") == ["x/g1"]


def test_a_bind_of_which_nothing_is_known_stays_assumed() -> None:
    def script(request: object) -> Exception | None:
        verb, pod = str(request).split()
        return LostError("down") if pod == "x/g1" and verb in ("bind", "get") else None

    bench = Bench(snapshot(*NODES, queue("q"), gang()), script)
    bench.cluster.deaf = True

    done = bench.carry()

    assert PodKey("x/g1") in bench.assumed.bound
    assert PodKey("x/g1") not in done.bound


def test_a_pod_bound_by_somebody_else_is_refused_once_and_not_tried_again() -> None:
    def script(request: object) -> Exception | None:
        if str(request) == "bind x/g1":
            other = bench.cluster.pod("x/g1")
            if other.node is None:
                changed(bench.cluster, "x/g1", state=PodState.RUNNING, node="n2")
        return None

    bench = Bench(snapshot(node("n1", 4), node("n2", 0), queue("q"), gang()))
    bench.cluster._script = script

    done = bench.carry()

    assert "1 refused" in done.refused[GroupKey("x/g")]
    assert bench.cluster.asked("bind").count("x/g1") == 1


@pytest.mark.parametrize(
    ("change", "want"),
    [
        (lambda c: c.delete("x/g1"), "pod x/g1 is gone"),
        (lambda c: changed(c, "x/g1", uid="another"), "pod x/g1 is another one"),
        (lambda c: changed(c, "x/g1", labels={"app": "else"}), "pod x/g1 has changed"),
        (lambda c: changed(c, "x/g1", state=PodState.GATED), "pod x/g1 is gated"),
    ],
)
def test_a_gang_is_not_bound_when_a_member_is_not_what_it_was(change: object, want: str) -> None:
    bench = Bench(snapshot(*NODES, queue("q"), gang()))
    change(bench.cluster)  # type: ignore[operator]

    done = bench.carry()

    assert done.stale == {"x/g": want}
    assert not bench.cluster.asked("bind")
    assert bench.assumed.is_empty


def test_a_node_that_somebody_else_has_filled_takes_nobody_of_the_plan() -> None:
    single = Members("s", "q", waiting=1)
    bench = Bench(snapshot(node("n1", 2), queue("q"), single))
    bench.cluster.put(foreign("f", 2, "n1"))

    done = bench.carry()

    assert done.stale == {"x/s": "node n1 has no room left in cpu"}


def test_a_node_with_room_for_both_takes_both() -> None:
    single = Members("s", "q", waiting=1)
    bench = Bench(snapshot(node("n1", 3), queue("q"), single))
    bench.cluster.put(foreign("f", 2, "n1"))

    done = bench.carry()

    assert done.bound == ["x/s0"]


@pytest.mark.parametrize("who", ["the pod", "the newcomer"])
def test_a_newcomer_that_may_not_lie_beside_a_pod_keeps_it_from_being_bound(who: str) -> None:
    def apart_from(app: str) -> dict[str, Any]:
        return {"anti_affinity": (PodTerm("zone", only(app), None),)}

    single = Members("s", "q", waiting=1, spec=apart_from("f") if who == "the pod" else {})
    nodes = [node(n, 4, labels={"zone": "z"}) for n in ("n1", "n2")]
    bench = Bench(snapshot(*nodes, queue("q"), single))
    elsewhere = "n2" if bench.plan.binds[0].node == "n1" else "n1"
    spec = apart_from("s") if who == "the newcomer" else {}
    bench.cluster.put(replace(foreign("f", 1, elsewhere, **spec), labels={"app": "f"}))

    done = bench.carry()

    why = "pod sys/f has come in between, and pod x/s0 may not lie beside it"
    assert done.stale == {"x/s": why}


def test_victims_are_tried_first_and_then_evicted_and_the_place_is_promised() -> None:
    bench = Bench(snapshot(*NODES, queue("q"), full_of("v"), gang()))

    done = bench.carry()

    assert len(done.evicted) == 4
    verbs = [r.verb for r in bench.cluster.requests]
    assert verbs.index("evict") > max(i for i, v in enumerate(verbs) if v == "try")
    assert bench.cluster.asked("status") == ["x/g0", "x/g1", "x/g2", "x/g3"]
    assert not done.bound
    over = bench.assumed.over(bench.cluster.snapshot(0))
    assert {p.nominated for p in over.pods if p.group == "x/g"} == {"n1", "n2"}


def test_one_victim_that_is_refused_when_tried_saves_all_of_its_set() -> None:
    no = failing("try", lambda: RefusedError(429, "TooManyRequests", "budget"), "x/v2")
    bench = Bench(snapshot(*NODES, queue("q"), full_of("v"), gang()), no)

    done = bench.carry()

    assert not bench.cluster.asked("evict")
    assert not bench.cluster.asked("status")
    assert "evicting pod x/v2" in done.refused[GroupKey("x/g")]
    assert not done.evicted


def test_a_victim_that_is_refused_in_earnest_stops_the_rest() -> None:
    no = failing("evict", lambda: RefusedError(429, "TooManyRequests", "budget"), "x/v0")
    bench = Bench(snapshot(*NODES, queue("q"), full_of("v"), gang()), no)

    done = bench.carry()

    assert "x/v0" not in done.evicted
    assert GroupKey("x/g") in done.refused
    assert not bench.cluster.asked("status")
    assert all(bench.cluster.pod(k).state is PodState.TERMINATING for k in done.evicted)


def test_a_victim_that_is_gone_already_is_no_refusal() -> None:
    bench = Bench(snapshot(*NODES, queue("q"), full_of("v"), gang()))
    bench.cluster.deaf = True
    bench.cluster.delete("x/v0")

    done = bench.carry()

    assert not done.refused
    assert len(done.evicted) == 4


def test_sets_without_a_common_victim_or_beneficiary_do_not_share_their_fate() -> None:
    no = failing("try", lambda: RefusedError(429, "TooManyRequests", "budget"), "x/v0")
    world = snapshot(
        node("n1", 1, labels={"at": "1"}), node("n2", 1, labels={"at": "2"}), queue("q"),
        Members("v", "q", on=["n1"]), Members("w", "q", on=["n2"]),
        Members("a", "q", waiting=1, priority=5, spec={"node_selector": (("at", "1"),)}),
        Members("b", "q", waiting=1, priority=5, spec={"node_selector": (("at", "2"),)}),
    )  # fmt: skip
    bench = Bench(world, no)

    done = bench.carry()

    assert done.evicted == ["x/w0"]
    assert list(done.refused) == ["x/a"]
    assert bench.cluster.asked("status") == ["x/b0"]


def test_a_promise_that_the_plan_no_longer_makes_is_taken_back() -> None:
    waiting = Members("s", "q", cpu=4, waiting=1, pod={"nominated": "n1"})
    world = snapshot(*NODES, queue("q"), waiting, budget("s", 0))
    bench = Bench(world)

    bench.carry()

    assert bench.cluster.pod("x/s0").nominated is None


def test_who_leads_no_longer_writes_nothing() -> None:
    bench = Bench(snapshot(*NODES, queue("q"), gang()))
    bench.leads = False

    with pytest.raises(DeposedError):
        bench.carry()

    assert not bench.cluster.requests
    assert bench.assumed.is_empty


def test_who_is_deposed_among_many_binds_sends_no_more() -> None:
    many = Members("s", "q", waiting=IN_FLIGHT + 6)
    bench = Bench(snapshot(node("n1", 100, pods=100), queue("q"), many))
    original = bench.cluster.send

    async def send(*args: Any, **kw: Any) -> bytes:
        answer = await original(*args, **kw)
        bench.leads = False
        return answer

    bench.cluster.send = send  # type: ignore[method-assign]

    with pytest.raises(DeposedError):
        bench.carry()

    assert len(bench.cluster.asked("bind")) == IN_FLIGHT
    assert bench.assumed.is_empty


def test_a_pod_that_is_only_assumed_to_be_bound_is_never_evicted() -> None:
    """Evicting it would delete it: its volumes are still being made, say."""
    bench = Bench(snapshot(*NODES, queue("q"), full_of("v"), gang()))
    changed(bench.cluster, "x/v1", state=PodState.PENDING, node=None)
    bench.assumed.bound[PodKey("x/v1")] = Bound(bench.cluster.pod("x/v1").uid, NodeName("n1"))

    done = bench.carry()

    assert not bench.cluster.asked("try")
    assert not done.evicted


def test_a_pod_that_is_only_assumed_to_be_bound_is_no_victim() -> None:
    low = Members("v", "q", waiting=4)
    world = snapshot(*NODES, queue("q"), low, gang())
    bench = Bench(world)
    for i, pod in enumerate(world.pods_by_group[GroupKey("x/v")]):
        uid = bench.cluster.pod(pod.key).uid
        bench.assumed.bound[pod.key] = Bound(uid, NodeName(f"n{i % 2 + 1}"))

    made = planned(bench.look())

    assert not made.evictions
    assert not made.places


def test_groups_are_bound_side_by_side() -> None:
    """A slow member of one group keeps nobody of another from being bound."""
    bench = Bench(snapshot(*NODES, queue("q"), gang(2), Members("h", "q", waiting=2)))
    blocked = asyncio.Event()
    original = bench.cluster.send

    async def send(method: str, path: str, *args: object, **kw: object) -> bytes:
        if "/g0/" in path:
            await blocked.wait()
        answer = await original(method, path, *args, **kw)  # type: ignore[arg-type]
        if len(bench.cluster.places) == 3:
            blocked.set()
        return answer

    bench.cluster.send = send  # type: ignore[method-assign]

    assert len(bench.carry().bound) == 4


def test_devices_that_a_claim_gets_are_in_use_before_its_pod_is_seen_to_run() -> None:
    gpu = PoolDevice("gpu.example.com/n1/gpu-0", ("gpu",))
    claim = PodClaim("gpus", spec=ClaimSpec(((DeviceRequest("gpu", "gpu"),),)))
    host = node("n1", 2, pool_devices=(gpu,))
    bench = Bench(
        snapshot(host, queue("q"), Members("p", "q", waiting=1, spec={"claims": (claim,)}))
    )
    bench.cluster.deaf = True

    bench.carry()

    assert bench.assumed.bound[PodKey("x/p0")].claimed == (gpu.id,)


def test_a_shared_claim_has_its_devices_before_it_is_seen_to_have_them() -> None:
    gpu = PoolDevice("gpu.example.com/n1/gpu-0", ("gpu",))
    spec = ClaimSpec(((DeviceRequest("gpu", "gpu"),),))
    host = node("n1", 4, pool_devices=(gpu,))
    both = Members("p", "q", waiting=2, spec={"claims": (PodClaim("gpus", "x/c"),)})
    world = snapshot(host, queue("q"), both)
    bench = Bench(replace(world, claims=(Claim("x", "c", spec),)))
    bench.cluster.deaf = True

    bench.carry()
    over = bench.assumed.over(bench.cluster.snapshot(0))

    claim = over.claims_by_key["x/c"]
    assert (claim.allocated, claim.devices) == (True, (gpu.id,))
    assert claim.nodes is not None
    assert [t.matches({}, "n1") for t in claim.nodes] == [True]
