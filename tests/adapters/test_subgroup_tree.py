"""KAI's subgroups: faults of the tree, and how many of which are needed."""

from typing import Any

import pytest

from apportion.models import Choice, Snapshot
from kubernetes_objects import group_in, node, pod, pod_group, snapshot

KAI = "scheduling.run.ai/v2alpha2"
Part = dict[str, Any]


def part(name: str, parent: str = "", **said: int) -> Part:
    return {"name": name, **({"parent": parent} if parent else {}), **said}


def world(parts: list[Part], pods: str = "", **spec: Any) -> Snapshot:
    """Return a group with these parts; each letter is a pod of the part of that name."""
    made = [
        pod(
            f"p{i}",
            annotations={"pod-group-name": "g"},
            labels={"kai.scheduler/subgroup-name": name},
        )
        for i, name in enumerate(pods)
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


SOME = {"a": 2, "b": 2, "c": 2}


@pytest.mark.parametrize(
    ("least", "want", "want_some", "want_minimum"),
    [
        pytest.param(2, {}, (Choice(2, SOME),), 4, id="two of three"),
        pytest.param(0, {}, (), 0, id="none"),
        pytest.param(3, SOME, (), 6, id="all, in so many words"),
    ],
)
def test_of_many_subgroups_so_many_are_needed_whichever_they_are(
    least: int, want: dict[str, int], want_some: tuple[Choice, ...], want_minimum: int
) -> None:
    made = world(PAIRS, "aabbcc", minSubGroup=least)

    group = group_in(made, "g")
    assert (group.role_minimum, group.choices) == (want, want_some)
    assert group.effective_minimum == want_minimum
    assert made.warnings == ()


def test_each_level_of_the_tree_chooses_for_itself() -> None:
    parts = [
        part("left", minSubGroup=1),
        part("right"),
        part("a", "left", minMember=3),
        part("b", "left", minMember=1),
        part("c", "right", minMember=1),
        part("d", "right", minMember=2),
    ]
    left, right = Choice(1, {"a": 3, "b": 1}), Choice(2, {"c": 1, "d": 2})

    both = group_in(world(parts, "aaabcdd"), "g")
    one = group_in(world(parts, "aaabcdd", minSubGroup=1), "g")

    assert (both.role_minimum, both.choices) == ({"c": 1, "d": 2}, (left,))
    assert (one.role_minimum, one.choices) == ({}, (Choice(1, {}, (left, right)),))
    assert (both.effective_minimum, one.effective_minimum) == (4, 1)


def test_waits_and_graces_of_a_group_are_said_not_to_count() -> None:
    made = world([], "", preemptionDelay="10m", stalenessGracePeriod="-1s")

    assert [w.path for w in made.warnings] == ["spec.preemptionDelay", "spec.stalenessGracePeriod"]
