"""Instances of cards: a pod's lie on as many cards as it asks for, in all halves of the rule."""

from collections.abc import Iterator
from random import Random

from msgspec.structs import replace

from apportion.models import (
    Bind,
    Config,
    Device,
    DeviceShare,
    GroupKey,
    NodeName,
    Plan,
    PodKey,
    PodSpec,
    Snapshot,
)
from apportion.policies.device_packing import Devices as State
from apportion.policies.devices import Devices
from apportion.policies.outcome import Outcome
from apportion.policies.registry import rules_for
from apportion.policies.scene import Scene
from apportion.policies.testing import accepts, agrees, refuses
from apportion.solver.process import SolverProcess
from oracle.devices import can_be_on
from oracle.share_worlds import instances

from .agreement import Told
from .builders import Members, after, node, queue, reasons, snapshot
from .conftest import Solve

RULE = Devices()


def world(cards: str, *numbers: int) -> Snapshot:
    """Return a node with an instance a letter, of the card of that letter; a pod a number."""
    devices = tuple(Device(10, 1, card=ord(c) - ord("a") + 1) for c in cards)
    on = replace(node("n", 9), devices=devices, hands_out=("volcano",))
    groups = []
    for k, n in enumerate(numbers):
        group = Members(f"p{k}", "q", waiting=1)
        share = DeviceShare("volcano", n, memory_mib=10, per_card=1)
        group.pods = [replace(p, spec=PodSpec(p.spec.requests, share=share)) for p in group.pods]
        groups.append(group)
    return snapshot(queue("q"), on, *groups)


def test_instances_of_a_pod_lie_on_cards_of_their_own() -> None:
    both = world("aabb", 2, 2)

    assert accepts(RULE, after(both, "p00@n p10@n"))
    assert accepts(RULE, after(world("aab", 2, 1), "p00@n p10@n"))
    assert refuses(RULE, after(world("aab", 2, 2), "p00@n p10@n"), "node n", "do not hold")
    # A pod of one instance on the second card leaves no second card.
    assert refuses(RULE, after(world("aab", 2, 1, 1), "p00@n p10@n p20@n"), "node n", "do not hold")


def test_what_the_plan_names_is_judged() -> None:
    both = world("aabb", 2)

    def named(*devices: int) -> Outcome:
        bind = Bind(PodKey("x/p00"), GroupKey("x/p0"), NodeName("n"), devices)
        scene = Scene(both, Config(), rules_for(Config()))
        return Outcome.of_plan(scene, Plan("", "", binds=(bind,)))

    assert accepts(RULE, named(1, 2))
    assert refuses(RULE, named(0, 1), "pod x/p00", "may have 1 devices of one card")


def test_a_node_with_too_few_cards_says_so(solve: Solve) -> None:
    [reason] = reasons(solve(world("aaab", 3)), "p0")

    assert "2 of its devices could take the share, 3 are asked for, 1 of a card at most" in str(
        reason
    )


def test_packing_finds_what_trying_all_finds() -> None:
    counts = [0, 0]
    for seed in range(300):
        snap = instances(seed)
        state = State.of(snap.nodes[0], list(snap.pods))
        if any(min(r) < 0 for r in state.room):
            continue
        counts[state.holds()] += 1
        assert state.holds() == can_be_on(snap.nodes[0], snap.pods), seed
    assert min(counts) > 30


def tried(scene: Scene, rng: Random) -> Iterator[Outcome]:
    pods = scene.snapshot.pods
    for _ in range(10):
        starts = {p.key: NodeName("n") for p in pods if not p.holds and rng.random() < 0.6}
        gone = {p.key for p in pods if p.holds and rng.random() < 0.4} if starts else set()
        yield Outcome(scene, starts, gone, bound=())


def told(process: SolverProcess) -> Iterator[tuple[Outcome, bool]]:
    for n in range(60):
        config = Config()
        scene = Scene(instances(n), config, rules_for(config))
        yield from Told(scene, process, RULE).distinct(tried(scene, Random(n)))


def test_rows_bear_what_the_rule_lets_pass(process: SolverProcess) -> None:
    result = agrees(RULE, told(process))

    assert result
    assert result.accepted > 40
    assert result.refused > 40
