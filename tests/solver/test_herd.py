"""Running work that may be evicted, in arrays: the same as asked pod by pod."""

import pytest
from benchmarks.large import Large, large

from apportion.models import Config
from apportion.policies.cost import age_s, lost_work
from apportion.policies.evictable import evictable
from apportion.policies.registry import rules_for
from apportion.policies.scene import Scene
from apportion.solver.herd import Herd, herd_of


@pytest.fixture(scope="module")
def scene() -> Scene:
    """A cluster in which gangs run, some of them not to be evicted."""
    config = Config()
    return Scene(large(Large(20, 10, queues=5)), config, rules_for(config))


@pytest.fixture(scope="module")
def herd(scene: Scene) -> Herd:
    return herd_of(scene)


def test_runners_have_the_pods_that_may_be_evicted(scene: Scene, herd: Herd) -> None:
    running = [p for m in scene.roster.values() for p in m.running]
    able = [p for r in herd.runners for p in r.able]

    assert 0 < len(able) < len(running)
    assert able == [p for p in running if evictable(scene, p)]


def test_arrays_say_of_each_pod_what_it_loses_and_takes_and_where_it_is(
    scene: Scene, herd: Herd
) -> None:
    of = herd.pods

    assert sorted(p.key for p in of.pods) == sorted(p.key for r in herd.runners for p in r.able)
    for n, p in enumerate(of.pods):
        assert of.at[p.key] == n
        assert p in herd.runners[of.runner[n]].able
        assert (of.lost[n], of.age[n]) == (lost_work(scene, p), age_s(scene, p))
        assert of.rows[n].tolist() == scene.row(p).tolist()
        assert scene.nodes[of.node[n]].name == p.node
        assert herd.node_of[p.key] == of.node[n]


def test_a_node_has_its_pods_the_lowest_priority_first(scene: Scene, herd: Herd) -> None:
    for node, on in herd.on.items():
        priorities = [herd.runners[n].priority for n, _ in on]

        assert {p.node for _, p in on} == {scene.nodes[node].name}
        assert priorities == sorted(priorities)
    assert sum(map(len, herd.on.values())) == len(herd.pods.pods)
