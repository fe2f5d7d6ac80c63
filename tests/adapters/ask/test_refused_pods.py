"""Pods that were refused at the door: an explanation of their group says so, and of themselves."""

import pytest

from apportion.adapters.ask.edit_words import group_key
from apportion.adapters.ask.explain import explain
from apportion.models import Config, InputError
from kubernetes_objects import group_in, node, obj, pod, snapshot

BAD = {"gpu-fraction": "NaN"}


def test_a_group_that_lacks_members_names_pods_that_were_refused() -> None:
    notes = {"scheduling.k8s.io/group-name": "m"}
    group = obj("scheduling.volcano.sh/v1beta1", "PodGroup", "m", spec={"minMember": 2})
    world = snapshot(
        node(), group, pod("m-0", annotations=notes), pod("m-1", annotations={**notes, **BAD}),
        pod("other", namespace="elsewhere", annotations=BAD),
    )  # fmt: skip

    found = explain(world, Config(deterministic=True), group_in(world, "m").key, changes=False)

    assert found.held_by == "hold"
    assert [(m.rule, m.about) for m in found.conflict] == [
        ("gang", "group default/m"), ("input", "Pod default/m-1"),
    ]  # fmt: skip
    assert "'NaN' is no part of a device" in found.conflict[1].message


@pytest.mark.parametrize("name", ["single", "default/single"])
def test_who_asks_for_a_refused_pod_is_told_why(name: str) -> None:
    world = snapshot(node(), pod("single", annotations=BAD))

    with pytest.raises(InputError, match=r"Pod default/single was refused: .*'NaN' is no part"):
        group_key(world, name)
