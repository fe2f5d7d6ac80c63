"""An explanation begins with a verdict that the rest of its page does not deny."""

import pytest

from apportion.adapters.ask.difference import GroupState
from apportion.adapters.ask.explain import By, Explanation
from apportion.adapters.ask.rivals import ROOM, Order
from apportion.adapters.cli.explain_page import show
from apportion.adapters.cli.verdict import verdict_of
from apportion.adapters.report.why import why_section
from apportion.models import GroupKey, Reason

KEPT = Reason("order", "group x/g", "room is kept for work that comes before it")
FREE = Order("entitled", (), ROOM, True, True)


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
    assert verdict_of(found).startswith("waits: ")
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
