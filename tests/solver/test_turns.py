"""Turns: each kind once, then by gain for its cost; sizes grow and shrink; kinds come to rest."""

from dataclasses import dataclass

from apportion.solver.neighbourhood import Neighbourhood
from apportion.solver.turns import GROWTH, Turns


@dataclass
class Fake:
    """A kind of which only the numbers count."""

    name: str
    size: int = 100
    turns: int = 1

    def around(self, size: int, turn: int = 0) -> Neighbourhood:
        return Neighbourhood(frozenset(), frozenset(range(size)))


def turns(*kinds: Fake, size: int = 100) -> Turns:
    made = Turns([k.name for k in kinds], size)
    made.around(kinds)
    return made


def next_of(of: Turns) -> tuple[str, int, int] | None:
    tried = of.next()
    return None if tried is None else (tried.kind.name, tried.size, tried.turn)


def note(of: Turns, gain: float, cost: float = 1.0, is_closed: bool = True) -> str:
    """Let the next try gain so much; return of which kind it was."""
    tried = of.next()
    assert tried is not None
    of.note(tried.kind.name, gain, cost, is_closed, least=4)
    return tried.kind.name


def test_each_kind_is_tried_once_in_order_then_what_gained_most_for_its_cost() -> None:
    of = turns(Fake("dear"), Fake("cheap"), Fake("vain"))

    first = [note(of, 0.5, cost=10), note(of, 0.5, cost=1), note(of, 0.0)]

    assert first == ["dear", "cheap", "vain"]
    assert next_of(of) == ("cheap", 100, 0)


def test_gain_of_long_ago_counts_less() -> None:
    of = turns(Fake("faded", turns=9), Fake("steady"))
    note(of, 1.0)
    note(of, 0.3)

    tries = [note(of, 0.0) for _ in range(3)]

    assert tries == ["faded", "faded", "steady"]


def test_parts_come_one_by_one_then_more_nodes_then_rest() -> None:
    of = turns(Fake("kind", size=20, turns=2), size=10)
    seen = []
    while (now := next_of(of)) is not None:
        seen.append(now[1:])
        note(of, 0.0)

    assert seen == [(10, 0), (10, 1), (20, 0), (20, 1)]


def test_what_takes_too_long_shrinks_until_it_would_be_too_small() -> None:
    of = turns(Fake("kind", size=30), size=100)

    note(of, 0.0, is_closed=False)
    assert next_of(of) == ("kind", 30 // GROWTH, 0)
    note(of, 0.0, is_closed=False)

    assert next_of(of) is None


def test_another_plan_wakes_what_rests_and_keeps_what_was_gained() -> None:
    kinds = Fake("rests"), Fake("gains")
    of = turns(*kinds)
    note(of, 0.0)
    note(of, 0.5)

    of.around(kinds)

    assert next_of(of) == ("gains", 100, 0)
    assert of.gains["rests"] == (1, 0.0)


def test_a_kind_without_nodes_or_parts_has_no_turn() -> None:
    assert next_of(turns(Fake("none", size=0), Fake("nowhere", turns=0))) is None


def test_a_kind_never_grows_again_to_what_there_was_no_time_for() -> None:
    """Nothing in a small one and no time for a larger one are no reason to ask for ever."""
    kind = Fake("kind", size=84)
    of = turns(kind)
    seen: list[int] = []
    while (now := next_of(of)) is not None and len(seen) < 10:
        seen.append(now[1])
        if now[1] > 40:
            of.shrink("kind", least=16)
        else:
            note(of, 0.0)

    assert seen == [84, 28]

    of.around([kind])

    assert next_of(of) == ("kind", 28, 0)
