"""Work of a queue goes to the nodes of its flavors or node groups."""

from typing import Any

import pytest

from apportion.models import NodeSelectorTerm, PodSpec, Requirement
from kubernetes_objects import Data, in_group, obj, pod, pod_group, pod_in, queue, snapshot

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
KUEUE = "kueue.x-k8s.io/v1beta1"
GROUP = "volcano.sh/nodegroup-name"
LABELS = {"kueue.x-k8s.io/cluster-queue-name": "all"}


def is_one_of(key: str, *values: str) -> Requirement:
    return Requirement(key, "In", values)


def flavor(name: str, labels: dict[str, str] | None = None, **spec: Any) -> Data:
    return obj(KUEUE, "ResourceFlavor", name, None, spec={"nodeLabels": labels or {}, **spec})


def cluster_queue(*groups: tuple[str, ...]) -> Data:
    rows = [{"coveredResources": ["cpu"], "flavors": [{"name": f} for f in g]} for g in groups]
    spec = {"namespaceSelector": {}, "resourceGroups": rows}
    return obj(KUEUE, "ClusterQueue", "all", None, spec=spec)


def in_kueue(*objects: Data, **fields: Any) -> PodSpec:
    world = snapshot(*objects, pod("p", labels=LABELS, **fields), queues_from="kueue")
    assert world.rejected == ()
    return pod_in(world, "p").spec


def in_volcano(affinity: Data) -> PodSpec:
    world = snapshot(
        queue("q", affinity=affinity),
        pod_group("g", queue="q"),
        pod("p", annotations=in_group("g")),
    )
    return pod_in(world, "p").spec


@pytest.mark.parametrize(
    ("groups", "want"),
    [
        pytest.param([("spot",)], [(is_one_of("pool", "spot"),)], id="one flavor"),
        pytest.param(
            [("spot", "own")],
            [(is_one_of("pool", "own"),), (is_one_of("pool", "spot"),)],
            id="either of two",
        ),
        pytest.param(
            [("spot",), ("fast",)],
            [(is_one_of("net", "ib"), is_one_of("pool", "spot"))],
            id="one of each group of resources",
        ),
        pytest.param([("spot", "any")], None, id="a flavor without labels is any node"),
        pytest.param([("spot", "gone")], None, id="so is one that is not there"),
    ],
)
def test_flavors_are_the_nodes_of_a_cluster_queue(
    groups: list[tuple[str, ...]], want: list[tuple[Requirement, ...]] | None
) -> None:
    flavors = [
        flavor("spot", {"pool": "spot"}), flavor("own", {"pool": "own"}),
        flavor("fast", {"net": "ib"}), flavor("any"),
    ]  # fmt: skip

    found = in_kueue(*flavors, cluster_queue(*groups)).node_affinity

    terms = None if want is None else tuple(NodeSelectorTerm(labels) for labels in want)
    assert found == terms


def test_what_the_pod_asks_for_itself_holds_besides() -> None:
    own = [{"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}]
    affinity = {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": own}}}

    found = in_kueue(flavor("f", {"pool": "x"}), cluster_queue(("f",)), affinity=affinity)

    both = (is_one_of("pool", "x"), is_one_of("zone", "a"))
    assert found.node_affinity == (NodeSelectorTerm(both),)


def test_a_flavor_gives_its_tolerations() -> None:
    bears = [{"key": "spot", "operator": "Exists", "effect": "NoSchedule"}]

    found = in_kueue(flavor("f", tolerations=bears), cluster_queue(("f",)))

    assert [(t.key, t.operator) for t in found.tolerations] == [("spot", "Exists")]


@pytest.mark.parametrize(
    ("affinity", "want"),
    [
        pytest.param(
            {"nodeGroupAffinity": {REQUIRED: ["b", "a"]}},
            Requirement(GROUP, "In", ("a", "b")),
            id="in these groups",
        ),
        pytest.param(
            {"nodeGroupAntiAffinity": {REQUIRED: ["a"]}},
            Requirement(GROUP, "NotIn", ("a",)),
            id="not in that one",
        ),
        pytest.param({"nodeGroupAffinity": {}}, None, id="nothing is required"),
        pytest.param({"nodeGroupAffinity": {REQUIRED: "a"}}, None, id="no list"),
    ],
)
def test_node_groups_are_the_nodes_of_a_volcano_queue(
    affinity: Data, want: Requirement | None
) -> None:
    terms = None if want is None else (NodeSelectorTerm((want,)),)

    assert in_volcano(affinity).node_affinity == terms


@pytest.mark.parametrize(
    ("affinity", "allowed", "wishes"),
    [
        pytest.param(
            {"nodeGroupAffinity": {PREFERRED: ["b"]}},
            (is_one_of(GROUP, "b"),), [(50, is_one_of(GROUP, "b"))],
            id="what is preferred is what may be used",
        ),
        pytest.param(
            {"nodeGroupAffinity": {REQUIRED: ["a"], PREFERRED: ["b"]}},
            (is_one_of(GROUP, "a", "b"),),
            [(100, is_one_of(GROUP, "a")), (50, is_one_of(GROUP, "b"))],
            id="what is required comes first",
        ),
        pytest.param(
            {"nodeGroupAffinity": {REQUIRED: ["a"]}, "nodeGroupAntiAffinity": {PREFERRED: ["b"]}},
            (is_one_of(GROUP, "a", "b"),), [(1, Requirement(GROUP, "NotIn", ("b",)))],
            id="what is rather avoided may be used, last",
        ),
        pytest.param(
            {"nodeGroupAntiAffinity": {PREFERRED: ["b"]}},
            None, [(1, Requirement(GROUP, "NotIn", ("b",)))],
            id="avoided alone",
        ),
        pytest.param(
            {"nodeGroupAffinity": {REQUIRED: ["a", "b"]},
             "nodeGroupAntiAffinity": {REQUIRED: ["b"]}},
            (is_one_of(GROUP, "a"),), [],
            id="what is refused is not among what is required",
        ),
    ],
)  # fmt: skip
def test_node_groups_are_wished_for(
    affinity: Data, allowed: tuple[Requirement, ...] | None, wishes: list[tuple[int, Requirement]]
) -> None:
    found = in_volcano(affinity)

    assert found.node_affinity == (None if allowed is None else (NodeSelectorTerm(allowed),))
    assert found.preferred_nodes == tuple((w, NodeSelectorTerm((r,))) for w, r in wishes)


def test_node_groups_that_are_all_refused_leave_no_node() -> None:
    both = {"nodeGroupAffinity": {REQUIRED: ["a"]}, "nodeGroupAntiAffinity": {REQUIRED: ["a"]}}

    assert in_volcano(both).node_affinity == ()


def test_a_queue_without_affinity_has_that_of_the_nearest_one_above() -> None:
    world = snapshot(
        queue("top", affinity={"nodeGroupAffinity": {REQUIRED: ["far"]}}),
        queue("mid", parent="top", affinity={"nodeGroupAffinity": {REQUIRED: ["near"]}}),
        queue("low", parent="mid"),
        pod_group("g", queue="low"),
        pod("p", annotations=in_group("g")),
    )

    near = NodeSelectorTerm((is_one_of(GROUP, "near"),))
    assert pod_in(world, "p").spec.node_affinity == (near,)


def test_limits_of_node_groups_are_warned_of() -> None:
    world = snapshot(
        queue("q", meta={"annotations": {"volcano.sh/nodegroup-resource-limits": "{}"}})
    )

    assert [w.message for w in world.warnings if "nodegroup-resource-limits" in w.path] == [
        "is not used yet"
    ]
