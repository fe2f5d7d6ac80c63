"""Devices of nodes as a plan leaves them: kept for a scene, and nobody's to change."""

import numpy as np
from benchmarks.large import Large, large

from apportion.models import Config, PodKey
from apportion.policies.device_places import have_devices, kept_on
from apportion.policies.device_tracker import DeviceTracker
from apportion.policies.outcome import Outcome
from apportion.policies.registry import rules_for
from apportion.policies.scene import Scene

from .builders import after
from .test_devices import at, cards, share, world


def test_what_somebody_puts_on_a_node_is_not_there_for_the_next_who_asks() -> None:
    runs = at(share("runs", 50, on=["n"]), 0)
    plan = after(world(cards("n"), runs, share("waits", 80, waiting=1)), "waits0@n")
    (pod,) = [p for p, _ in plan.new_pods]

    first = kept_on(plan, 0)
    fits = have_devices(plan.scene, first, [pod])
    first.add(pod, at=(1,))

    assert fits
    assert kept_on(plan, 0).shares == [1, 0]
    assert not have_devices(plan.scene, first, [pod])


def test_who_leaves_is_not_there_though_others_have_asked_before() -> None:
    w = world(cards("n"), at(share("runs", 50, on=["n"]), 0), share("waits", 80, waiting=1))
    before = after(w, "waits0@n")
    assert kept_on(before, 0).shares == [1, 0]

    plan = Outcome(before.scene, before.places, [PodKey("x/runs0")])

    assert kept_on(plan, 0).shares == [0, 0]


def test_trackers_that_follow_one_another_tell_what_a_first_one_tells() -> None:
    config = Config()
    snapshot = large(Large(20, 10, queues=5))
    scene = Scene(snapshot, config, rules_for(config))
    pods = {p.spec: p for p in snapshot.pods}.values()
    gone = [p.key for p, _ in scene.holders if p.ours][::7]

    for evicted in ([], gone, []):
        alone = Scene(snapshot, config, rules_for(config)).world(evicted)
        first, later = DeviceTracker(alone), DeviceTracker(scene.world(evicted))
        counts = np.full(len(scene.nodes), 110)
        for p in pods:
            assert first.most(p, counts).tolist() == later.most(p, counts).tolist()
            for node in range(len(scene.nodes)):
                assert first.takes(p, node) == later.takes(p, node)
