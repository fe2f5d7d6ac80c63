"""Topologies at the door: HyperNodes, Topology objects, labels, and who asks for what."""

from typing import Any

import pytest

from apportion.models import Snapshot, TopologyRequest
from kubernetes_objects import Data, group_in, in_group, node, obj, pod, pod_group, pod_in, snapshot

KAI, UPSTREAM = "scheduling.run.ai/v2alpha2", "scheduling.k8s.io/v1alpha2"
LABELS = {"zone": "z1", "rack": "r1"}


def labelled(name: str, **labels: str) -> Data:
    made = node(name)
    made["metadata"]["labels"] |= labels
    return made


def hypernode(name: str, tier: int, *members: Any, tier_name: str = "") -> Data:
    """Return a HyperNode; a member is a selector of nodes, or (selector of HyperNodes,)."""
    spec: Data = {
        "tier": tier,
        "members": [
            {"type": "HyperNode", "selector": m[0]}
            if isinstance(m, tuple)
            else {"type": "Node", "selector": m}
            for m in members
        ],
    }
    if tier_name:
        spec["tierName"] = tier_name
    return obj("topology.volcano.sh/v1alpha1", "HyperNode", name, None, spec=spec)


def exact(name: str) -> Data:
    return {"exactMatch": {"name": name}}


def regex(pattern: str) -> Data:
    return {"regexMatch": {"pattern": pattern}}


def hard(tier: int | None = None, **more: Any) -> Data:
    named = {} if tier is None else {"highestTierAllowed": tier}
    return pod_group("g", networkTopology={"mode": "hard", **named, **more})


NODES = [labelled(f"n{i}", zone="z1" if i < 4 else "z2", rack=f"r{i // 2}") for i in range(6)]
LEAVES = [
    hypernode("a", 1, exact("n0"), exact("n1"), tier_name="leaf"),
    hypernode("b", 1, regex("^n[23]$"), tier_name="leaf"),
    hypernode("c", 1, {"labelMatch": {"matchLabels": {"rack": "r2"}}}, tier_name="leaf"),
]
TREE = [*LEAVES, hypernode("top", 3, (regex("^[ab]$"),))]
MEMBER = pod("p", annotations=in_group("g"))


def levels(world: Snapshot) -> dict[str, dict[str, list[str]]]:
    (topology,) = world.topologies
    return {x.name: {d: list(n) for d, n in x.domains.items()} for x in topology.levels}


def test_hypernodes_become_levels_by_tier() -> None:
    world = snapshot(*NODES, *TREE, hard(1), MEMBER)

    assert levels(world) == {
        "tier 3": {"top": ["n0", "n1", "n2", "n3"], "c": ["n4", "n5"]},
        "leaf": {"a": ["n0", "n1"], "b": ["n2", "n3"], "c": ["n4", "n5"]},
    }
    assert world.rejected == ()


@pytest.mark.parametrize(
    ("asked", "want"),
    [
        pytest.param({"tier": 1}, "leaf", id="the lowest tier"),
        pytest.param({"tier": 2}, "leaf", id="a tier that no HyperNode has"),
        pytest.param({"tier": 3}, "tier 3", id="the highest tier"),
        pytest.param({"tier": 4}, "", id="beyond lies the whole cluster"),
        pytest.param({"highestTierName": "leaf"}, "leaf", id="by name"),
        pytest.param({"mode": "soft", "tier": 1}, "", id="soft"),
        pytest.param({}, "", id="hard without a tier"),
    ],
)
def test_the_highest_tier_allowed_is_the_required_level(asked: Data, want: str) -> None:
    group = group_in(snapshot(*NODES, *TREE, hard(**asked), MEMBER), "g")

    assert group.topology == TopologyRequest("hypernodes", want, "leaf")
    assert group.hold == ()


@pytest.mark.parametrize(
    ("objects", "group", "want"),
    [
        ([], hard(1), "no HyperNodes"),
        (TREE, hard(0), "tier 0 or lower; the lowest is 1"),
        (TREE, hard(highestTierName="row"), "tier name 'row'"),
        (
            [],
            pod_group("g", api=KAI, topologyConstraint={
                "topology": "net", "requiredTopologyLevel": "rack"}),
            "no Topology net",
        ),
    ],
)  # fmt: skip
def test_what_does_not_exist_holds_the_group(objects: list[Data], group: Data, want: str) -> None:
    join = {"pod-group-name": "g"} if KAI in group["apiVersion"] else in_group("g")
    world = snapshot(*NODES, *objects, group, pod("p", annotations=join))

    (reason,) = group_in(world, "g").hold
    assert reason.rule == "topology"
    assert want in reason.message


def test_a_wish_without_hypernodes_is_warned_of() -> None:
    world = snapshot(*NODES, pod_group("g", networkTopology={"mode": "soft"}), MEMBER)

    assert group_in(world, "g").hold == ()
    assert any("no HyperNodes" in w.message for w in world.warnings)


@pytest.mark.parametrize(
    ("bad", "path", "want"),
    [
        (hypernode("x", 1), "spec.members", "empty"),
        (hypernode("x", 1, {}), "spec.members[0].selector", "exactly one"),
        (hypernode("x", 1, {**exact("n0"), **regex("n")}), "spec.members[0].selector", "exactly"),
        (hypernode("x", 1, regex("(")), "spec.members[0].selector.regexMatch.pattern", "pattern"),
        (hypernode("x", 1, regex("(?=n)n")), "spec.members[0].selector.regexMatch.pattern", "Go"),
        (hypernode("x", 2, (exact("x"),)), "spec.members", "lies in itself"),
        (hypernode("x", 1, exact("n1"), exact("n2")), "spec.members", "shares node n1"),
        (
            hypernode("x", 2, ({"labelMatch": {"matchLabels": {"a": "b"}}},)),
            "spec.members[0].selector.labelMatch",
            "nodes only",
        ),
        (hypernode("x", -1, exact("n0")), "spec.tier", ""),
    ],
)
def test_bad_hypernodes_are_rejected_and_the_others_stand(bad: Data, path: str, want: str) -> None:
    world = snapshot(*NODES, *TREE, bad, hard(1), MEMBER)

    found = [r for r in world.rejected if r.object.endswith("x")]
    assert [r.path for r in found] == [path]
    assert want in found[0].message
    assert set(levels(world)["leaf"]) == {"a", "b", "c"}


def test_labels_are_levels_and_tiers_where_nothing_else_says_so() -> None:
    world = snapshot(*NODES, labelled("n9", rack="r0"), hard(2), MEMBER,
                     topology_labels=("zone", "rack"))  # fmt: skip

    assert group_in(world, "g").topology == TopologyRequest("labels", "zone", "rack")
    assert levels(world)["zone"] == {"z1": ["n0", "n1", "n2", "n3"], "z2": ["n4", "n5"]}
    assert levels(world)["rack"] == {
        "z1/r0": ["n0", "n1"], "z1/r1": ["n2", "n3"], "z2/r2": ["n4", "n5"],
    }  # fmt: skip


def topology(group: str, name: str, *labels: str, **alias: str) -> Data:
    found = [{"nodeLabel": x} for x in labels]
    found += [{"nodeLabel": label, "alias": a} for a, label in alias.items()]
    return obj(f"{group}/v1alpha1", "Topology", name, None, spec={"levels": found})


def test_kai_requests_levels_of_a_named_topology() -> None:
    subs = [
        {"name": "all", "topologyConstraint": {"topology": "net", "requiredTopologyLevel": "zone"}},
        {"name": "a", "minMember": 1, "parent": "all",
         "topologyConstraint": {"topology": "net", "preferredTopologyLevel": "tor"}},
        {"name": "b", "minMember": 1},
    ]  # fmt: skip
    group = pod_group("g", api=KAI, minMember=2, subGroups=subs)
    pods = [
        pod(f"p{x}", annotations={"pod-group-name": "g"}, labels={"kai.scheduler/subgroup-name": x})
        for x in "ab"
    ]
    world = snapshot(*NODES, topology("kai.scheduler", "net", "zone", tor="rack"), group, *pods)

    found = {s.name: s.topology for s in group_in(world, "g").subgroups}
    assert found == {
        "all": TopologyRequest("kai/net", "zone", ""),
        "a": TopologyRequest("kai/net", "", "rack"),
    }
    assert pod_in(world, "pa").subgroups == ("all", "a")
    assert pod_in(world, "pb").subgroups == ()


def test_kueue_requests_are_of_pod_sets() -> None:
    def member(name: str, role: str, **notes: str) -> Data:
        more = {f"kueue.x-k8s.io/podset-{k.replace('_', '-')}": v for k, v in notes.items()}
        return pod(name, annotations={**in_group("g"), "volcano.sh/task-spec": role, **more})

    world = snapshot(
        *NODES,
        topology("kueue.x-k8s.io", "net", "zone", "rack", "kubernetes.io/hostname"),
        pod_group("g", minMember=4),
        member("a", "leader", required_topology="zone", group_name="both"),
        member("b", "worker", required_topology="zone", group_name="both"),
        member("c", "store", preferred_topology="rack"),
        member("d", "store", unconstrained_topology="true"),
    )

    found = {s.name: s.topology for s in group_in(world, "g").subgroups}
    assert found == {
        "both in zone": TopologyRequest("kueue/net", "zone", "rack"),
        "store in rack": TopologyRequest("kueue/net", "", "rack"),
    }
    assert pod_in(world, "a").subgroups == pod_in(world, "b").subgroups == ("both in zone",)
    assert pod_in(world, "c").subgroups == ("store in rack",)
    assert pod_in(world, "d").subgroups == ()


def test_upstream_names_labels() -> None:
    group = pod_group("g", api=UPSTREAM, schedulingConstraints={"topology": [{"key": "rack"}]})
    world = snapshot(*NODES, group, pod("p", schedulingGroup={"podGroupName": "g"}))

    assert group_in(world, "g").topology == TopologyRequest("label rack", "rack", "")
    assert levels(world) == {"rack": {f"r{i}": [f"n{2 * i}", f"n{2 * i + 1}"] for i in range(3)}}


@pytest.mark.parametrize(
    ("notes", "want"),
    [
        (
            {"apportion.dev/topology-required": "zone", "apportion.dev/topology-preferred": "rack"},
            TopologyRequest("labels", "zone", "rack"),
        ),
        (
            {"kai.scheduler/topology-required-placement": "rack"},
            TopologyRequest("labels", "rack", ""),
        ),
        (
            {"volcano.sh/network-topology-mode": "hard",
             "volcano.sh/network-topology-highest-tier": "1"},
            TopologyRequest("labels", "rack", "rack"),
        ),
    ],
)  # fmt: skip
def test_annotations_speak_for_the_group(notes: dict[str, str], want: TopologyRequest) -> None:
    world = snapshot(*NODES, pod("p", annotations=notes), topology_labels=("zone", "rack"))

    assert group_in(world, "p").topology == want


def test_policies_split_pods_by_label_values() -> None:
    near = {"mode": "hard", "highestTierAllowed": 1}
    policies = [
        {"name": "s", "labelSelector": {"matchLabels": {"set": "x"}}, "matchLabelKeys": ["part"],
         "networkTopology": near},
        {"name": "rest", "networkTopology": near},
    ]  # fmt: skip
    labels = [{"set": "x", "part": "0"}, {"set": "x", "part": "1"}, {"set": "x"}, {}]
    world = snapshot(
        *NODES,
        *TREE,
        pod_group("g", minMember=4, subGroupPolicy=policies),
        *(pod(f"p{i}", annotations=in_group("g"), labels=x) for i, x in enumerate(labels)),
    )

    assert [pod_in(world, f"p{i}").subgroups for i in range(4)] == [
        ("s/0",), ("s/1",), ("rest",), ("rest",),
    ]  # fmt: skip


def test_a_job_that_is_cut_into_parts_makes_them_subgroups() -> None:
    near = {"mode": "hard", "highestTierAllowed": 1}
    task = {
        "name": "w", "replicas": 4, "template": {"spec": {"containers": [{"name": "c"}]}},
        "partitionPolicy": {"totalPartitions": 2, "partitionSize": 2, "networkTopology": near},
    }  # fmt: skip
    spec = {
        "schedulerName": "apportion", "tasks": [task],
        "networkTopology": {"mode": "hard", "highestTierAllowed": 3},
    }  # fmt: skip
    world = snapshot(*NODES, *TREE, obj("batch.volcano.sh/v1alpha1", "Job", "j", spec=spec))

    group = group_in(world, "j")
    assert group.topology == TopologyRequest("hypernodes", "tier 3", "leaf")
    assert [s.name for s in group.subgroups] == ["w/0", "w/1"]
    assert [pod_in(world, f"j-w-{i}").subgroups for i in range(4)] == [
        ("w/0",), ("w/0",), ("w/1",), ("w/1",),
    ]  # fmt: skip


def test_a_level_that_the_topology_does_not_have_is_named_with_those_it_has() -> None:
    wish = {"topology": "net", "requiredTopologyLevel": "row"}
    world = snapshot(
        *NODES, topology("kai.scheduler", "net", "zone", "rack"),
        pod_group("g", api=KAI, topologyConstraint=wish),
        pod("p", annotations={"pod-group-name": "g"}),
    )  # fmt: skip

    (reason,) = group_in(world, "g").hold
    assert "row is no level of Topology net; its levels are: zone, rack" in reason.message


def test_only_topologies_that_somebody_asks_for_are_kept() -> None:
    assert snapshot(*NODES, *TREE, pod("p"), topology_labels=("zone",)).topologies == ()


def members(*labels: dict[str, str], **notes: str) -> list[Data]:
    more = {k.replace("__", "/").replace("_", "-"): v for k, v in notes.items()}
    return [
        pod(f"p-{i}", annotations={**in_group("g"), **more}, labels=x) for i, x in enumerate(labels)
    ]


def test_slices_are_of_so_many_pods_by_name_or_index() -> None:
    notes = {
        "kueue.x-k8s.io__podset_required_topology": "zone",
        "kueue.x-k8s.io__podset_slice_required_topology": "rack",
        "kueue.x-k8s.io__podset_slice_size": "2",
    }
    group = pod_group("g", minMember=4)
    by_name = snapshot(*NODES, group, *members({}, {}, {}, {}, **notes),
                       topology_labels=("zone", "rack"))  # fmt: skip
    index = "batch.kubernetes.io/job-completion-index"
    by_index = snapshot(*NODES, group, *members(*({index: n} for n in "3102"), **notes),
                        topology_labels=("zone", "rack"))  # fmt: skip

    whole, first, second = "pods in zone", "pods slice 0", "pods slice 1"
    found = {s.name: s.topology.required for s in group_in(by_name, "g").subgroups}
    assert found == {whole: "zone", first: "rack", second: "rack"}
    assert [pod_in(by_name, f"p-{i}").subgroups[1] for i in range(4)] == [
        first, first, second, second,
    ]  # fmt: skip
    assert [pod_in(by_index, f"p-{i}").subgroups[1] for i in range(4)] == [
        second, first, first, second,
    ]  # fmt: skip


def layered(written: str) -> Snapshot:
    notes = {"kueue.x-k8s.io__podset_slice_required_topology_constraints": written}
    return snapshot(*NODES, pod_group("g", minMember=4), *members({}, {}, {}, {}, **notes),
                    topology_labels=("zone", "rack"))  # fmt: skip


@pytest.mark.parametrize("sizes", [("4", "2"), ('"4"', '"2"')], ids=["numbers", "strings"])
def test_slices_of_slices_are_in_a_domain_each(sizes: tuple[str, str]) -> None:
    world = layered(
        f'[{{"topology": "zone", "size": {sizes[0]}}}, {{"topology": "rack", "size": {sizes[1]}}}]'
    )

    assert {s.name: s.topology.required for s in group_in(world, "g").subgroups} == {
        "pods slice 0": "zone",
        "pods slice 0 of layer 2": "rack",
        "pods slice 1 of layer 2": "rack",
    }
    assert [pod_in(world, f"p-{i}").subgroups for i in (0, 3)] == [
        ("pods slice 0", "pods slice 0 of layer 2"),
        ("pods slice 0", "pods slice 1 of layer 2"),
    ]
    assert world.warnings == ()


@pytest.mark.parametrize(
    ("written", "made", "says"),
    [
        ("rack", 0, "is no list such as"),
        ("[]", 0, "is no list such as"),
        ('[{"topology": "rack", "size": 0}]', 0, "is no list such as"),
        ('[{"topology": "rack", "size": "many"}]', 0, "is no list such as"),
        ('[{"topology": "zone", "size": 3}, {"topology": "rack", "size": 2}]', 4, "not divide"),
    ],
)
def test_layers_of_slices_that_make_no_sense_are_warned_of(
    written: str, made: int, says: str
) -> None:
    world = layered(written)

    assert len(group_in(world, "g").subgroups) == made
    assert {w.path for w in world.warnings} == {
        'metadata.annotations["kueue.x-k8s.io/podset-slice-required-topology-constraints"]'
    }
    assert all(says in w.message for w in world.warnings)


def test_segments_are_slices() -> None:
    notes = {
        "kai.scheduler__segment_size": "2",
        "kai.scheduler__segment_topology_required_placement": "rack",
    }
    world = snapshot(*NODES, pod_group("g", minMember=3), *members({}, {}, {}, **notes))

    assert [pod_in(world, f"p-{i}").subgroups for i in range(3)] == [
        ("pods slice 0",), ("pods slice 0",), ("pods slice 1",),
    ]  # fmt: skip


def test_a_slice_size_that_is_no_number_is_warned_of() -> None:
    notes = {
        "kueue.x-k8s.io__podset_slice_required_topology": "rack",
        "kueue.x-k8s.io__podset_slice_size": "0",
    }
    world = snapshot(*NODES, pod_group("g"), *members({}, **notes))

    assert [w.message for w in world.warnings] == [
        "is no whole number of 1 or more; no slices are made"
    ]
