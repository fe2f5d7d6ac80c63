"""One cycle on: what was bound runs, what was evicted waits anew, what was leaving is gone."""

from typing import Any

from msgspec.structs import replace

from apportion.models import (
    AllocatedDevice,
    Allocation,
    Amounts,
    Budget,
    CellShare,
    Claim,
    ClaimSpec,
    DeviceRequest,
    NodeName,
    PodClaim,
    PodKey,
    PodState,
    Snapshot,
)
from apportion.models.advance import CYCLE_S, advance
from apportion.models.budget import disruptions_allowed
from oracle.build import NOW, Members, budget, foreign, node, only, queue, snapshot


def cluster() -> Snapshot:
    return snapshot(
        node("n1", 4),
        queue("q"),
        Members("run", "q", on=["n1"]),
        Members("g", "q", waiting=2),
        foreign("leaving", 1, "n1", PodState.TERMINATING),
        foreign("stays", 1, "n1"),
        budget("run", 1),
        nominations={"g0": "n1"},
    )


def test_what_is_bound_runs_and_what_leaves_is_gone() -> None:
    after = advance(cluster(), {PodKey("x/g0"): NodeName("n1")}, ())
    pods = after.pods_by_key

    assert after.taken_at_s == NOW + CYCLE_S
    bound = pods[PodKey("x/g0")]
    assert (bound.state, bound.node, bound.started_s) == ("running", "n1", NOW + CYCLE_S)
    assert pods[PodKey("x/g1")].state == "pending"
    assert PodKey("sys/leaving") not in pods
    assert pods[PodKey("sys/stays")].state == "running"
    assert after.nominations == ()


def test_who_was_evicted_comes_back_under_its_name_and_at_its_groups_age() -> None:
    before = cluster()

    after = advance(before, {}, [PodKey("x/run0")])
    pod = after.pods_by_key[PodKey("x/run0")]

    assert (pod.state, pod.node, pod.started_s) == ("pending", None, None)
    assert pod.created_s == NOW + CYCLE_S
    assert after.group(pod.group or before.groups[0].key).created_s == before.groups[0].created_s


def test_who_was_evicted_holds_nothing_any_more() -> None:
    before = cluster()
    held = {"devices": (0,), "cells": (CellShare(1, Amounts({"cpu": 1000})),), "claimed": ("d",)}
    pods = tuple(replace(p, **held) if p.name == "run0" else p for p in before.pods)

    pod = advance(replace(before, pods=pods), {}, [PodKey("x/run0")]).pods_by_key[PodKey("x/run0")]

    assert (pod.devices, pod.cells, pod.claimed) == ((), (), ())


def test_promises_are_carried_over_and_old_ones_forgotten() -> None:
    after = advance(cluster(), {}, (), {PodKey("x/g1"): NodeName("n1")})

    assert after.nominations == (("x/g1", "n1"),)
    assert after.pods_by_key[PodKey("x/g1")].nominated == "n1"
    assert after.pods_by_key[PodKey("x/g0")].nominated is None


def test_budgets_are_computed_anew() -> None:
    three = Members("web", "q", on=["n1"] * 3)
    pods = three.pods

    def allowed(**rule: Any) -> int:
        return disruptions_allowed(Budget("x", "b", only("web"), 0, **rule), pods)

    assert allowed(min_available=2) == 1
    assert allowed(min_available=5) == 0
    assert allowed(min_available_percent=50) == 1, "half of three is two"
    assert allowed(max_unavailable=2) == 2
    assert allowed(max_unavailable_percent=50) == 2
    assert allowed(max_unavailable=1, expected=4) == 0, "one is missing already"
    assert disruptions_allowed(Budget("y", "b", only("web"), 0, min_available=0), pods) == 0
    assert disruptions_allowed(Budget("x", "b", None, 0, min_available=0), pods) == 0


def test_nothing_done_changes_nothing_but_time_and_what_was_leaving() -> None:
    before = cluster()

    after = advance(before, {}, ())

    assert after.groups == before.groups
    assert len(after.pods) == len(before.pods) - 1
    assert advance(after, {}, ()).pods == after.pods


def claimed(*claims: PodClaim, on: list[str], waiting: int) -> Snapshot:
    made = snapshot(
        node("n1", 4), queue("q"),
        Members("g", "q", on=on, waiting=waiting, spec={"claims": claims}),
    )  # fmt: skip
    return replace(made, claims=(Claim("x", "s", SPEC),))


SPEC = ClaimSpec(((DeviceRequest("r", "gpu"),),))
OWN, SHARED = PodClaim("own", "", SPEC), PodClaim("ours", "x/s")


def given(claim: str, device: str) -> Allocation:
    devices = (AllocatedDevice("r", "d.example.com", "n1", device),)
    return Allocation(PodKey("x/g0"), claim, "", NodeName("n1"), devices)


def test_claims_have_their_devices_while_a_pod_has_them() -> None:
    before = claimed(OWN, SHARED, on=[], waiting=1)
    bound = {PodKey("x/g0"): NodeName("n1")}

    running = advance(before, bound, (), allocations=[given("own", "a"), given("ours", "b")])

    assert running.pods_by_key[PodKey("x/g0")].claimed == ("d.example.com/n1/a",)
    [claim] = running.claims
    assert (claim.allocated, claim.devices) == (True, ("d.example.com/n1/b",))
    assert claim.nodes is not None
    assert claim.nodes[0].matches({}, "n1")

    after = advance(running, {}, [PodKey("x/g0")])

    assert after.pods_by_key[PodKey("x/g0")].claimed == ()
    assert after.claims == before.claims


def test_a_promise_gives_no_devices_yet() -> None:
    before = claimed(OWN, on=[], waiting=1)

    after = advance(
        before, {}, (), {PodKey("x/g0"): NodeName("n1")}, (), allocations=[given("own", "a")]
    )

    assert after.pods_by_key[PodKey("x/g0")].claimed == ()
