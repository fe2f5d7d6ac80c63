"""Single pods that wait one behind the other are started as one, and where they would be singly."""

import pytest
from benchmarks.edges import onto_empty
from benchmarks.large import Large, large

from apportion.models import Config, Queue, Snapshot
from apportion.models.snapshot import read, write
from apportion.policies.items import Item
from apportion.policies.registry import rules_for
from apportion.policies.scene import Scene
from apportion.solver import runs
from apportion.solver.greedy import Ranking, rank_and_place
from oracle.build import Members, node, queue, snapshot
from properties.clusters import LARGE, cluster

GREEDY = Config(engine="greedy", deterministic=True)
NEVER = 1 << 30
"""Longer than any line."""


def ranked(of: Snapshot) -> Ranking:
    return rank_and_place(Scene(of, GREEDY, rules_for(GREEDY)))


def singles(*queues: Queue, limit: int = 12) -> Snapshot:
    """Return nodes too small for all, and single pods of two sizes, mixed, in some queues."""
    made = snapshot(
        *(node(f"n{i}", 4, pods=3) for i in range(limit)), *queues,
        *(
            Members(f"{q.name}{k}", q.name, 1 + k % 7 // 6, waiting=1, created_s=100 + k)
            for q in queues
            for k in range(40)
        ),
        Members("old", queues[0].name, 2, on=["n0", "n1"], priority=1),
    )  # fmt: skip
    return read(write(made))  # where equal specs are one


CASES = {
    "one queue": singles(queue("q")),
    "two queues": singles(queue("a", 20), queue("b", 12)),
    "limits": singles(queue("a", capability={"cpu": 9000}), queue("b", capability={"cpu": 50_000})),
    "empty nodes": onto_empty(12, 90),
    "a large cluster": large(Large(nodes=60, waiting=240, queues=3, seed=2, fill=0.3)),
    **{f"cluster {seed}": cluster(seed, LARGE) for seed in range(70, 90)},
}


@pytest.mark.parametrize("name", CASES)
def test_a_run_goes_where_its_pods_would_go_singly(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runs, "LEAST", 1)
    together = ranked(CASES[name])
    monkeypatch.setattr(runs, "LEAST", NEVER)
    singly = ranked(CASES[name])

    assert together.draft.places == singly.draft.places
    assert together.draft.evicted == singly.draft.evicted
    assert together.tier == singly.tier
    assert {q: list(v) for q, v in together.draft.use.items()} == {
        q: list(v) for q, v in singly.draft.use.items()
    }
    assert (together.draft.field.room == singly.draft.field.room).all()
    assert (together.draft.pools.common == singly.draft.pools.common).all()


@pytest.mark.parametrize(
    ("name", "want"), [("one queue", True), ("two queues", True), ("limits", False)]
)
def test_what_is_a_run(name: str, want: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Single pods of equal specs in an unlimited queue, as long as no other queue comes first."""
    seen: list[int] = []
    place = runs.Runs.place

    def noted(self: runs.Runs, items: list[Item]) -> int:
        seen.append(len(items))
        return place(self, items)

    monkeypatch.setattr(runs.Runs, "place", noted)
    ranked(CASES[name])

    assert any(n >= runs.LEAST for n in seen) == want
