"""A scenario document: read whole, or refused with every mistake and its path."""

from typing import Any

import pytest

from apportion.adapters.files import Document
from apportion.adapters.inputs import Asked, Case, read_case, scenario_cases
from apportion.adapters.patterns import filled, filled_in
from apportion.adapters.scenario import scenario_of
from apportion.models import InputError, PodState, QueueName, QueueState
from kubernetes_objects import NOON, NOON_S, group_in, pod, pod_in


def scenario(**parts: Any) -> dict[str, Any]:
    return {
        "apiVersion": "apportion.dev/v1alpha1",
        "kind": "Scenario",
        "metadata": {"name": "s"},
        **parts,
    }


def case(tmp_path: Any, *, asked: Asked | None = None, **parts: Any) -> Case:
    import json

    path = tmp_path / "s.json"
    path.write_text(json.dumps(scenario(**parts)))
    return read_case([str(path)], asked or Asked())


@pytest.mark.parametrize(
    ("pattern", "i", "want"),
    [
        ("gpu-{i}", 7, "gpu-7"),
        ("r{i//4}", 7, "r1"),
        ("{i%2}-{ (i + 1) * 2 }", 3, "1-8"),
        ("{-i+10}", 3, "7"),
        ("plain", 3, "plain"),
    ],
)
def test_pattern_is_filled(pattern: str, i: int, want: str) -> None:
    assert filled(pattern, i) == want


@pytest.mark.parametrize(
    "pattern",
    ["{}", "{j}", "{i**9}", "{i.real}", "{__import__('os')}", "{i//0}", "{1.5}", "{i if i else 1}",
     "{True}", "{" + "9" * 70 + "}", "{" + "*".join(["9" * 9] * 6) + "}", "{((((((((((i}"],
)  # fmt: skip
def test_pattern_holds_whole_numbers_and_i_only(pattern: str) -> None:
    with pytest.raises(ValueError, match="is no pattern"):
        filled(pattern, 1)


def test_patterns_are_filled_at_any_depth() -> None:
    assert filled_in({"a": ["{i}", {"b": "x{i+1}"}], "c": 1}, 2) == {
        "a": ["2", {"b": "x3"}],
        "c": 1,
    }


def test_nodes_are_repeated_with_their_number(tmp_path: Any) -> None:
    nodes = {
        "repeat": 3, "name": "n{i}", "capacity": {"cpu": "2", "nvidia.com/gpu": 1},
        "topology": {"rack": "r{i//2}"}, "labels": {"disk": "ssd"},
        "taints": [{"key": "only", "value": "t{i}"}], "cordoned": True, "ready": False,
    }  # fmt: skip

    snapshot = case(tmp_path, cluster={"nodes": [nodes]}).snapshot

    last = snapshot.nodes[2]
    assert [n.name for n in snapshot.nodes] == ["n0", "n1", "n2"]
    assert dict(last.labels) == {"kubernetes.io/hostname": "n2", "rack": "r1", "disk": "ssd"}
    assert dict(last.allocatable) == {"cpu": 2000, "nvidia.com/gpu": 1000, "pods": 110}
    assert str(last.taints[0]) == "only=t2:NoSchedule"
    assert (last.unschedulable, last.ready) == (True, False)


def test_queues_say_all_that_queues_say(tmp_path: Any) -> None:
    queues = [
        {"name": "all", "quota": {"cpu": 8}},
        {
            "name": "team", "parent": "all", "weight": 3, "priority": 2, "deserved": {"cpu": "4"},
            "guarantee": {"cpu": 1}, "reclaimable": False, "state": "Closed",
            "namespaces": ["a", "b"], "within": "namespaces",
        },
    ]  # fmt: skip

    made = case(tmp_path, queues=queues)

    team = made.snapshot.queues_by_name[QueueName("team")]
    assert (team.parent, team.weight, team.priority) == ("all", 3, 2)
    assert (dict(team.deserved), dict(team.guarantee)) == ({"cpu": 4000}, {"cpu": 1000})
    assert (team.reclaimable, team.state) == (False, QueueState.CLOSED)
    assert team.namespaces == frozenset({"a", "b"})
    assert made.snapshot.queues_by_name[QueueName("all")].capability == {"cpu": 8000}
    assert made.config.queues["team"].within == "namespaces"


def test_group_becomes_its_pods(tmp_path: Any) -> None:
    group = {
        "name": "g", "namespace": "ns", "pods": 3, "minimum": 2, "requests": {"cpu": "500m"},
        "priority": 7, "preemptable": False, "mayPreempt": False, "running": ["n"], "age": "1h",
        "user": "ada", "labels": {"app": "x"}, "nodeSelector": {"disk": "ssd"},
        "tolerations": [{"operator": "Exists"}],
    }  # fmt: skip

    world = case(tmp_path, cluster={"nodes": [{"name": "n"}]}, groups=[group]).snapshot

    g, first, last = group_in(world, "ns/g"), pod_in(world, "ns/g-0"), pod_in(world, "ns/g-2")
    assert (g.minimum, g.priority, g.preemptable, g.may_preempt) == (2, 7, False, False)
    assert (g.queue, g.created_s, g.user) == ("default", NOON_S - 3600, "ada")
    assert (first.state, first.node, last.state) == (PodState.RUNNING, "n", PodState.PENDING)
    assert first.started_s == NOON_S - 3600
    assert dict(last.spec.requests) == {"cpu": 500}
    assert last.spec.node_selector == (("disk", "ssd"),)
    assert len(last.spec.tolerations) >= 1
    assert world.taken_at_s == NOON_S


def test_roles_are_members_with_minima_of_their_own(tmp_path: Any) -> None:
    roles = [
        {"name": "ps", "pods": 1, "minimum": 1, "requests": {"cpu": 4}, "priority": 9},
        {"name": "worker", "pods": 3, "minimum": 2},
    ]

    world = case(tmp_path, groups=[{"name": "g", "roles": roles, "requests": {"cpu": 1}}]).snapshot

    g = group_in(world, "g")
    assert (g.effective_minimum, dict(g.role_minimum)) == (3, {"ps": 1, "worker": 2})
    assert dict(pod_in(world, "g-ps-0").spec.requests) == {"cpu": 4000}
    assert pod_in(world, "g-ps-0").task_priority == 9
    assert dict(pod_in(world, "g-worker-2").spec.requests) == {"cpu": 1000}


def test_role_says_who_may_go_and_where_its_pods_may_stand(tmp_path: Any) -> None:
    roles = [
        {"name": "kept", "pods": 1, "preemptable": False, "nodeSelector": {"disk": "hdd"}},
        {"name": "free", "pods": 1, "preemptable": True},
        {"name": "plain", "pods": 1},
    ]
    parts: dict[str, Any] = {"name": "g", "roles": roles, "nodeSelector": {"disk": "ssd"}}

    loose = case(tmp_path, groups=[parts]).snapshot
    fixed = case(tmp_path, groups=[{**parts, "preemptable": False}]).snapshot

    assert [pod_in(loose, f"g-{r}-0").preemptable for r in ("kept", "free", "plain")] == [
        False, True, True,
    ]  # fmt: skip
    assert [pod_in(fixed, f"g-{r}-0").preemptable for r in ("kept", "free", "plain")] == [
        False, True, False,
    ]  # fmt: skip
    assert pod_in(loose, "g-kept-0").spec.node_selector == (("disk", "hdd"),)
    assert pod_in(loose, "g-plain-0").spec.node_selector == (("disk", "ssd"),)


def test_repeated_groups_may_each_have_an_age(tmp_path: Any) -> None:
    group = {"repeat": 3, "name": "g{i}", "pods": 1, "age": "{3-i}m"}

    world = case(tmp_path, groups=[group]).snapshot

    ages = [world.taken_at_s - group_in(world, f"g{i}").created_s for i in range(3)]
    assert ages == [180, 120, 60]


def test_groups_are_repeated_and_run_by_number_of_node(tmp_path: Any) -> None:
    group = {"repeat": 2, "name": "g{i}", "pods": 3, "running": {"a": 2, "b": 1}, "queue": "q{i}"}
    nodes = [{"name": "a"}, {"name": "b"}]

    world = case(tmp_path, cluster={"nodes": nodes}, groups=[group]).snapshot

    assert [pod_in(world, f"g1-{n}").node for n in range(3)] == ["a", "a", "b"]
    assert group_in(world, "g1").queue == "q1"


def test_objects_files_and_short_forms_stand_side_by_side(tmp_path: Any) -> None:
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "node.yaml").write_text(
        "{apiVersion: v1, kind: Node, metadata: {name: f}}"
    )
    inline = pod("p", meta={"creationTimestamp": NOON})

    world = case(
        tmp_path,
        cluster={"nodes": [{"name": "s"}], "objects": [inline], "files": ["below"]},
        groups=[{"name": "g", "pods": 1}],
    ).snapshot

    assert [n.name for n in world.nodes] == ["f", "s"]
    assert {p.key for p in world.pods} == {"default/p", "default/g-0"}
    assert world.taken_at_s == NOON_S


def test_bad_object_in_a_scenario_is_rejected_and_not_fatal(tmp_path: Any) -> None:
    world = case(tmp_path, cluster={"objects": [pod("p", {"cpu": "-1"})]}).snapshot

    assert [r.object for r in world.rejected] == ["Pod default/p"]


def test_snapshot_is_read_from_beside_the_scenario(tmp_path: Any) -> None:
    from apportion.models.snapshot import write

    inner = case(tmp_path, cluster={"nodes": [{"name": "n"}]}).snapshot
    (tmp_path / "saved.json").write_bytes(write(inner))

    outer = case(tmp_path, cluster={"snapshot": "saved.json"})

    assert outer.snapshot == inner


def test_settings_and_scheduler_names_come_with_the_scenario(tmp_path: Any) -> None:
    parts: dict[str, Any] = {
        "schedulerNames": ["mine"], "groups": [{"name": "g", "pods": 1}],
        "config": {"budget": "1m", "tiers": {"packing": "spread"}}, "now": NOON,
    }  # fmt: skip

    own = case(tmp_path, **parts)
    overruled = case(tmp_path, asked=Asked(scheduler_names=("theirs",), now_s=5), **parts)

    assert (own.config.budget_ms, own.config.tiers.packing) == (60_000, "spread")
    assert (own.snapshot.scheduler_names, own.snapshot.taken_at_s) == (("mine",), NOON_S)
    assert pod_in(own.snapshot, "g-0").scheduler == "mine"
    assert overruled.snapshot.scheduler_names == ("theirs",)
    assert overruled.snapshot.taken_at_s == 5


@pytest.mark.parametrize(
    ("edit", "says"),
    [
        ({"drain": "n9"}, "there is no node n9"),
        ({"resize": "g=many"}, "'many' is not a whole number"),
        (
            {"submit": {"name": "g", "pods": 1}},
            "submit: brings no new group; is there one of that name?",
        ),
    ],
)
def test_an_edit_that_cannot_be_made_is_refused_with_its_place(
    tmp_path: Any, edit: Any, says: str
) -> None:
    cordon = {"cordon": "n"}
    asked = {"name": "w", "edits": [cordon, edit], "difference": {"nothing": True}}

    with pytest.raises(InputError) as e:
        case(
            tmp_path, cluster={"nodes": [{"name": "n"}]}, groups=[{"name": "g", "pods": 1}],
            whatIf=[asked],
        )  # fmt: skip

    assert "s.json: whatIf[0].edits[1]: " in str(e.value)
    assert says in str(e.value)


def test_policies_is_another_word_for_config(tmp_path: Any) -> None:
    assert case(tmp_path, policies={"seed": 5}).config.seed == 5


@pytest.mark.parametrize(
    ("parts", "path", "says"),
    [
        ({"colour": 1}, "colour", "no such key"),
        ({"whatIf": [{"name": "w", "expect": [{"bound_total": 1}]}]},
         "whatIf[0]", "changes nothing"),
        ({"whatIf": [{"name": "w", "edits": [{"drain": "n"}]}]}, "whatIf[0]", "expects nothing"),
        ({"whatIf": [{"name": "w", "edits": [{"drain": "n", "cordon": "n"}]}]},
         "whatIf[0].edits[0]", "one edit in each item"),
        ({"whatIf": [{"name": "w", "edits": [{"explode": "n"}]}]},
         "whatIf[0].edits[0].explode", "no such key"),
        ({"whatIf": [{"name": "w", "edits": [{"drain": "n"}],
                      "difference": {"share": {"q": [0.5, 0.2]}}}]},
         "whatIf[0].difference.share.q", "a part of 1"),
        ({"solver": {}}, "solver", "under config"),
        ({"cluster": {"nodes": [{"name": ""}]}}, "cluster.nodes[0].name", "empty"),
        ({"cluster": {"nodes": [{"name": "n", "repeat": 2}]}}, "cluster.nodes[0]", "{i}"),
        ({"cluster": {"nodes": [{"name": "{x}"}]}}, "cluster.nodes[0].name", "no pattern"),
        ({"cluster": {"nodes": [{"name": "n", "capacity": {"cpu": "1GiB"}}]}},
         "cluster.nodes[0].capacity", "cpu"),
        ({"cluster": {"nodes": [{"name": "n", "taints": [{"key": "a", "effect": "Maybe"}]}]}},
         "cluster.nodes[0].taints[0].effect", "NoSchedule"),
        ({"cluster": {"snapshot": "s", "files": ["f"]}}, "cluster", "whole cluster"),
        ({"cluster": {"snapshot": "s"}, "queues": [{"name": "q"}]}, "cluster.snapshot",
         "own queues"),
        ({"queues": [{"name": "q", "weight": -1}]}, "queues[0].weight", "0"),
        ({"queues": [{"name": "q", "quota": {}, "capability": {}}]}, "queues[0]", "same as"),
        ({"groups": [{"name": "g"}]}, "groups[0]", "how many pods"),
        ({"groups": [{"name": "g", "pods": "4"}]}, "groups[0].pods", "whole number"),
        ({"groups": [{"name": "g", "pods": -1}]}, "groups[0].pods", "0"),
        ({"groups": [{"name": "g", "pods": 1, "roles": [{"name": "r", "pods": 1}]}]},
         "groups[0]", "follows from the roles"),
        ({"groups": [{"name": "g", "pods": 1, "running": ["a", "b"]}]}, "groups[0]", "2 places"),
        ({"groups": [{"name": "g", "pods": 1, "age": "1h", "created": NOON}]}, "groups[0]", "same"),
        ({"groups": [{"name": "g", "pods": 1, "age": "old"}]}, "groups[0].age", "duration"),
        ({"groups": [{"name": "g", "pods": 1, "age": "{j}m"}]}, "groups[0].age", "no pattern"),
        ({"groups": [{"repeat": 3, "name": "g{i}", "pods": 1, "age": "{1-i}m"}]}, "groups[0]",
         "'-1m' is no duration"),
        ({"groups": [{"name": "g", "pods": 1, "created": "old"}]}, "groups[0].created",
         "timestamp"),
        ({"groups": [{"name": "g", "pods": 1, "topology": {}}]}, "groups[0].topology", "asks for"),
        ({"groups": [{"name": "g", "pods": 1, "age": "1h"}], "cluster": {"files": ["f"]}}, "now",
         "counted back"),
        ({"now": "noon"}, "now", "timestamp"),
        ({"schedulerNames": []}, "schedulerNames", "at least 1"),
        ({"config": {"budget": "x"}}, "config.budget", "duration"),
        ({"config": {"seed": 1}, "policies": {"seed": 2}}, "policies", "another word"),
        ({"expect": [{"after": "plan"}]}, "expect[0]", "expects nothing"),
        ({"expect": [{"is": "placed"}]}, "expect[0]", "needs a group"),
        ({"expect": [{"group": "g"}]}, "expect[0]", "expected to do nothing"),
        ({"expect": [{"group": "g", "is": "happy"}]}, "expect[0].is", "placed"),
        ({"expect": [{"running_count": {"g": [3, 1]}}]}, "expect[0].running_count.g",
         "[least, most]"),
        ({"expect": [{"same_tier": {"g": 1}}]}, "expect[0].same_tier", "no such key"),
        ({"expect": [{"queue_used": {"q": {"cpu": "lots"}}}]}, "expect[0].queue_used.q.cpu",
         "quantity"),
    ],
)  # fmt: skip
def test_mistake_is_refused_with_its_path(parts: dict[str, Any], path: str, says: str) -> None:
    with pytest.raises(InputError) as e:
        scenario_of(Document("s.yaml", 0, scenario(**parts)))

    assert str(e.value).startswith("s.yaml: ")
    assert path in str(e.value)
    assert says in str(e.value)


@pytest.mark.parametrize(
    ("parts", "path", "says"),
    [
        ({"cluster": {"nodes": [{"repeat": 3, "name": "n{i//(2-i)}"}]}},
         "cluster.nodes[0].name", "'{i//(2-i)}' is no pattern"),
        ({"cluster": {"nodes": [{"name": "a"}, {"repeat": 3, "name": "n{i}",
                                               "labels": {"x": "{1//(2-i)}"}}]}},
         "cluster.nodes[1].labels.x", "is no pattern"),
        ({"cluster": {"nodes": [{"repeat": 3, "name": "n{i}",
                                 "taints": [{"key": "a", "value": "{1//(2-i)}"}]}]}},
         "cluster.nodes[0].taints[0].value", "is no pattern"),
        ({"groups": [{"name": "a", "pods": 1}, {"repeat": 3, "name": "g{i%(2-i)}", "pods": 1}]},
         "groups[1].name", "is no pattern"),
        ({"groups": [{"repeat": 3, "name": "g{i}", "pods": 1,
                      "nodeSelector": {"a/b": "{1//(2-i)}"}}]},
         'groups[0].nodeSelector["a/b"]', "is no pattern"),
        ({"groups": [{"repeat": 3, "name": "g{i}", "pods": 1,
                      "tolerations": [{"key": "{j}"}]}]},
         "groups[0].tolerations[0].key", "is no pattern"),
    ],
)  # fmt: skip
def test_pattern_that_is_bad_at_a_later_number_is_refused_with_its_path(
    tmp_path: Any, parts: dict[str, Any], path: str, says: str
) -> None:
    with pytest.raises(InputError) as e:
        case(tmp_path, **parts)

    at = 0 if "tolerations" in path else 2
    assert f"s.json: {path}: at i = {at}: " in str(e.value)
    assert says in str(e.value)


@pytest.mark.parametrize("groups", [5, "g", {"name": "g"}, [5]])
def test_groups_that_are_no_list_of_groups_are_refused(groups: Any) -> None:
    with pytest.raises(InputError, match="groups"):
        scenario_of(Document("s.yaml", 0, scenario(groups=groups)))


def test_all_mistakes_come_at_once() -> None:
    bad = scenario(groups=[{"name": "g"}, {"pods": 1}], queues=[{"weight": 1}], now=7)

    with pytest.raises(InputError) as e:
        scenario_of(Document("s.yaml", 1, bad))

    for part in ("s.yaml (object 2)", "groups[0]", "groups[1].name", "queues[0].name", "now"):
        assert part in str(e.value)


def test_every_scenario_of_a_folder_is_a_case_of_its_own(tmp_path: Any) -> None:
    import yaml

    two = [scenario(metadata={"name": "a"}), scenario(metadata={"name": "b"})]
    (tmp_path / "x.yaml").write_text(yaml.safe_dump_all(two))

    assert [c.title for c in scenario_cases([str(tmp_path)], Asked())] == ["a", "b"]
