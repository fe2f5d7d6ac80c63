"""What is kept of nodes for a kind of pod is what looking at all of them anew would find."""

import pytest
from benchmarks.large import Large, large

from apportion.models import Config, Pod, Snapshot
from apportion.policies.registry import rules_for
from apportion.policies.scene import Scene
from apportion.solver.greedy import rank_and_place
from apportion.solver.spots import Spots
from properties.clusters import LARGE, cluster

GREEDY = Config(engine="greedy", deterministic=True)
CASES = {
    "racks and shares": large(Large(nodes=40, waiting=100, queues=5, fill=0.8)),
    "nodes that differ": large(Large(nodes=30, waiting=80, queues=5, seed=3, distinct=True)),
    **{f"cluster {seed}": cluster(seed, LARGE) for seed in (30, 31, 32, 34, 35)},
}


@pytest.mark.parametrize("of", CASES.values(), ids=CASES)
def test_the_best_node_is_the_one_that_a_fresh_look_finds(
    of: Snapshot, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept, seen = Spots.best, []

    def best(self: Spots, pod: Pod, alike: int = 1) -> int | None:
        found = kept(self, pod, alike)
        seen.append((found, kept(Spots(self._draft, pod, self._group), pod)))
        return found

    monkeypatch.setattr(Spots, "best", best)
    rank_and_place(Scene(of, GREEDY, rules_for(GREEDY)))

    assert seen
    assert [a for a, _ in seen] == [b for _, b in seen]


@pytest.mark.parametrize("name", ["racks and shares", "nodes that differ"])
def test_nodes_kept_in_order_for_equal_pods_are_those_found_one_by_one(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = Spots.best
    known: list[int] = []

    def noted(self: Spots, pod: Pod, alike: int = 1) -> int | None:
        known.append(len(self._line))
        return kept(self, pod, alike)

    def alone(self: Spots, pod: Pod, alike: int = 1) -> int | None:
        del alike
        return kept(self, pod)

    monkeypatch.setattr(Spots, "best", noted)
    in_order = rank_and_place(Scene(CASES[name], GREEDY, rules_for(GREEDY))).draft.places
    monkeypatch.setattr(Spots, "best", alone)
    one_by_one = rank_and_place(Scene(CASES[name], GREEDY, rules_for(GREEDY))).draft.places

    assert any(known)
    assert in_order == one_by_one
