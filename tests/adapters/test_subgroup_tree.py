"""KAI's subgroups: faults of the tree, and which of many are needed."""

from typing import Any

import pytest

from apportion.models import Snapshot
from kubernetes_objects import group_in, node, pod, pod_group, snapshot

KAI = "scheduling.run.ai/v2alpha2"
Part = dict[str, Any]


def part(name: str, parent: str = "", **said: int) -> Part:
    return {"name": name, **({"parent": parent} if parent else {}), **said}


def world(parts: list[Part], pods: str = "", runs: str = "", **spec: Any) -> Snapshot:
    """Return a group with these parts; each letter is a pod of the part of that name."""
    made = [
        pod(
            f"p{i}",
            annotations={"pod-group-name": "g"},
            labels={"kai.scheduler/subgroup-name": name},
            nodeName="n" if i < len(runs) else None,
        )
        for i, name in enumerate(runs + pods)
    ]
    return snapshot(node("n"), pod_group("g", api=KAI, subGroups=parts, **spec), *made)


@pytest.mark.parametrize(
    ("parts", "spec", "want"),
    [
        pytest.param([part("a"), part("a")], {}, ("[1].name", "a is there already"), id="twice"),
        pytest.param([part("a", "b")], {}, ("[0].parent", "no subgroup b"), id="no parent"),
        pytest.param([part("a", "a")], {}, ("[0].parent", "above itself"), id="its own parent"),
        pytest.param(
            [part("top"), part("a", "b"), part("b", "a")], {}, ("[1].parent", "above itself"),
            id="a circle",
        ),
        pytest.param(
            [part("top", minSubGroup=3), part("a", "top"), part("b", "top")], {},
            ("[0].minSubGroup", "is 3, but there are 2"), id="more than there are",
        ),
        pytest.param(
            [part("a")], {"minSubGroup": 2}, ("spec.minSubGroup", "is 2, but there are 1"),
            id="more than there are at the top",
        ),
    ],
)  # fmt: skip
def test_a_tree_that_makes_no_sense_is_rejected_with_its_path(
    parts: list[Part], spec: dict[str, Any], want: tuple[str, str]
) -> None:
    first = world(parts, **spec).rejected[0]

    assert first.object == "PodGroup default/g"
    assert first.path.endswith(want[0])
    assert want[1] in first.message


PAIRS = [part("a", minMember=2), part("b", minMember=2), part("c", minMember=2)]


@pytest.mark.parametrize(
    ("least", "pods", "runs", "want"),
    [
        pytest.param(2, "aabbcc", "", {"a": 2, "b": 2}, id="the first of equals"),
        pytest.param(1, "abbcc", "", {"b": 2}, id="one whose pods are there"),
        pytest.param(1, "aabbc", "c", {"c": 2}, id="one that has begun and can be whole"),
        pytest.param(1, "aabb", "c", {"a": 2}, id="not one that has begun and cannot"),
        pytest.param(0, "aabbcc", "", {}, id="none"),
        pytest.param(3, "aabbcc", "", {"a": 2, "b": 2, "c": 2}, id="all, in so many words"),
    ],
)
def test_of_many_subgroups_those_nearest_to_their_minima_are_needed(
    least: int, pods: str, runs: str, want: dict[str, int]
) -> None:
    made = world(PAIRS, pods, runs, minSubGroup=least)

    group = group_in(made, "g")
    assert group.role_minimum == want
    assert group.effective_minimum == sum(want.values())
    assert [w.path for w in made.warnings] == ["spec.minSubGroup"] * (0 < least < 3)


def test_each_level_of_the_tree_chooses_for_itself() -> None:
    parts = [
        part("left", minSubGroup=1),
        part("right"),
        part("a", "left", minMember=3),
        part("b", "left", minMember=1),
        part("c", "right", minMember=1),
        part("d", "right", minMember=2),
    ]

    both = world(parts, "aaabcdd")
    one = world(parts, "aaabcdd", minSubGroup=1)

    assert group_in(both, "g").role_minimum == {"b": 1, "c": 1, "d": 2}
    assert [w.path for w in both.warnings] == ["spec.subGroups[0].minSubGroup"]
    assert group_in(one, "g").role_minimum == {"b": 1}


def test_waits_and_graces_of_a_group_are_said_not_to_count() -> None:
    made = world([], "", preemptionDelay="10m", stalenessGracePeriod="-1s")

    assert [w.path for w in made.warnings] == ["spec.preemptionDelay", "spec.stalenessGracePeriod"]
