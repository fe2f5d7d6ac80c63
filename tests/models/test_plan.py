"""Plans are documents: canonical bytes, a digest of the content, and nothing lost on the way."""

import json
from typing import Any

import pytest

from apportion.models import (
    Bind,
    Config,
    Eviction,
    GroupKey,
    NodeName,
    Nomination,
    Plan,
    PodKey,
    Settled,
    SolverRow,
    TierRow,
)
from apportion.models.plan import from_document, to_document
from apportion.models.value import to_json
from apportion.solver.entry import plan
from oracle.worlds import world

BIND = Bind(PodKey("x/a"), GroupKey("x/g"), NodeName("n1"))
PROMISE = Nomination(PodKey("x/b"), GroupKey("x/g"), NodeName("n2"))
VICTIM = Eviction(
    PodKey("x/v"), GroupKey("x/h"), NodeName("n2"), (GroupKey("x/g"),), "makes room",
    {"priority": 1, "gangBroken": 0},
)  # fmt: skip
PLAN = Plan("sha256:s", "sha256:c", (BIND,), (VICTIM,), (PROMISE,))


def through_json(made: Plan) -> Plan:
    return from_document(json.loads(to_json(to_document(made))))


@pytest.mark.parametrize("seed", range(20))
def test_plan_reads_back(seed: int) -> None:
    made = plan(world(seed, "small"), Config(engine="greedy", deterministic=True))

    back = through_json(made)

    assert back == made
    assert back.digest == made.digest
    assert to_json(to_document(back)) == to_json(to_document(made))


def test_document_says_what_it_is_and_for_whom_victims_go() -> None:
    document = to_document(PLAN)

    assert (document["apiVersion"], document["kind"]) == ("apportion.dev/v1alpha1", "Plan")
    assert document["digest"] == PLAN.digest
    assert list(document["evictions"][0]["for"]) == ["x/g"]
    assert "beneficiaries" not in document["evictions"][0]


def test_digest_names_the_content_and_not_the_object() -> None:
    twin = through_json(PLAN)
    other = Plan("sha256:s", "sha256:c", (BIND,), (VICTIM,))

    assert twin is not PLAN
    assert twin.digest == PLAN.digest != other.digest


def test_places_are_those_of_now_and_those_promised() -> None:
    assert PLAN.places == {"x/a": "n1", "x/b": "n2"}


def test_optional_parts_come_back() -> None:
    made = Plan(
        "sha256:s", "sha256:c",
        objective=(
            TierRow(1, "repair", "steps", "max", 3, None, None),
            TierRow(2, "victims", "pods", "min", 3, 1, 2.0),
        ),
        settled=Settled(2, True, {PodKey("x/a"): {"node": "n1"}}, (PodKey("x/v"),)),
        solver=SolverRow("exact", "optimal", 0.0, True, 3, None, 7, "why"),
    )  # fmt: skip

    assert through_json(made) == made


def test_unknown_keys_are_passed_over_and_missing_ones_are_defaults() -> None:
    assert from_document({"kind": "Plan", "news": [1], "binds": []}) == Plan("", "")


@pytest.mark.parametrize(
    ("document", "want"),
    [
        pytest.param({"binds": [{"pod": "x/a"}]}, r"binds", id="half a bind"),
        pytest.param({"binds": 7}, r"binds", id="binds that are a number"),
        pytest.param({"evictions": ["x/a"]}, r"evictions", id="an eviction that is a text"),
        pytest.param({"evictions": 7}, r"evictions", id="evictions that are a number"),
        pytest.param(
            {"solver": {"engine": "magic"}}, r"solver.engine", id="an engine that is none"
        ),
    ],
)
def test_what_cannot_be_read_is_named_by_its_path(document: dict[str, Any], want: str) -> None:
    with pytest.raises(ValueError, match=want):
        from_document(document)
