"""A scope: the board of a neighbourhood has cells for what could change, and keeps all else."""

from apportion.models import Config, GroupKey, Snapshot, SpreadConstraint
from apportion.policies.outcome import Outcome
from apportion.policies.registry import rules_for
from apportion.policies.scene import Scene
from apportion.solver.decode import Decision, decode, outcome_of
from apportion.solver.greedy import rank_and_place
from apportion.solver.leveling import levels_of
from apportion.solver.neighbourhood import Neighbourhood, Part
from oracle.build import Members, node, only, queue, snapshot

CONFIG = Config(deterministic=True)
SPREAD = {"spread": (SpreadConstraint(1, "zone", True, only("near")),)}
INSIDE = Neighbourhood(frozenset({GroupKey("x/wants")}), frozenset({0}))


def planned(of: Snapshot, places: dict[str, str], evicted: frozenset[str] = frozenset()) -> Outcome:
    scene = Scene(of, CONFIG, rules_for(CONFIG))
    levels = levels_of(scene, rank_and_place(scene))
    at = {p.key: scene.index[places[p.name]] for p in of.pods if p.name in places}
    gone = frozenset(p.key for p in of.pods if p.name in evicted)
    return outcome_of(scene, Decision(at, gone), levels)


def two_nodes(*more: Members, **spec: object) -> Snapshot:
    return snapshot(
        *(node(f"n{i}", 4, labels={"zone": f"z{i}"}) for i in range(2)), queue("q", 8),
        Members("near", "q", 1, waiting=2, spec=spec), Members("wants", "q", 2, waiting=1), *more,
    )  # fmt: skip


def nodes_of(part: Part) -> set[int]:
    return {i for c in part._board.classes for i in c.nodes}


def test_what_starts_elsewhere_stays_there_without_a_cell() -> None:
    outcome = planned(two_nodes(), {"near0": "n0", "near1": "n1"})
    part = Part(outcome, INSIDE)
    assert part._now is not None

    same = decode(part._board, part._compiled, [v or 0 for v in part._now])

    assert nodes_of(part) == {0}
    assert same.places == {k: outcome.scene.index[n] for k, n in outcome.places.items()}


def test_what_others_are_tied_to_keeps_its_cell() -> None:
    part = Part(planned(two_nodes(**SPREAD), {"near0": "n0", "near1": "n1"}), INSIDE)

    assert nodes_of(part) == {0, 1}
    assert part._now is not None


def test_where_somebody_may_stay_after_all_what_starts_there_counts() -> None:
    runs = Members("runs", "lender", 4, on=["n1"])
    of = snapshot(
        *(node(f"n{i}", 4) for i in range(2)), queue("q", 8), queue("lender", 0),
        Members("near", "q", 4, waiting=1), Members("wants", "q", 4, waiting=1), runs,
    )  # fmt: skip
    outcome = planned(of, {"near0": "n1"}, frozenset({"runs0"}))
    spares = Neighbourhood(INSIDE.groups, INSIDE.nodes, frozenset({GroupKey("x/runs")}))

    assert nodes_of(Part(outcome, INSIDE)) == {0}
    assert nodes_of(Part(outcome, spares)) == {0, 1}
