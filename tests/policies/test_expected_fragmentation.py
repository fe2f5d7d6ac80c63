"""Expected fragmentation: measured by hand, and against the cost that the solver is told."""

from random import Random
from typing import Any

import pytest

from apportion.models import Config, ExpectedPod, Snapshot, TierSettings
from apportion.policies.expected_fragmentation import ExpectedFragmentation
from apportion.policies.expected_mix import mix_of
from apportion.policies.outcome import Outcome
from apportion.policies.registry import rules_for
from apportion.policies.scene import Scene
from apportion.solver.process import SolverProcess
from oracle.share_worlds import sharing
from oracle.worlds import settings

from .agreement import Told, legal_plans
from .builders import Members, after, node, placed, queue, replace, scene, snapshot
from .conftest import Solve
from .test_agreement import constraints, together
from .test_devices import at, cards, share, world

GOAL = ExpectedFragmentation()


def mixed(*kinds: ExpectedPod) -> Config:
    return Config(tiers=TierSettings(packing="expected-fragmentation", mix=kinds))


def measured(w: Snapshot, starts: str, *kinds: ExpectedPod) -> int:
    return GOAL.measure(after(w, starts, config=mixed(*kinds)))


WHOLE = ExpectedPod(weight=1, gpu_milli=1000)
HALF = ExpectedPod(weight=1, gpu_milli=500)
PAIR = ExpectedPod(weight=1, gpu_milli=2000)


@pytest.mark.parametrize(
    ("starts", "kinds", "want"),
    [
        ("", (WHOLE,), 0),
        # 400 of one device are left: of no use to a whole pod, the other device is.
        ("a0@n", (WHOLE,), 400 * 1000),
        ("a0@n", (HALF,), 400 * 1000),
        ("b0@n", (HALF,), 0),
        ("b0@n", (WHOLE,), 700 * 1000),
        # A pair finds one idle device only: all that is idle is lost to it.
        ("b0@n", (PAIR,), 1700 * 1000),
        ("a0@n b0@n", (HALF,), 100 * 1000),
        # Half of what is expected are whole ones, half are halves.
        ("a0@n", (WHOLE, HALF), 400 * 500 * 2),
        ("b0@n", (replace(WHOLE, weight=3), HALF), 700 * 750),
    ],
)
def test_what_is_left_is_measured_by_what_is_expected(
    starts: str, kinds: tuple[ExpectedPod, ...], want: int
) -> None:
    w = world(cards("n", 2), share("a", 60, waiting=1), share("b", 30, waiting=1))

    assert measured(w, starts, *kinds) == want


def test_where_a_kind_does_not_fit_all_that_is_idle_is_lost() -> None:
    w = world(
        cards("n", 2), Members("c", "q", cpu=38, waiting=1), Members("w", "q", gpus=1, waiting=1)
    )
    hungry = replace(WHOLE, cpu_milli=3000)

    assert measured(w, "", hungry) == 0
    assert measured(w, "c0@n", hungry) == 2000 * 1000


def test_nodes_without_devices_by_index_count_their_whole_gpus() -> None:
    w = snapshot(queue("q"), node("n", 8, 4), Members("w", "q", gpus=1, waiting=1))

    assert measured(w, "w0@n", replace(WHOLE, gpu_milli=4000)) == 3000 * 1000
    assert measured(w, "w0@n", PAIR) == 0


def test_the_mix_is_what_waits_and_what_came_lately() -> None:
    w = world(
        cards("n", 4), share("a", 60, waiting=3), Members("w", "q", gpus=1, waiting=1),
        share("old", 20, on=["n"]), Members("c", "q", cpu=1, waiting=9),
    )  # fmt: skip
    newest = max(p.created_s for p in w.pods)
    late = replace(w, taken_at_s=newest + 90_000)

    def seen(s: Snapshot) -> list[tuple[int, int, int]]:
        return [(m.weight, m.devices, m.milli) for m in mix_of(scene(s))]

    assert seen(late) == [(750, 1, 600), (250, 1, 1000)]
    assert (200, 1, 200) in seen(w)


def test_no_pod_with_gpus_no_fragment() -> None:
    w = world(cards("n", 2), Members("c", "q", cpu=1, waiting=1))

    assert GOAL.measure(after(w, "c0@n")) == 0


def packed(solve: Solve, w: Snapshot, *kinds: ExpectedPod) -> Any:
    return solve(w, tiers=TierSettings(packing="expected-fragmentation", mix=kinds))


def test_a_share_goes_where_the_rest_is_of_use(solve: Solve) -> None:
    # On x a 30 is left beside it, which a 30 could use; on y 10, which nobody could.
    w = world(
        cards("x", 1), cards("y", 1), at(share("r", 20, on=["x"]), 0),
        at(share("s", 40, on=["y"]), 0), share("a", 50, waiting=1),
    )  # fmt: skip

    made = packed(solve, w, ExpectedPod(1, 300))

    assert placed(made) == {"q/a0": "x"} or placed(made) == {"a0": "x"}
    tier = made.objective[-1]
    assert (tier.name, tier.value, tier.bound) == ("expected-fragmentation", 0, 0)


def test_a_whole_pod_leaves_the_pair_together(solve: Solve) -> None:
    w = snapshot(queue("q"), node("x", 8, 2), node("y", 8, 3), Members("w", "q", gpus=1, waiting=1))

    made = packed(solve, w, PAIR)

    assert list(placed(made).values()) == ["y"]
    assert made.objective[-1].value == made.objective[-1].bound == 0


def test_the_cost_is_never_above_the_measure_and_mostly_the_same(process: SolverProcess) -> None:
    same = n = 0
    for seed in range(60):
        config = replace(settings(seed), tiers=TierSettings(packing="expected-fragmentation"))
        here = Scene(sharing(seed, "tiny"), config, rules_for(config))
        every = together(here, tuple(constraints(here)))
        told = Told(here, process, every, GOAL)
        for places, evicted in legal_plans(here.snapshot, config, Random(seed), 6):
            outcome = Outcome(here, places, evicted, bound=())
            known = told.as_told(outcome)
            if known is None:
                continue
            best = told.best(known[1])
            assert best is not None
            want = GOAL.measure(known[0])
            assert best <= want, f"seed {seed}: {dict(places)}"
            n += 1
            same += best == want
    assert n > 100
    # It is less where nobody says which devices running shares are on.
    assert same > 0.5 * n
