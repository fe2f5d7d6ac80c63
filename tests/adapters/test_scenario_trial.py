"""A trial: every plan on the way to rest is verified, then the outcome is compared."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from apportion.adapters import trial, whatif_trial
from apportion.adapters.inputs import Asked, Case, read_case
from apportion.models import Plan


def case(tmp_path: Path, what_if: Sequence[Any] = (), **expected: Any) -> Case:
    """Build a scenario in which one pod starts, so that the second cycle finds it running."""
    path = tmp_path / "s.json"
    scenario = {
        "apiVersion": "apportion.dev/v1alpha1",
        "kind": "Scenario",
        "metadata": {"name": "s"},
        "cluster": {"nodes": [{"name": "n", "capacity": {"cpu": 1}}]},
        "groups": [{"name": "g", "pods": 1, "requests": {"cpu": 1}}],
        "expect": [expected],
        "whatIf": list(what_if),
        "config": {"engine": "greedy"},
    }
    path.write_text(json.dumps(scenario))
    return read_case([str(path)], Asked())


def test_trial_holds_where_every_plan_is_legal_and_the_outcome_as_expected(tmp_path: Path) -> None:
    verdict = trial.attempt(case(tmp_path, bound={"g-0": "n"}))

    assert verdict.holds
    assert verdict.failures == ()


def test_trial_says_which_expectation_fails(tmp_path: Path) -> None:
    verdict = trial.attempt(case(tmp_path, pending=["g-0"]))

    assert verdict.failures == ("expect[0]: g-0 runs on n, expected not to",)


def test_every_plan_of_every_cycle_is_verified(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[int, int]] = []

    def violations(made: Plan, scene: Any) -> Iterable[str]:
        running = sum(p.holds for p in scene.snapshot.pods)
        seen.append((len(made.binds), running))
        return ["the rule"] if running else []

    monkeypatch.setattr(trial, "violations_of", violations)

    verdict = trial.attempt(case(tmp_path, bound=["g-0"]))

    assert seen[0] == (1, 0)
    assert set(seen[1:]) == {(0, 1)}
    assert verdict.plan.settled is not None
    assert len(seen) == verdict.plan.settled.cycles
    assert [f.split(" breaks ")[0] for f in verdict.failures] == [
        f"cycle {n}" for n in range(2, len(seen) + 1)
    ]


def test_trial_that_never_rests_does_not_hold(tmp_path: Path) -> None:
    verdict = trial.attempt(case(tmp_path, bound=["g-0"]), most=3)

    assert verdict.failures == ("did not settle in 3 cycles",)


def test_trial_with_other_settings_uses_them(tmp_path: Path) -> None:
    told = case(tmp_path, bound=["g-0"])

    verdict = trial.attempt(told, replace(told.config, seed=7))

    assert verdict.plan.config == replace(told.config, seed=7).digest


ASKED = [
    ({"edits": [{"drain": "n"}], "difference": {"startsMore": ["g"]}},
     "startsMore: default/g is none, and is expected to be"),
    ({"edits": [{"drain": "n"}], "difference": {"startsLess": []}},
     "startsLess: default/g is one, and is not expected to be"),
    ({"edits": [{"drain": "n"}], "difference": {"displaced": ["x"]}},
     "displaced: there is no group x"),
    ({"edits": [{"drain": "n"}], "difference": {"nothing": True}},
     "something is different: default/g, queue default, cpu, pods"),
    ({"edits": [{"setPriority": "g=1"}], "difference": {"nothing": False}},
     "nothing is different"),
    ({"edits": [{"drain": "n"}], "difference": {"used": {"default": {"cpu": 1}}}},
     "used: queue default uses 0 cpu, expected 1"),
    ({"edits": [{"addNodes": {"like": "n"}}], "difference": {"share": {"default": [0.6, 1]}}},
     "share: queue default has 0.500 of the cluster, expected 0.6 to 1"),
    ({"edits": [{"drain": "n"}], "difference": {"share": {"q": 1}}},
     "share: there is no queue q"),
    ({"edits": [{"drain": "n"}], "expect": [{"bound": ["g-0"]}]},
     "expect[0]: g-0 does not run"),
]  # fmt: skip


@pytest.mark.parametrize(("asked", "want"), ASKED)
def test_trial_says_what_does_not_hold_of_a_what_if(
    tmp_path: Path, asked: dict[str, Any], want: str
) -> None:
    given = case(tmp_path, what_if=[{"name": "w", **asked}], bound=["g-0"])

    verdict = trial.attempt(given)

    assert verdict.failures == (f"whatIf[0] (w): {want}",)


def test_plans_of_a_what_if_are_verified(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(whatif_trial, "violations_of", lambda made, scene: ["the rule"])
    asked = {"name": "w", "edits": [{"drain": "n"}], "expect": [{"bound_total": 0}]}

    verdict = trial.attempt(case(tmp_path, what_if=[asked], bound=["g-0"]))

    assert verdict.failures[0] == "whatIf[0] (w): breaks the rule"
    assert "whatIf[0] (w): cycle 1 breaks the rule" in verdict.failures
