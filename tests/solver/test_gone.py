"""What of the running work is evicted, and what is left of each group, with what it costs."""

import pytest
from benchmarks.large import Large, large

from apportion.models import Config
from apportion.policies.cost import age_s, lost_work
from apportion.policies.registry import rules_for
from apportion.policies.scene import Scene
from apportion.solver.draft import Draft


@pytest.fixture
def draft() -> Draft:
    """A draft of a cluster in which gangs run."""
    config = Config()
    return Draft(Scene(large(Large(20, 10, queues=5)), config, rules_for(config)))


def _widest(draft: Draft) -> int:
    return max(range(len(draft.herd.runners)), key=lambda n: len(draft.herd.runners[n].able))


def test_what_is_left_of_a_group_shrinks_and_grows_with_what_leaves_and_stays(
    draft: Draft,
) -> None:
    runner = _widest(draft)
    able = draft.herd.runners[runner].able
    before = draft.gone.rest(runner, draft.evicted)

    draft.evict(able[0], draft.scene.index[str(able[0].node)], for_all=False)
    between = draft.gone.rest(runner, draft.evicted)
    draft.spare(able[0])

    assert len(able) > 1
    assert before.pods == able
    assert between.pods == able[1:]
    assert draft.gone.rest(runner, draft.evicted).pods == able


def test_a_wave_counts_what_its_pods_lose_and_leave(draft: Draft) -> None:
    scene, runner = draft.scene, _widest(draft)
    wave = draft.gone.rest(runner, draft.evicted)

    assert wave.lost == sum(lost_work(scene, p) for p in wave.pods) > 0
    assert wave.age_s == sum(age_s(scene, p) for p in wave.pods) > 0
    assert {scene.nodes[i].name for i in wave.freed} == {p.node for p in wave.pods}
    for i, row in wave.freed.items():
        there = [p for p in wave.pods if p.node == scene.nodes[i].name]
        assert row.tolist() == scene.rows(there).tolist()


def test_a_single_pod_is_a_wave_of_its_own(draft: Draft) -> None:
    pod = draft.herd.runners[_widest(draft)].able[0]

    wave = draft.gone.alone(pod)

    assert wave.pods == (pod,)
    assert draft.gone.alone(pod) is wave
