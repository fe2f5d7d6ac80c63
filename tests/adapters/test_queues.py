"""Queues of every system become one tree, with the defaults that users rely on."""

from typing import Any

import pytest

from apportion.models import UNLIMITED, QueueState, Reclaims, Snapshot
from kubernetes_objects import (
    group_in,
    in_group,
    obj,
    pod,
    pod_group,
    pod_in,
    queue,
    queue_in,
    snapshot,
)

GI = 1 << 30
KAI = "scheduling.run.ai/v2"
KUEUE = "kueue.x-k8s.io/v1beta1"
KOORDINATOR = "quota.scheduling.koordinator.sh/"


def test_a_queue_has_defaults_and_the_default_queue_always_exists() -> None:
    world = snapshot(queue("a"))

    assert [q.name for q in world.queues] == ["a", "default"]
    a = queue_in(world, "a")
    assert (a.weight, a.priority, a.parent, a.state) == (1, 0, None, QueueState.OPEN)
    assert (a.reclaimable, a.namespaces, a.deserved, a.capability) == (True, None, {}, {})


def test_what_a_volcano_queue_says() -> None:
    world = snapshot(
        queue("org", parent="root"),
        queue(
            "team",
            parent="org",
            weight=0,
            priority=7,
            reclaimable=False,
            capability={"cpu": 0, "memory": "-1", "nvidia.com/gpu": 8, "example.com/x": 0},
            deserved={"cpu": "1500m", "nvidia.com/gpu": 0},
            guarantee={"resource": {"memory": "1Gi"}},
            status={"state": "Closing"},
            meta={"annotations": {"apportion.dev/namespaces": "a, b"}},
        ),
    )

    team = queue_in(world, "team")
    assert (team.parent, team.weight, team.priority, team.reclaimable) == ("org", 0, 7, False)
    assert team.capability == {"nvidia.com/gpu": 8000, "example.com/x": 0}
    assert team.deserved == {"cpu": 1500, "nvidia.com/gpu": 0}
    assert dict(team.guarantee) == {"memory": GI}
    assert team.state is QueueState.CLOSING
    assert team.namespaces == frozenset("ab")
    assert queue_in(world, "org").parent is None


@pytest.mark.parametrize(
    ("annotations", "want"),
    [
        ({"example.com/allowed-namespaces": "a, b"}, {"a", "b"}),
        ({"allowed-namespaces": "a"}, {"a"}),
        ({"x.io/allowed-namespaces": "a, b", "y.io/allowed-namespaces": "b, c"}, {"b"}),
        ({"x.io/allowed-namespaces": "a", "apportion.dev/namespaces": "b"}, {"b"}),
        ({"example.com/allowed-namespaces": ""}, set()),
        ({"example.com/not-allowed-namespaces": "a"}, None),
    ],
)
def test_who_may_use_a_queue(annotations: dict[str, str], want: set[str] | None) -> None:
    """Our annotation counts alone; of others', by whatever prefix, every one is obeyed."""
    world = snapshot(queue("q", meta={"annotations": annotations}))

    assert queue_in(world, "q").namespaces == (None if want is None else frozenset(want))


def test_the_object_of_the_root_is_no_queue() -> None:
    world = snapshot(queue("root", capability={"cpu": 4}))

    assert [q.name for q in world.queues] == ["default"]
    assert [(w.object, w.path) for w in world.warnings] == [("Queue root", "spec.capability")]


def test_parts_that_are_not_used_are_said_and_no_others() -> None:
    preferred = {"preferredDuringSchedulingIgnoredDuringExecution": ["g"]}
    world = snapshot(queue("a", affinity={"nodeGroupAffinity": preferred}, dequeueStrategy="fifo"))

    assert [w.path for w in world.warnings] == ["spec.dequeueStrategy"]


def at_path(name: str, path: str, weights: str | None = None, **spec: Any) -> dict[str, Any]:
    notes = {"volcano.sh/hierarchy": path}
    if weights is not None:
        notes["volcano.sh/hierarchy-weights"] = weights
    return queue(name, meta={"annotations": notes}, **spec)


def test_queues_of_a_path_are_below_its_parts() -> None:
    world = snapshot(
        at_path("eng-prod", "root/eng/prod", "1/2/8"), at_path("eng-dev", "root/eng/dev", "1/2/2"),
        at_path("sci", "root/sci", "1/3"), at_path("own", "root/eng/own", "1/2/5", parent="sci"),
    )  # fmt: skip

    assert {q.name: (q.parent, q.weight) for q in world.queues} == {
        "default": (None, 1), "eng-prod": ("root/eng", 8), "eng-dev": ("root/eng", 2),
        "root/eng": (None, 2), "sci": (None, 3), "own": ("sci", 1),
    }  # fmt: skip
    assert world.warnings == ()


@pytest.mark.parametrize(
    ("path", "weights", "want", "key"),
    [
        ("eng/prod", "1/1", (None, 1), "hierarchy"),
        ("root//x", "1/1/1", (None, 1), "hierarchy"),
        ("root/eng/x", "1/2", ("root/eng", 1), "hierarchy-weights"),
        ("root/eng/x", "1/0/2", ("root/eng", 1), "hierarchy-weights"),
    ],
)
def test_a_path_that_cannot_be_read_is_warned_of(
    path: str, weights: str, want: tuple[str | None, int], key: str
) -> None:
    world = snapshot(at_path("x", path, weights))

    made = queue_in(world, "x")
    assert (made.parent, made.weight) == want
    assert [w.path for w in world.warnings] == [f'metadata.annotations["volcano.sh/{key}"]']


def test_of_two_weights_of_a_part_the_first_counts() -> None:
    world = snapshot(at_path("a", "root/p/a", "1/2/1"), at_path("b", "root/p/b", "1/3/1"))

    assert queue_in(world, "root/p").weight == 2
    assert [w.object for w in world.warnings] == ["Queue b"]


def test_queues_on_a_cycle_are_held_and_cut_out() -> None:
    world = snapshot(
        queue("a", parent="b"),
        queue("b", parent="c"),
        queue("c", parent="a"),
        queue("self", parent="self"),
        queue("below", parent="a"),
        queue("orphan", parent="gone"),
    )

    held = {str(q.name): q.hold[0].message for q in world.queues if q.hold}
    assert held["a"].startswith("queue a is its own ancestor: a -> b -> c -> a;")
    assert held["b"].startswith("queue b is its own ancestor: b -> c -> a -> b;")
    assert held["self"].startswith("queue self is its own ancestor: self -> self;")
    assert held["orphan"].startswith("queue orphan: parent gone does not exist")
    assert set(held) == {"a", "b", "c", "self", "orphan"}
    assert {q.name: q.parent for q in world.queues if q.parent} == {"below": "a"}


def test_amounts_a_million_times_apart_are_warned_of() -> None:
    world = snapshot(
        queue("a", deserved={"memory": "64"}, capability={"cpu": 1}),
        queue("b", deserved={"memory": "64Gi"}, capability={"cpu": 1000}),
    )

    (warning,) = world.warnings
    assert (warning.object, warning.path) == ("Queue a", "spec.deserved.memory")
    assert "check the unit" in warning.message


def test_kai_queues_have_kais_units_and_defaults() -> None:
    share = {"quota": 1500, "limit": 0, "overQuotaWeight": 3}
    world = snapshot(
        queue("dept", api=KAI, resources={"gpu": {"quota": -1, "limit": -1}}),
        queue(
            "team",
            api=KAI,
            parentQueue="dept",
            priority=5,
            resources={"cpu": share, "memory": {"quota": 2.5}, "gpu": {"limit": 0.5}},
        ),
    )

    dept, team = queue_in(world, "dept"), queue_in(world, "team")
    assert (dept.priority, dept.weight, team.priority, team.weight) == (100, 1, 5, 3)
    assert dept.deserved == {"cpu": 0, "memory": 0, "nvidia.com/gpu": UNLIMITED}
    assert dept.capability == {}
    assert team.deserved == {"cpu": 1500, "memory": 2_500_000, "nvidia.com/gpu": 0}
    assert team.capability == {"cpu": 0, "nvidia.com/gpu": 500}
    assert team.parent == "dept"


def test_kai_queues_say_how_long_work_runs_at_least() -> None:
    world = snapshot(
        queue("dept", api=KAI, preemptMinRuntime="1h30m", reclaimMinRuntime="0s"),
        queue("team", api=KAI, parentQueue="dept"),
        queue("typo", api=KAI, preemptMinRuntime="ten minutes", reclaimMinRuntime="90s"),
    )

    runtimes = {
        q.name: (q.preempt_min_runtime_s, q.reclaim_min_runtime_s)
        for q in world.queues
        if q.name != "default"
    }
    assert runtimes == {"dept": (5400, 0), "team": (None, None), "typo": (None, 90)}
    (warning,) = world.warnings
    assert (warning.object, warning.path) == ("Queue typo", "spec.preemptMinRuntime")
    assert "what the queue above says counts" in warning.message


def test_weights_become_whole_numbers_together() -> None:
    world = snapshot(
        queue("a", api=KAI, resources={"gpu": {"overQuotaWeight": 0.5}}),
        queue("b", api=KAI, resources={"gpu": {"overQuotaWeight": 0}}),
        queue("c"),
    )

    assert {q.name: q.weight for q in world.queues} == {"a": 1, "b": 0, "c": 2, "default": 2}


def test_of_two_queues_of_one_name_volcanos_counts() -> None:
    world = snapshot(queue("q", api=KAI, priority=9), queue("q", weight=5))

    assert queue_in(world, "q").weight == 5
    assert [w.message for w in world.warnings] == [
        "Queue q of scheduling.volcano.sh, read before, has the same name and counts, not that of "
        "scheduling.run.ai"
    ]


def test_a_kai_queue_named_root_is_a_queue_where_it_is_declared() -> None:
    below = queue("team", api=KAI, parentQueue="root")

    declared = snapshot(queue("root", api=KAI, resources={"gpu": {"limit": 2}}), below)
    only_named = snapshot(below)

    assert queue_in(declared, "team").parent == "root"
    assert queue_in(declared, "root").capability == {"nvidia.com/gpu": 2000}
    assert (queue_in(only_named, "team").parent, queue_in(only_named, "team").hold) == (None, ())


def elastic(
    name: str, namespace: str, api: str = "scheduling.x-k8s.io/v1alpha1", **labels: str
) -> Any:
    out = obj(
        api,
        "ElasticQuota",
        name,
        namespace,
        spec={"min": {"cpu": 2}, "max": {"cpu": 4}},
    )
    out["metadata"]["labels"] = {KOORDINATOR + k.replace("_", "-"): v for k, v in labels.items()}
    return out


def test_an_elastic_quota_is_the_queue_of_its_namespace() -> None:
    world = snapshot(elastic("q", "team"), pod("p", namespace="team"), pod("o"))

    made = queue_in(world, "team/q")
    assert (made.deserved, made.capability, dict(made.guarantee)) == (
        {"cpu": 2000},
        {"cpu": 4000},
        {},
    )
    assert {g.key: g.queue for g in world.groups} == {"team/p": "team/q", "default/o": "default"}


def test_koordinators_quotas_form_a_tree_and_pods_name_them_by_label() -> None:
    api = "scheduling.sigs.k8s.io/v1alpha1"
    world = snapshot(
        elastic("top", "kube-system", api, parent="koordinator-root-quota", is_parent="true"),
        elastic("leaf", "kube-system", api, parent="top", allow_lent_resource="false"),
        pod("p", labels={f"{KOORDINATOR}name": "leaf"}),
        pod("q", labels={f"{KOORDINATOR}name": "gone"}),
    )

    leaf = queue_in(world, "kube-system/leaf")
    assert (leaf.parent, dict(leaf.guarantee)) == ("kube-system/top", {"cpu": 2000})
    assert queue_in(world, "kube-system/top").parent is None
    assert [g.queue for g in world.groups] == ["kube-system/leaf", "gone"]


@pytest.mark.parametrize(
    ("made", "want"),
    [
        pytest.param({}, "of-namespace", id="the namespace's annotation"),
        pytest.param(
            {"annotations": {"scheduling.volcano.sh/queue-name": "own"}}, "own", id="annotation"
        ),
        pytest.param({"labels": {"volcano.sh/queue-name": "own"}}, "own", id="label"),
        pytest.param({"labels": {"kai.scheduler/queue": "own"}}, "own", id="KAI's label"),
        pytest.param({"labels": {"kueue.x-k8s.io/queue-name": "own"}}, "of-namespace",
                     id="Kueue's label plays no part"),
        pytest.param({"annotations": in_group("g")}, "of-group", id="its group"),
    ],
)  # fmt: skip
def test_the_queue_of_a_pod(made: dict[str, Any], want: str) -> None:
    notes = {"annotations": {"scheduling.volcano.sh/queue-name": "of-namespace"}}
    world = snapshot(
        obj("v1", "Namespace", "default", None, meta=notes),
        pod_group("g", queue="of-group"),
        pod("p", **made),
    )

    assert group_in(world, pod_in(world, "p").group or "").queue == want


def test_a_group_that_names_no_queue_has_that_of_its_pods() -> None:
    world = snapshot(
        pod_group("g"),
        pod("p", annotations={**in_group("g"), "scheduling.volcano.sh/queue-name": "own"}),
    )

    assert group_in(world, "g").queue == "own"


def cluster_queue(name: str, *flavors: dict[str, Any], **spec: Any) -> dict[str, Any]:
    spec.setdefault("namespaceSelector", {})
    rows = [
        {"name": f"f{i}", "resources": [{"name": "cpu", **quota}]}
        for i, quota in enumerate(flavors)
    ]
    groups = [{"coveredResources": ["cpu"], "flavors": rows}]
    return obj(KUEUE, "ClusterQueue", name, None, spec={"resourceGroups": groups, **spec})


def kueue(*objects: Any) -> Snapshot:
    world = snapshot(*objects, queues_from="kueue")
    assert world.rejected == ()
    return world


def test_cluster_queues_lend_and_borrow_in_their_cohort() -> None:
    world = kueue(
        cluster_queue(
            "a",
            {"nominalQuota": 4, "borrowingLimit": 2, "lendingLimit": 1},
            {"nominalQuota": "500m", "borrowingLimit": 0},
            cohortName="all",
            fairSharing={"weight": "500m"},
        ),
        cluster_queue("b", {"nominalQuota": 3}, cohort="all", stopPolicy="Hold"),
        cluster_queue("alone", {"nominalQuota": 2}),
        queue("volcanos"),
    )

    a, b, alone = (queue_in(world, n) for n in ("a", "b", "alone"))
    assert (a.parent, a.deserved, a.capability) == ("all", {"cpu": 4500}, {"cpu": 6500})
    assert dict(a.guarantee) == {"cpu": 3000}
    assert (b.parent, b.capability, b.state) == ("all", {}, QueueState.CLOSED)
    assert (alone.parent, alone.capability, dict(alone.guarantee)) == (None, {"cpu": 2000}, {})
    assert (a.weight, b.weight) == (1, 2)
    assert queue_in(world, "all").deserved == {}
    assert queue_in(world, "all").capability == {"cpu": 7500}
    assert world.counted == {"Queue.scheduling.volcano.sh": 1}


@pytest.mark.parametrize(
    ("said", "preempts", "reclaims"),
    [
        (None, True, Reclaims.ANY),
        ({}, True, Reclaims.ANY),
        ({"withinClusterQueue": "Never"}, False, Reclaims.ANY),
        ({"withinClusterQueue": "LowerOrNewerEqualPriority"}, True, Reclaims.ANY),
        ({"reclaimWithinCohort": "Never"}, True, Reclaims.NEVER),
        ({"reclaimWithinCohort": "LowerPriority"}, True, Reclaims.LOWER),
        ({"reclaimWithinCohort": "Any"}, True, Reclaims.ANY),
    ],
)
def test_a_cluster_queue_says_whom_its_groups_evict(
    said: dict[str, str] | None, preempts: bool, reclaims: Reclaims
) -> None:
    a = queue_in(kueue(cluster_queue("a", {"nominalQuota": 4}, preemption=said)), "a")

    assert (a.preempts, a.reclaims) == (preempts, reclaims)


def test_cohorts_are_inner_queues_with_quotas_of_their_own() -> None:
    groups = [
        {"flavors": [{"resources": [{"name": "cpu", "nominalQuota": 1, "borrowingLimit": 5}]}]}
    ]
    world = kueue(
        cluster_queue("all", {"nominalQuota": 4}, cohortName="all"),
        obj(KUEUE, "Cohort", "all", None, spec={"parentName": "top", "resourceGroups": groups}),
    )

    leaf, inner = queue_in(world, "all"), queue_in(world, "cohort/all")
    assert (leaf.parent, inner.parent) == ("cohort/all", "top")
    assert (inner.deserved, inner.capability) == ({"cpu": 5000}, {"cpu": 10000})


def test_a_cohort_keeps_what_its_children_keep_and_what_it_may_not_lend() -> None:
    def quota(**said: int) -> list[dict[str, Any]]:
        return [{"flavors": [{"resources": [{"name": "cpu", **said}]}]}]

    world = kueue(
        cluster_queue("a", {"nominalQuota": 4, "lendingLimit": 1}, cohortName="mine"),
        cluster_queue("b", {"nominalQuota": 2}, cohortName="mine"),
        cluster_queue("c", {"nominalQuota": 5}, cohortName="theirs"),
        obj(KUEUE, "Cohort", "mine", None, spec={
            "parentName": "top", "resourceGroups": quota(nominalQuota=1, lendingLimit=2),
        }),
        obj(KUEUE, "Cohort", "theirs", None, spec={"parentName": "top"}),
        obj(KUEUE, "Cohort", "top", None, spec={}),
    )  # fmt: skip

    mine, theirs, top = (queue_in(world, n) for n in ("mine", "theirs", "top"))
    # a keeps 3 of its 4; of the other 4 of the cohort 2 may be lent.
    assert (mine.deserved, dict(mine.guarantee)) == ({"cpu": 7000}, {"cpu": 5000})
    assert (dict(theirs.guarantee), theirs.capability) == ({}, {})
    assert (top.capability, dict(top.guarantee)) == ({"cpu": 12000}, {})


def test_a_circle_of_cohorts_bounds_none_of_them() -> None:
    world = kueue(
        cluster_queue("a", {"nominalQuota": 4, "lendingLimit": 1}, cohortName="x"),
        obj(KUEUE, "Cohort", "x", None, spec={"parentName": "y"}),
        obj(KUEUE, "Cohort", "y", None, spec={"parentName": "x"}),
    )

    assert (queue_in(world, "x").capability, queue_in(world, "y").capability) == ({}, {})
    assert all(queue_in(world, n).hold for n in "xy")


@pytest.mark.parametrize(
    ("said", "path"),
    [
        ({"preemption": {"borrowWithinCohort": {"policy": "LowerPriority"}}},
         "spec.preemption.borrowWithinCohort"),
        ({"preemption": {"borrowWithinCohort": {"policy": "Never"}}}, None),
        ({"preemption": {"withinClusterQueue": "LowerOrNewerEqualPriority"}},
         "spec.preemption.withinClusterQueue"),
        ({"preemption": {"withinClusterQueue": "LowerPriority"}}, None),
        ({"queueingStrategy": "StrictFIFO"}, "spec.queueingStrategy"),
        ({"queueingStrategy": "BestEffortFIFO"}, None),
        ({"flavorFungibility": {"whenCanBorrow": "TryNextFlavor"}}, "spec.flavorFungibility"),
        ({"admissionChecks": ["ticket"]}, "spec.admissionChecks"),
        ({"admissionChecksStrategy": {"admissionChecks": [{"name": "ticket"}]}},
         "spec.admissionChecksStrategy"),
    ],
)  # fmt: skip
def test_what_is_not_used_of_a_cluster_queue_is_named(
    said: dict[str, Any], path: str | None
) -> None:
    world = kueue(cluster_queue("a", {"nominalQuota": 4}, **said))

    assert [w.path for w in world.warnings] == ([path] if path else [])


def test_nothing_is_due_to_a_cluster_queue_in_what_only_others_cover() -> None:
    world = kueue(
        cluster_queue("covers", {"nominalQuota": 4}, cohortName="all"),
        obj(KUEUE, "ClusterQueue", "bare", None, spec={"cohortName": "all"}),
    )

    assert queue_in(world, "bare").deserved == {"cpu": 0}
    assert queue_in(world, "all").deserved == {}


def test_local_queues_lead_pods_to_their_cluster_queue() -> None:
    label = "kueue.x-k8s.io/queue-name"
    world = kueue(
        cluster_queue("cq", {"nominalQuota": 4}),
        obj(KUEUE, "LocalQueue", "lq", "team", spec={"clusterQueue": "cq"}),
        pod("a", namespace="team", labels={label: "lq"}),
        pod("b", labels={label: "lq"}),
        pod("c", labels={"kueue.x-k8s.io/cluster-queue-name": "cq"}),
        pod_group("g", queue="ignored"),
        pod("d", labels={"kueue.x-k8s.io/cluster-queue-name": "cq"}, annotations=in_group("g")),
        pod("e"),
    )

    assert {g.name: g.queue for g in world.groups} == {
        "a": "cq",
        "b": "lq",
        "c": "cq",
        "g": "cq",
        "e": "default",
    }


def test_namespaces_that_may_use_a_cluster_queue() -> None:
    team = obj("v1", "Namespace", "x", None, meta={"labels": {"team": "x"}})
    world = kueue(
        team,
        cluster_queue("all", namespaceSelector={}),
        cluster_queue("some", namespaceSelector={"matchLabels": {"team": "x"}}),
        cluster_queue("none", namespaceSelector=None),
    )

    assert {q.name: q.namespaces for q in world.queues} == {
        "all": None,
        "default": None,
        "none": frozenset(),
        "some": {"x"},
    }
