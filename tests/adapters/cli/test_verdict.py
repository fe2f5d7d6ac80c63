"""An explanation begins with a verdict that the rest of its page does not deny."""

import pytest
from msgspec.structs import replace

from apportion.adapters.ask.change import Change
from apportion.adapters.ask.difference import GroupState
from apportion.adapters.ask.explain import By, Explanation
from apportion.adapters.ask.rivals import ROOM, Order, Rival
from apportion.adapters.cli.explain_page import show
from apportion.adapters.cli.verdict import no_change_says, verdict_of
from apportion.adapters.report.why import why_section
from apportion.models import GroupKey, Reason

KEPT = Reason("order", "group x/g", "room is kept for work that comes before it")
FREE = Order("entitled", (), ROOM, True, True)


NODES = Change("nodes", (), "add 2 nodes like n1", True, 0, True)


def waiting(held_by: By, order: Order | None = None) -> Explanation:
    state = GroupState("waits", waiting=1)
    return Explanation(GroupKey("x/g"), "q", state, held_by, (KEPT,), order=order)


@pytest.mark.parametrize(
    ("found", "want"),
    [
        (waiting("hold"), "keeps it from starting, whatever is free"),
        (waiting("rules"), "could not start if it came first"),
        (waiting("order", Order("entitled")), "other work has the better claim"),
        (waiting("order", FREE), "there is room for it, which this plan did not find"),
    ],
)
def test_it_says_what_keeps_the_group(found: Explanation, want: str) -> None:
    assert want in verdict_of(found)


@pytest.mark.parametrize(
    ("state", "want"),
    [
        (GroupState("runs"), "runs"), (GroupState("starts"), "starts now"),
        (GroupState("absent"), "has nothing that waits"),
    ],
)  # fmt: skip
def test_a_group_that_does_not_wait_is_said_to_do_what_it_does(
    state: GroupState, want: str
) -> None:
    found = Explanation(GroupKey("x/g"), "q", state)

    assert verdict_of(found) == want


def test_where_nobody_stands_before_it_no_page_says_that_others_come_first(
    capsys: pytest.CaptureFixture[str],
) -> None:
    found = waiting("order", FREE)

    show(found)

    for page in (capsys.readouterr().out, why_section(found).markup):
        assert "nobody: there is room for it" in " ".join(page.split())
        assert "better claim" not in page
        assert "comes before it" not in page


@pytest.mark.parametrize(
    ("found", "tried", "want"),
    [
        (waiting("rules"), True,
         "No single change that was tried would start it; several at once were not tried."),
        (replace(waiting("rules"), left_out=("nodes",)), True,
         "No single change that was tried would start it."),
        (waiting("rules"), False, ""),
        (replace(waiting("rules"), changes=(NODES,)), True, ""),
        (waiting("order", FREE), True, ""),
        (Explanation(GroupKey("x/g"), "q", GroupState("runs")), True, ""),
    ],
)  # fmt: skip
def test_that_no_change_starts_it_is_said_where_it_was_tried(
    capsys: pytest.CaptureFixture[str], found: Explanation, tried: bool, want: str
) -> None:
    show(found, tried=tried)

    assert no_change_says(found, tried=tried) == want
    for page in (capsys.readouterr().out, why_section(found, tried=tried).markup):
        assert ("No single change" in page) == bool(want)
        assert want in page


def test_a_page_says_what_holds_the_group_before_what_would_start_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    short = Reason("capacity", "group x/g", "0 of 2 members would fit")
    rival = Rival(GroupKey("x/h"), "q", "running", 1, "priority", "runs with priority 9")
    held = waiting("order", Order("entitled", (rival,)))

    show(replace(held, reasons=(short,), changes=(NODES,)))

    told = ("better claim", "Stands before it", "priority 9", "Missing while they are there",
            "0 of 2 members", "Would start it", "add 2 nodes")  # fmt: skip
    section = why_section(replace(held, reasons=(short,), changes=(NODES,))).markup
    assert section.count("waits") == 1
    for page in (capsys.readouterr().out, section):
        at = [page.index(word) for word in told]
        assert at == sorted(at)
