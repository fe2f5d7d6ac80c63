"""Improving: a plan gets better neighbourhood by neighbourhood, as long as there is time.

Where the model of the whole cluster is too large to be built in the time left, parts of it are
not. Each answer counts only where it is better by the vector of the contract and the checker bears
it. Which kind of neighbourhood is next follows what each has gained; sizes follow success: one in
which there surely is nothing better grows, one that takes too long shrinks. It ends with the time,
or where the certificate says that no plan is better.
"""

import time
from collections.abc import Callable, Sequence

from ..policies.api import Objective
from ..policies.legality import verify
from ..policies.levels import Levels
from ..policies.outcome import Outcome
from ..policies.scene import Scene
from .allowance import Allowance
from .certificate import certified
from .contended import Contended
from .decode import Decision, outcome_of
from .held import Held
from .neighbourhood import Neighbourhood, Part
from .one_domain import OneDomain
from .process import SolverProcess
from .rows import TierResult, vector_of
from .search import Clock
from .shared_devices import SharedDevices
from .turns import Kind, Try, Turns
from .two_queues import TwoQueues
from .victims_nodes import VictimsNodes

LEAST, MOST = 16, 256
"""How many nodes the first neighbourhoods have: as many as there is time for."""
S_PER_VARIABLE = 100e-6
"""Seconds of a core of 2024 until a variable is in the solver, its rows told and its answer judged:
a guess, until a first neighbourhood has been built. On a busy machine it takes longer by as much as
judging the first plan does."""
SHARE, FIRST_SHARE = 0.5, 0.2
"""Part of the time left that building one may take, as far as is known; and the first one."""
SOLVE = 0.4
"""Part of what is then left that solving one may take: what it gives up of later levels, the next
ones have to win back."""
SHORTEST_S = 1e-6
"""Less time than that is not told from none."""
CERTIFIED, CERTIFICATE_S = 20, 0.2
"""The certificate is asked where so many times as much time is left as judging a plan takes; and
how much processor time it may take to tighten its bounds."""
KINDS = (Contended, VictimsNodes, OneDomain, TwoQueues, SharedDevices)
"""In the order in which they are tried first."""


def improved(
    scene: Scene,
    levels: Levels,
    goals: Sequence[Objective],
    first: Decision,
    process: SolverProcess,
    clock: Clock,
    kinds: Sequence[Callable[[Held], Kind]] | None = None,
) -> Decision:
    """Return a better plan where a neighbourhood of it has one, else the plan as it was.

    ``kinds``: those of KINDS to try; all without it.
    """
    if clock.is_nearly_out():
        return first
    kinds = KINDS if kinds is None else kinds
    return _Improvement(scene, levels, goals, first, process, clock, kinds).run()


class _Improvement:
    def __init__(
        self,
        scene: Scene,
        levels: Levels,
        goals: Sequence[Objective],
        first: Decision,
        process: SolverProcess,
        clock: Clock,
        kinds: Sequence[Callable[[Held], Kind]],
    ) -> None:
        self._scene, self._levels, self._goals = scene, levels, goals
        self._best, self._process, self._clock = first, process, clock
        began_s, used_s = clock.spent(), time.process_time()
        self._kinds = kinds
        self._value = vector_of(self._outcome, goals)
        used_s = max(SHORTEST_S, time.process_time() - used_s)
        self._judged_s = used_s
        self._asked = False
        """Whether the certificate has been asked about the plan at hand."""
        self._rate_s = S_PER_VARIABLE * max(1.0, (clock.spent() - began_s) / used_s)
        """What a variable took in the last neighbourhood, besides solving it."""
        self._share = FIRST_SHARE
        self._turns = Turns([k.name for k in KINDS], MOST)
        self._least = min(LEAST, MOST)
        self._allowance = Allowance.of_search(scene.config) if clock.left() is None else None
        """What is left where no clock counts."""
        self._look()

    @property
    def _outcome(self) -> Outcome:
        return outcome_of(self._scene, self._best, self._levels)

    def _look(self) -> None:
        """Look around the plan at hand."""
        self._held, self._asked = Held(self._outcome), False
        self._turns.around([make(self._held) for make in self._kinds])

    def run(self) -> Decision:
        while (found := self._next()) is not None and self._round(*found):
            pass
        return self._best

    def _next(self) -> tuple[Try, Neighbourhood] | None:
        """Return the next neighbourhood for which there is time; None where there is none."""
        while not self._clock.is_out() and (tried := self._turns.next()) is not None:
            name = tried.kind.name
            of = tried.kind.around(tried.size, tried.turn)
            if not of.groups and not of.victims:
                self._turns.note(name, 0, 1, is_closed=True, least=self._least)
            elif self._has_time(of):
                return tried, of
            else:
                self._turns.shrink(name, self._least)
        return None

    def _has_time(self, of: Neighbourhood) -> bool:
        left, rate_s = self._clock.left(), self._rate_s
        if left is None:
            assert self._allowance is not None
            left, rate_s = self._allowance.left_s, S_PER_VARIABLE
        return self._held.variables(of) * rate_s <= self._share * left

    def _round(self, tried: Try, of: Neighbourhood) -> bool:
        """Solve one neighbourhood; say whether there may be time for another."""
        clock, began_s = self._clock, self._clock.spent()
        part = Part(self._outcome, of)
        built_s = clock.spent() - began_s
        left = clock.left()
        # What comes out is decoded and judged, which takes about as long as half of building.
        limit = None if left is None else SOLVE * (left - built_s / 2)
        if limit is not None and limit <= 0:
            return False
        own = self._own_allowance(of)
        answer = part.more_work(self._goals, self._process, limit, own)
        solved_s = clock.spent() - began_s - built_s
        before = self._value
        is_better = answer.decision is not None and self._accept(answer.decision)
        took_s = clock.spent() - began_s
        self._rate_s = (took_s - solved_s) / max(1, self._held.variables(of))
        self._share = SHARE
        gain = gain_of(before, self._value) if is_better else 0.0
        cost = float(part.size) if left is None else took_s
        self._turns.note(tried.kind.name, gain, cost, answer.is_closed, self._least)
        if is_better:
            self._look()
            return True
        return not self._is_certified()

    def _own_allowance(self, of: Neighbourhood) -> Allowance | None:
        """Return what a neighbourhood may take where no clock counts; building it is charged."""
        whole = self._allowance
        if whole is None:
            return None
        whole.charge(self._held.variables(of) * S_PER_VARIABLE)
        return whole.part(SOLVE)

    def _is_certified(self) -> bool:
        """Say whether no plan has more work or pays less; asked once, where there is time."""
        left = self._clock.left()
        if self._asked or (left is not None and left < CERTIFIED * self._judged_s):
            return False
        self._asked = True
        outcome = self._outcome
        measured = [TierResult(g, g.measure(outcome), None) for g in self._goals]
        known = certified(outcome, measured, CERTIFICATE_S)
        return all(t.bound in (None, t.value) for t in known)

    def _accept(self, decision: Decision) -> bool:
        after = outcome_of(self._scene, decision, self._levels)
        value = vector_of(after, self._goals)
        if value <= self._value or verify(after):
            return False
        self._value = value
        self._best = Decision(decision.places, decision.evicted, after)
        return True


def gain_of(before: Sequence[int], after: Sequence[int]) -> float:
    """Return by what part the first thing that is better is so: above 0, at most 1."""
    for a, b in zip(before, after, strict=True):
        if a != b:
            return min(1.0, (b - a) / max(1, abs(a), abs(b)))
    return 0.0
