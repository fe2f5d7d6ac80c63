"""Rights rest on one measure or another: what starts has to leave one of them."""

from apportion.adapters.plan_check import scene_of
from apportion.models import Config, QueueName
from apportion.solver.draft import Draft
from apportion.solver.footing import Footing, Pledges
from oracle.build import Members, node, queue, snapshot

OWN = QueueName("own")


def _draft() -> Draft:
    waiting = Members("work", "own", waiting=3)
    return Draft(
        scene_of(
            snapshot(
                node("n1", 8), queue("own", 1), queue("other"),
                Members("beside", "other", on=["n1"]), waiting,
            ),
            Config(),
        )
    )  # fmt: skip


def test_a_pledge_bears_what_one_of_its_measures_bears() -> None:
    draft = _draft()
    one, two = (draft.ask(draft.scene.roster.waiting[0].pending[:n]) for n in (1, 2))
    cpu = draft.scene.ledger.resources.index("cpu")
    due: Footing = ((OWN,), (cpu,), "due")
    rest: Footing = ((OWN,), (cpu,), "entitlement")
    alone, either = Pledges(), Pledges()
    alone.add([(due,)])
    either.add([(due, rest)])

    assert alone.bear(draft, [OWN], one)
    assert not alone.bear(draft, [OWN], two)
    assert either.bear(draft, [OWN], two)


def test_a_measure_that_was_left_bears_nothing_more() -> None:
    draft = _draft()
    pods = draft.scene.roster.waiting[0].pending
    cpu = draft.scene.ledger.resources.index("cpu")
    pledges = Pledges()
    pledges.add([(((OWN,), (cpu,), "due"),)])
    for p in pods[:2]:
        draft.put(p, 0)

    assert not pledges.bear(draft, [OWN], draft.ask(pods[2:]))
