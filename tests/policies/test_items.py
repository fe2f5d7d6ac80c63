"""Ids of items are those of the items, whoever starts."""

import pytest

from apportion.adapters.plan_check import scene_of
from apportion.models import Config
from apportion.policies.items import ids_of, items_of
from properties.clusters import LARGE, cluster


@pytest.mark.parametrize("seed", range(12))
def test_ids_are_those_of_the_items_of_every_group_however_many_of_it_start(seed: int) -> None:
    scene = scene_of(cluster(seed, LARGE), Config())

    cases = [(m, m.pending[:n]) for m in scene.roster.values() for n in range(len(m.pending) + 1)]

    assert any(m.running and pending for m, pending in cases)
    for m, pending in cases:
        assert ids_of(m, pending) == [i.id for i in items_of(scene, m, pending)]


def test_the_minimum_of_a_broken_group_has_another_id_when_it_is_completed() -> None:
    scenes = [scene_of(cluster(seed, LARGE), Config()) for seed in range(40)]
    broken = [(s, m) for s in scenes for m in s.roster.broken if m.is_whole(m.everybody)]

    assert broken
    for scene, m in broken:
        assert ids_of(m, ()) == [i.id for i in items_of(scene, m, ())]
        assert ids_of(m, m.pending) == [i.id for i in items_of(scene, m, m.pending)]
        assert ids_of(m, ())[0] != ids_of(m, m.pending)[0]
