"""What a neighbourhood frees: nodes where little has to move, work that could fit, later work."""

from apportion.models import Config, Snapshot
from apportion.policies.outcome import Outcome
from apportion.policies.registry import rules_for
from apportion.policies.scene import Scene
from apportion.solver.contended import Contended
from apportion.solver.decode import outcome_of
from apportion.solver.entry import settle_greedy
from apportion.solver.greedy import rank_and_place
from apportion.solver.held import Held, held_of
from apportion.solver.leveling import levels_of
from oracle.build import Members, node, queue, snapshot

CONFIG = Config(deterministic=True)


def greedy(of: Snapshot) -> Outcome:
    scene = Scene(of, CONFIG, rules_for(CONFIG))
    ranking = rank_and_place(scene)
    levels = levels_of(scene, ranking)
    return outcome_of(scene, settle_greedy(scene, ranking, levels), levels)


def full_but_for_two() -> Snapshot:
    """Return three nodes of four cores: two started pods of two, a group that waits for four."""
    return snapshot(
        *(node(f"n{i}", 4) for i in range(3)), queue("q"),
        Members("runs", "q", 4, on=["n0"], preemptable=False),
        Members("first", "q", 3, waiting=1, priority=9),
        Members("second", "q", 3, waiting=1, priority=8),
        Members("whole", "q", 4, waiting=1, priority=7),
        Members("many", "q", 4, waiting=5, minimum=2, priority=6),
    )  # fmt: skip


def test_held_work_comes_first_things_first() -> None:
    held = held_of(greedy(full_but_for_two()))

    assert [m.key for m in held] == ["x/whole", "x/many"]


def test_nodes_come_first_where_a_held_pod_would_fit_if_others_moved() -> None:
    around = Contended(Held(greedy(full_but_for_two())))

    assert around.size == 2
    assert around.around(2).nodes == {1, 2}


def test_what_asks_for_more_than_there_is_stays_held() -> None:
    outcome = greedy(
        snapshot(
            *(node(f"n{i}", 4) for i in range(2)), queue("q"),
            Members("first", "q", 1, waiting=2, minimum=2, priority=9),
            Members("fits", "q", 4, waiting=1, priority=8),
            Members("whole", "q", 4, waiting=2, minimum=2, priority=7),
        )
    )  # fmt: skip

    of = Contended(Held(outcome)).around(2)

    assert "x/whole" not in of.groups


def test_only_later_work_that_stands_there_alone_may_give_way() -> None:
    outcome = greedy(
        snapshot(
            *(node(f"n{i}", 4) for i in range(2)), queue("q"),
            Members("early", "q", 2, waiting=1, priority=9),
            Members("pair", "q", 3, waiting=2, minimum=2, priority=7),
            Members("late", "q", 2, waiting=1, priority=1),
        )
    )  # fmt: skip

    held = Held(outcome)
    around = Contended(held)

    assert set(outcome.started) == {"x/early", "x/late"}
    assert around.around(2).groups == {"x/pair", "x/late"}
    assert around.around(1).groups == set()
    assert held.variables(around.around(1)) < held.variables(around.around(2))
