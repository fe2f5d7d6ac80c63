"""The page on formats names every field of every document, and no other."""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec
import pydantic
import pytest

from apportion import models
from apportion.adapters.ask.capacity import Capacity, Fit, PerNode
from apportion.adapters.ask.change import Change
from apportion.adapters.ask.conflict_words import Holder, Member
from apportion.adapters.ask.difference import (
    Difference,
    GroupChange,
    GroupState,
    QueueChange,
    UseChange,
)
from apportion.adapters.ask.drain import Blocker, Draining, Emptied, Kept
from apportion.adapters.ask.explain import Explanation
from apportion.adapters.ask.rivals import Order, Rival
from apportion.adapters.ask.whatif import Side, WhatIf
from apportion.adapters.ask.whatif import to_document as answer_of
from apportion.adapters.configuration import (
    Configuration,
    Expected,
    QueueSettings,
    Settings,
    Tiers,
)
from apportion.adapters.expectations import Expectation
from apportion.adapters.scenario import (
    Cluster,
    Meta,
    NodeTaint,
    Scenario,
    ScenarioNode,
    ScenarioQueue,
)
from apportion.adapters.scenario_group import Near, Role, ScenarioGroup
from apportion.adapters.scenario_whatif import (
    AddedNodes,
    ExpectedDifference,
    ScenarioEdit,
    ScenarioWhatIf,
)
from apportion.models.plan import to_document
from apportion.models.snapshot import write

PAGE = (Path(__file__).resolve().parents[1] / "docs" / "formats.md").read_text()
ROW = re.compile(r"^\| `([^`]+)` \| (.+) \|$", re.MULTILINE)
SNAPSHOT = models.Snapshot
PLAN = models.Plan
NOT_WRITTEN = {"Amounts", "Config", "ExpectedPod", "QueueShare", "TierSettings", "Violation"}
"""Values that stand in no document: amounts are mappings, settings have words of their own."""
PEOPLE = (
    Scenario, Meta, Near, Cluster, ScenarioNode, NodeTaint, ScenarioQueue, ScenarioGroup, Role,
    Expectation, ScenarioWhatIf, ScenarioEdit, AddedNodes, ExpectedDifference, Configuration,
    Settings, Tiers, Expected, QueueSettings,
)  # fmt: skip
ANSWERS = (
    GroupChange, GroupState, QueueChange, UseChange, Side, Explanation, Member, Holder, Order,
    Rival, Change, Capacity, PerNode, Fit, Draining, Emptied, Kept, Blocker,
)  # fmt: skip


def tables() -> dict[str, list[str]]:
    parts = re.split(r"^### ", PAGE, flags=re.MULTILINE)[1:]
    return {p.split("\n", 1)[0]: [name for name, _ in ROW.findall(p)] for p in parts}


def structs() -> Iterable[Any]:
    for name in models.__all__:
        kind = getattr(models, name)
        if isinstance(kind, type) and issubclass(kind, msgspec.Struct) and name not in NOT_WRITTEN:
            yield kind


def written(kind: Any) -> list[str]:
    """Return the keys under which a value's fields are written."""
    if issubclass(kind, pydantic.BaseModel):
        fields = [f.alias or name for name, f in kind.model_fields.items()]
        if kind is Configuration:
            return [name for name in fields if name not in written(Settings)]
        return fields
    names = list(kind.__struct_encode_fields__)
    if kind is SNAPSHOT:
        return [*names, "specs"]
    return ["for" if name == "beneficiaries" else name for name in names]


@pytest.mark.parametrize("kind", [*structs(), *PEOPLE, *ANSWERS], ids=lambda kind: kind.__name__)
def test_every_field_has_a_row(kind: Any) -> None:
    rows = tables()[kind.__name__]

    assert sorted(rows) == sorted(written(kind))


def test_every_table_is_of_a_document() -> None:
    known = {kind.__name__ for kind in (*structs(), *PEOPLE, *ANSWERS)} | {"WhatIf"}

    assert set(tables()) == known


def test_documents_have_no_field_that_the_page_lacks() -> None:
    snapshot = models.snapshot_of(
        nodes=[models.Node(models.NodeName("n1"), models.Amounts({"pods": 1}))], taken_at_s=1
    )
    head = {"apiVersion", "kind"}

    seen = msgspec.json.decode(write(snapshot))
    pod, group, node = models.PodKey("x/a"), models.GroupKey("x/g"), models.NodeName("n1")
    moves = (models.Move(pod, group, node, group),)
    settled = models.Settled(1, True, {}, ())
    planned = to_document(PLAN(snapshot.digest, "", moves=moves, settled=settled))

    assert set(seen) - head <= set(tables()["Snapshot"])
    assert set(planned) - head - {"digest"} == set(tables()["Plan"])


def test_answers_have_no_field_that_the_page_lacks() -> None:
    snapshot = models.snapshot_of()
    side = (snapshot, PLAN(snapshot.digest, ""))

    said = answer_of(WhatIf((), (), side, side, Difference()))

    assert set(said) - {"apiVersion", "kind"} == set(tables()["WhatIf"])
