"""What only confirms a plan makes no other one; anything else does."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from msgspec.structs import replace

from apportion.adapters.live.confirmed import confirms
from apportion.models import NodeName, PodKey, PodState, Snapshot
from oracle.build import NOW, Members, budget, node, queue, snapshot

BEFORE = snapshot(
    node("n1", 4),
    node("n2", 4),
    queue("q"),
    budget("g", 0),
    Members("g", "q", on=["n1"], pod={"ready": False, "started_s": None}),
    Members("w", "q", waiting=2),
)
PLACES = {PodKey("x/w0"): NodeName("n1"), PodKey("x/w1"): NodeName("n2")}


def with_pods(of: Snapshot, key: str, **fields: Any) -> Snapshot:
    pods = tuple(replace(p, **fields) if p.key == key else p for p in of.pods)
    return replace(of, pods=pods)


def bound(places: Mapping[PodKey, NodeName] = PLACES) -> Snapshot:
    """Return the cluster a second later, with the pods where they were bound."""
    now = replace(BEFORE, taken_at_s=NOW + 1, budgets=())
    for key, at in places.items():
        now = with_pods(now, key, state=PodState.RUNNING, node=at, started_s=NOW + 1)
    return now


def test_pods_that_run_where_they_were_bound_confirm_the_plan() -> None:
    assert confirms(BEFORE, bound(), PLACES)
    assert confirms(bound(), with_pods(bound(), "x/w0", ready=False, protected_until_s=5), {})


def let_in(of: Snapshot, name: str) -> Snapshot:
    groups = (replace(g, admitted=True) if g.name == name else g for g in of.groups)
    return replace(of, groups=tuple(groups))


def test_a_status_that_follows_from_the_binds_confirms_the_plan() -> None:
    assert confirms(BEFORE, let_in(bound(), "w"), PLACES)


def test_a_group_without_pods_that_is_let_in_has_to_be_planned() -> None:
    empty = Members("e", "q")
    before = snapshot(node("n1", 4), queue("q"), empty)

    assert not confirms(before, let_in(before, "e"), {})
    assert confirms(before, before, {})


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda s: with_pods(s, "x/g0", labels={"app": "h"}), id="a label"),
        pytest.param(lambda s: with_pods(s, "x/g0", state=PodState.TERMINATING), id="it leaves"),
        pytest.param(lambda s: with_pods(s, "x/g0", state=PodState.SUCCEEDED), id="it has ended"),
        pytest.param(lambda s: with_pods(s, "x/w0", node=NodeName("n2")), id="another node"),
        pytest.param(lambda s: with_pods(s, "x/w0", uid="other"), id="another pod"),
        pytest.param(
            lambda s: with_pods(s, "x/w0", state=PodState.PENDING, node=None), id="it waits"
        ),
        pytest.param(lambda s: replace(s, pods=s.pods[1:]), id="it is gone"),
        pytest.param(lambda s: replace(s, groups=s.groups[1:]), id="its group is gone"),
        pytest.param(
            lambda s: replace(s, groups=(replace(s.groups[0], priority=3), *s.groups[1:])),
            id="its group has changed",
        ),
        pytest.param(lambda s: replace(s, nodes=s.nodes[:1]), id="a node is gone"),
        pytest.param(lambda s: replace(s, queues=()), id="a queue is gone"),
    ],
)
def test_anything_else_has_to_be_planned(change: Callable[[Snapshot], Snapshot]) -> None:
    assert not confirms(BEFORE, change(bound()), PLACES)


def test_pods_that_were_not_bound_by_the_plan_have_to_be_planned() -> None:
    assert not confirms(BEFORE, bound(), {PodKey("x/w0"): NodeName("n1")})
