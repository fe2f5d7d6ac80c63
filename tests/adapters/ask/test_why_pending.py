"""What public reports tell of waiting groups: the explanation names the true cause of each."""

from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from msgspec.structs import replace

from apportion.adapters.ask.edit_words import group_key
from apportion.adapters.ask.explain import Explanation, explain
from apportion.adapters.inputs import Asked, Case, scenario_cases
from apportion.solver.process import SolverProcess

FILE = Path(__file__).parents[2] / "scenarios" / "why" / "pending.yaml"
HOLD, RULES, ORDER = "hold", "rules", "order"


@cache
def cases() -> dict[str, Case]:
    return {c.title: c for c in scenario_cases([str(FILE)], Asked())}


@pytest.fixture(scope="module")
def solver() -> Iterator[SolverProcess]:
    with SolverProcess() as process:
        yield process


def why(name: str, group: str, solver: SolverProcess) -> Explanation:
    case = cases()[name]
    config = replace(case.config, deterministic=True)
    return explain(case.snapshot, config, group_key(case.snapshot, group), process=solver)


WANT = [
    ("gang-larger-than-the-cluster", "g", RULES, {"gang", "capacity"},
     ["starts with 20 members or not at all", "4 of 4 cpu free each; a pod asks for 1"],
     ["let group default/g start with 8 members", "add 3 nodes like n0"]),
    ("the-wrong-mix-of-roles", "j", HOLD, {"gang"}, ["only 1/2 members exist"], []),
    ("surge-pod-of-a-rollout", "new", HOLD, {"gang"}, ["only 1/2 members exist"],
     ["let group default/new start with 1 member"]),
    ("gang-of-one-node-too-many", "g", RULES, {"gang", "capacity"},
     ["starts with 5 members", "a pod asks for 4"], ["add 1 node like n0"]),
    ("filler-behind-a-broken-gang", "filler", ORDER, {"capacity"},
     ["0 of 1 members would fit"], ["add 1 node like n0"]),
    ("pod-larger-than-what-its-queue-may-have", "p", RULES, {"gang", "quota"},
     ["queue q may have 10 cpu; 9 is used by what may not be evicted, 10 is asked for"],
     ["set the limit of queue q to 19 cpu", "remove group default/old"]),
    ("third-job-of-a-queue-for-two", "job-2", ORDER, {"quota"},
     ["queue q is at 2 of its limit of 2 cpu"],
     ["set the limit of queue q to 3 cpu", "give group default/job-2 priority 1"]),
    ("plain-pod-of-a-closed-queue", "test", HOLD, {"queue"}, ["queue q is Closed"], []),
    ("limit-lowered-below-what-runs", "p", ORDER, {"quota"},
     ["queue solo is at 3 of its limit of 1 cpu"], ["set the limit of queue solo to 4 cpu"]),
    ("no-pod-slot-left", "p", RULES, {"gang", "capacity"},
     ["0 of 2 pods free", "a pod asks for 1"], ["add 1 node like n0"]),
    ("spread-over-a-label-of-no-node", "p", RULES, {"gang", "topology-spread"}, [], []),
    ("cordoned-node-is-an-empty-domain", "r-2", RULES,
     {"gang", "node-state", "topology-spread"}, ["is cordoned"], ["uncordon node shut"]),
    ("group-object-is-gone", "new-0", HOLD, {"gang"}, ["not found"], []),
    ("restarted-members-count", "p", RULES, {"gang", "quota"},
     ["queue q may have 64 cpu; 48 is used by what may not be evicted, 32 is asked for"],
     ["set the limit of queue q to 80 cpu"]),
    ("one-gate-left", "g", HOLD, {"gang"}, ["example.com/hold"], []),
    ("rack-too-small-for-the-gang", "g", RULES, {"gang", "topology", "capacity"},
     ["its 5 pods have to lie in one rack", "8 of 8 nvidia.com/gpu free"],
     ["let group default/g require block instead", "let group default/g start with 4 members"]),
    ("one-part-too-many", "g", RULES, {"gang", "capacity"},
     ["starts with 4 members or not at all; needs 2 of these 3: 2 of role a, 2 of role b"],
     ["add 1 node like n0"]),
    ("port-that-a-sidecar-has", "second", ORDER, {"capacity"}, ["host-ports: other pods there"],
     ["add 1 node like n0"]),
    ("devices-that-a-node-has-lost", "new", ORDER, {"capacity"}, ["too little nvidia.com/gpu"], []),
    ("many-of-a-full-queue", "w-0", ORDER, {"quota"}, ["queue full is at 1 of its limit of 1 cpu"],
     ["set the limit of queue full to 2 cpu"]),
    ("work-that-has-just-started", "urgent", ORDER, {"capacity"}, ["too little cpu"],
     ["add 1 node like n0"]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "group", "want_by", "want_rules", "want_words", "want_changes"),
    WANT, ids=[w[0] for w in WANT],
)  # fmt: skip
def test_the_true_cause_is_named(
    name: str, group: str, want_by: str, want_rules: set[str], want_words: list[str],
    want_changes: list[str], solver: SolverProcess,
) -> None:  # fmt: skip
    found = why(name, group, solver)

    assert found.held_by == want_by
    told = found.conflict or found.reasons
    assert {m.rule for m in told} == want_rules
    assert found.minimal == (want_by != ORDER)
    words = "\n".join(m.message for m in told)
    assert [w for w in want_words if w not in words] == [], words
    changes = [c.says for c in found.changes]
    assert [c for c in want_changes if c not in changes] == [], changes


def test_every_scenario_of_the_file_is_asked_about() -> None:
    assert sorted(cases()) == sorted(w[0] for w in WANT)


def test_who_holds_what_is_asked_for_is_named(solver: SolverProcess) -> None:
    found = why("pod-larger-than-what-its-queue-may-have", "p", solver)

    (quota,) = [m for m in found.conflict if m.rule == "quota"]
    assert [(h.name, h.amount) for h in quota.holders] == [("group default/old", 9000)]


def test_rivals_are_named_with_their_better_claim(solver: SolverProcess) -> None:
    found = why("third-job-of-a-queue-for-two", "job-2", solver)

    assert found.order is not None
    (rival,) = found.order.rivals
    assert (rival.group, rival.claim) == ("default/job-1", "age")
    assert rival.why == "has the same priority and is older by 1 min"


def test_how_long_work_runs_at_least_is_told(solver: SolverProcess) -> None:
    found = why("work-that-has-just-started", "urgent", solver)

    assert found.order is not None
    (rival,) = found.order.rivals
    assert (rival.group, rival.claim) == ("default/fresh", "runtime")
    assert rival.why == "runs for less than the 600 s that its queues give it"


def test_who_completes_a_broken_gang_is_a_rival_that_never_gives_way(solver: SolverProcess) -> None:
    found = why("filler-behind-a-broken-gang", "filler", solver)

    assert found.order is not None
    assert [(r.group, r.claim) for r in found.order.rivals] == [("default/g", "repair")]
