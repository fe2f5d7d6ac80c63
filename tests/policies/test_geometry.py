"""Advice on new MIG geometry: for whom, on which nodes, and when there is none."""

from typing import Any

from apportion.models import Amounts, Config, Plan, PodSpec
from apportion.models import Node as NodeValue
from apportion.policies.geometry import new_geometries
from apportion.policies.testing import after as outcome_of

from .builders import Members, but, node, queue, replace, snapshot
from .conftest import Solve

MIG = "nvidia.com/mig-"
ASKED = {"devices": {"new_geometry": True}}


def card(
    name: str, gpus: int = 1, slices: dict[str, int] | None = None, **labels: Any
) -> NodeValue:
    """Return a node of A100s with these slices."""
    made = node(name, 40)
    offers = {MIG + p: n * 1000 for p, n in (slices or {}).items()}
    of = {
        "nvidia.com/mig.strategy": "mixed", "nvidia.com/gpu.product": "NVIDIA-A100-SXM4-40GB",
        "nvidia.com/gpu.count": str(gpus), **labels,
    }  # fmt: skip
    return replace(made, allocatable=made.allocatable.plus(offers), labels=of)


def asking(name: str, profile: str, each: int = 1, **more: Any) -> Members:
    """Return a group whose pods ask for slices of a profile."""
    made = Members(name, "q", **more)
    spec = PodSpec(Amounts({"cpu": 1000, MIG + profile: each * 1000}))
    return but(made, *range(len(made.pods)), spec=spec)


def advice(plan: Plan) -> list[tuple[str, int, list[str], list[str]]]:
    return [
        (g.node, g.device, [p for p, _ in g.slices], [k.removeprefix("x/") for k in g.groups])
        for g in plan.geometries
    ]


def test_an_idle_gpu_is_cut_for_what_waits(solve: Solve) -> None:
    w = snapshot(
        queue("q"), card("n", slices={"1g.5gb": 7}), asking("a", "3g.20gb", waiting=2, minimum=2)
    )

    made = solve(w, options=ASKED)

    assert made.binds == ()
    assert advice(made) == [("n", 0, ["3g.20gb", "3g.20gb"], ["a"])]
    assert made.geometries[0].slices == (("3g.20gb", 0), ("3g.20gb", 4))


def test_nothing_is_said_unless_it_is_asked_for(solve: Solve) -> None:
    w = snapshot(queue("q"), card("n", slices={"1g.5gb": 7}), asking("a", "3g.20gb", waiting=1))

    assert solve(w).geometries == ()


def test_nodes_in_use_are_left_as_they_are(solve: Solve) -> None:
    busy = asking("r", "1g.5gb", on=["n"])
    w = snapshot(
        queue("q"), card("n", slices={"1g.5gb": 7}), busy, asking("a", "3g.20gb", waiting=1)
    )

    assert solve(w, options=ASKED).geometries == ()


def test_a_gang_is_served_whole_or_not_at_all(solve: Solve) -> None:
    w = snapshot(
        queue("q"), card("n", 2), asking("a", "7g.40gb", waiting=3, minimum=3, priority=5),
        asking("b", "4g.20gb", waiting=1, minimum=1),
    )  # fmt: skip

    assert advice(solve(w, options=ASKED)) == [("n", 0, ["4g.20gb"], ["b"])]


def test_other_wants_and_limits_count(solve: Solve) -> None:
    mig = MIG + "1g.5gb"
    tight = queue("q", capability={mig: 3000})
    w = snapshot(
        tight, card("n"), *(asking(f"a{i}", "1g.5gb", waiting=1, priority=9 - i) for i in range(5))
    )

    (one,) = advice(solve(w, options=ASKED))

    assert one[2] == ["1g.5gb"] * 3
    assert one[3] == ["a0", "a1", "a2"]


def test_unknown_products_and_other_strategies_are_passed_over(solve: Solve) -> None:
    odd = card("odd", 1, None, **{"nvidia.com/gpu.product": "Tesla-T4"})
    single = card("single", 1, None, **{"nvidia.com/mig.strategy": "single"})
    w = snapshot(queue("q"), odd, single, asking("a", "1g.5gb", waiting=1))

    assert solve(w, options=ASKED).geometries == ()


def test_what_starts_needs_no_advice() -> None:
    w = snapshot(queue("q"), card("n", slices={"1g.5gb": 1}), asking("a", "1g.5gb", waiting=1))
    outcome = outcome_of(w, {"x/a0": "n"}, config=Config(options=ASKED))

    assert list(new_geometries(outcome)) == []
