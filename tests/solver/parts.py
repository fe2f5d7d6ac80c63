"""The engine's parts, each made from a snapshot in one call."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from apportion.adapters.plan_check import scene_of
from apportion.models import Config, GroupKey, PodKey, Snapshot
from apportion.policies.board import Board
from apportion.policies.goals import goals_for
from apportion.policies.levels import Level, Levels, Worth
from apportion.policies.outcome import Outcome
from apportion.policies.scene import Scene
from apportion.solver.compile import EXACT_PAIRS, Compiled, compile_board
from apportion.solver.decode import Decision, outcome_of
from apportion.solver.entry import build, settle_greedy
from apportion.solver.greedy import rank_and_place
from apportion.solver.leveling import levels_of
from apportion.solver.stages import Stage, stages_of

DETERMINISTIC = Config(deterministic=True)


@dataclass(frozen=True)
class Model:
    """A board with every rule told to it, and the greedy decision beside it."""

    scene: Scene
    levels: Levels
    compiled: Compiled
    board: Board
    greedy: Decision

    def stages(self) -> list[Stage]:
        return stages_of(self.board, goals_for(self.scene.config, self.scene.rules))

    def values(self) -> list[int]:
        """Return a solution in which nothing happens."""
        return [0] * len(self.board.lower)


def model_of(
    snapshot: Snapshot, config: Config = DETERMINISTIC, exact_pairs: int = EXACT_PAIRS
) -> Model:
    scene = scene_of(snapshot, config)
    ranking = rank_and_place(scene)
    levels = levels_of(scene, ranking)
    compiled = compile_board(scene, levels, exact_pairs)
    greedy = settle_greedy(scene, ranking, levels)
    return Model(scene, levels, compiled, build(scene, compiled, levels), greedy)


def after(
    snapshot: Snapshot,
    places: Mapping[str, str],
    evicted: Sequence[str] = (),
    config: Config = DETERMINISTIC,
) -> Outcome:
    """Return the outcome of places and evictions, by names without the namespace."""
    scene = scene_of(snapshot, config)
    at = {PodKey(f"x/{p}"): scene.index[n] for p, n in places.items()}
    gone = frozenset(PodKey(f"x/{p}") for p in evicted)
    return outcome_of(scene, Decision(at, gone), some_levels(scene))


def some_levels(scene: Scene) -> Levels:
    return levels_of(scene, rank_and_place(scene))


def worth_levels(minimum: Mapping[str, int]) -> Levels:
    """Return levels in which these groups' minima, by name, are worth that much at one level."""
    level = Level(1, 0)
    return Levels({GroupKey(f"x/{g}"): Worth(level, v) for g, v in minimum.items()}, {})


def names(places: Mapping[PodKey, object]) -> set[str]:
    """Return the pods' names without the namespace."""
    return {p.split("/")[1] for p in places}
