"""Shortcuts of placing change no place: equal pods put together, rules with nothing to say."""

from collections.abc import Sequence
from typing import Any

import pytest
from benchmarks.large import Large, large
from msgspec.structs import replace

from apportion.models import Config, Pod, PodKey
from apportion.policies import fitting
from apportion.policies.registry import rules_for
from apportion.policies.scene import Scene
from apportion.policies.tracker import Resting, those_that
from apportion.solver import placing
from apportion.solver.draft import Draft
from apportion.solver.greedy import rank_and_place
from apportion.solver.spots import Spots
from oracle.build import Members, node, queue, snapshot


def too_many() -> tuple[Draft, Sequence[Pod]]:
    """Return two nodes of four cores, and a gang of twelve pods of one."""
    gang, config = Members("gang", "q", waiting=12, minimum=12), Config()
    gang.pods = [replace(p, spec=gang.pods[0].spec) for p in gang.pods]
    of = snapshot(node("n-1", 4), node("n-2", 4), queue("q"), gang)
    scene = Scene(of, config, rules_for(config))
    return Draft(scene), scene.roster[gang.group.key].pending


CASES = [Large(nodes=60, waiting=240, queues=10, seed=seed, gangs=0.8) for seed in (1, 2)]


def placed(of: Large) -> tuple[dict[PodKey, int], set[PodKey]]:
    config = Config()
    draft = rank_and_place(Scene(large(of), config, rules_for(config))).draft
    return draft.places, set(draft.evicted)


@pytest.mark.parametrize("of", CASES, ids=lambda of: str(of.seed))
def test_equal_pods_put_together_are_where_they_would_be_one_by_one(
    monkeypatch: pytest.MonkeyPatch, of: Large
) -> None:
    numbers: list[int] = []
    put = Draft.put_alike

    def noted(draft: Draft, pods: Sequence[Pod], node: int) -> None:
        numbers.append(len(pods))
        put(draft, pods, node)

    monkeypatch.setattr(Draft, "put_alike", noted)
    together = placed(of)
    assert max(numbers) > 1

    monkeypatch.setattr(placing, "_end_of_alike", lambda _, __, at: at + 1)
    numbers.clear()
    one_by_one = placed(of)

    assert set(numbers) == {1}
    assert together == one_by_one


def test_of_equal_pods_that_find_no_node_one_is_asked_about(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    draft, gang = too_many()
    asked: list[Pod] = []
    best = Spots.best

    def noted(spots: Spots, pod: Pod, alike: int = 1) -> int | None:
        asked.append(pod)
        return best(spots, pod, alike)

    monkeypatch.setattr(Spots, "best", noted)
    monkeypatch.setattr(placing, "_might_hold", lambda *_: True)

    assert draft.place_all(gang) is None
    assert len(asked) == 2 + 1 + 1  # once a node, the first that is left, and it again
    assert not draft.places


@pytest.mark.parametrize("of", CASES, ids=lambda of: str(of.seed))
def test_rules_that_nobody_asks_are_missed_by_nobody(
    monkeypatch: pytest.MonkeyPatch, of: Large
) -> None:
    without = placed(of)

    def busy(trackers: Any, protocol: Any) -> tuple[Any, ...]:
        return () if protocol is Resting else those_that(trackers, protocol)

    monkeypatch.setattr(fitting, "those_that", busy)

    assert placed(of) == without
