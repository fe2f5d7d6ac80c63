"""Edits make the snapshot that the cluster would give, and name what they do not find."""

from typing import Any

import pytest

from apportion.models import (
    Device,
    GroupKey,
    InputError,
    Level,
    PodState,
    Snapshot,
    Taint,
    Toleration,
    Topology,
    TopologyRequest,
    snapshot_of,
)
from apportion.models.edit import edited
from apportion.models.edits import (
    AddNodes,
    CopyGroup,
    Cordon,
    Drain,
    DropSelector,
    Edit,
    Relax,
    RemoveGroup,
    RemoveNode,
    Resize,
    SetMinimum,
    SetPriority,
    SetQueue,
    SetRequests,
    SetWeight,
    Submit,
    Tolerate,
    Uncordon,
)
from apportion.models.snapshot import read, write
from oracle.build import NOW, Members, budget, foreign, node, queue, snapshot
from properties.clusters import cluster
from properties.edits import edited_document, random_edits

G = GroupKey("x/g")


def world(**group: Any) -> Snapshot:
    """Return two nodes, a foreign pod, and a group of which one pod runs and one waits."""
    fields = {"minimum": 2, **group}
    return snapshot(
        node("n1", 4, labels={"kubernetes.io/hostname": "n1", "rack": "a"}),
        node("n2", 4, labels={"kubernetes.io/hostname": "n2", "rack": "b"}),
        queue("q", due=2),
        Members("g", "q", on=["n1"], waiting=1, **fields),
        foreign("f", 1, "n1"),
        budget("g", 5),
        nominations={"g1": "n1"},
    )


def with_(changed: Snapshot, **fields: Any) -> Snapshot:
    whole = {f: getattr(changed, f) for f in changed.__struct_fields__}
    return snapshot_of(**{**whole, **fields})


def pods(s: Snapshot) -> dict[str, tuple[str, str | None]]:
    return {p.name: (p.state.value, p.node) for p in s.pods}


def test_added_nodes_are_like_their_model_and_empty() -> None:
    taints = (Taint("node.kubernetes.io/unschedulable", "NoSchedule"), Taint("kept", "NoSchedule"))
    start = with_(
        world(),
        nodes=[
            node("n1", 4, labels={"kubernetes.io/hostname": "n1"}, taints=taints,
                 unschedulable=True, devices=(Device(uuid="u1"),)),
            node("n1-new-1", 4),
        ],
    )  # fmt: skip

    made = edited(start, [AddNodes("n1", 2)]).nodes_by_name

    assert list(made) == ["n1", "n1-new-1", "n1-new-2", "n1-new-3"]
    new = made["n1-new-3"]
    assert new.allocatable == made["n1"].allocatable
    assert new.labels == {"kubernetes.io/hostname": "n1-new-3"}
    assert new.taints == (Taint("kept", "NoSchedule"),)
    assert new.takes_pods
    assert new.created_s == NOW
    assert new.devices == (Device(),)


def test_added_nodes_join_domains_by_their_labels_or_with_their_model() -> None:
    by_label = Topology(
        "labels",
        (Level("rack", {"a": ("n1",), "b": ("n2",)}),
         Level("kubernetes.io/hostname", {"a/n1": ("n1",), "b/n2": ("n2",)})),
    )  # fmt: skip
    declared = Topology("nodes", (Level("tier 2", {"spine": ("n1", "n2")}),))
    start = with_(world(), topologies=[by_label, declared])

    same = edited(start, [AddNodes("n1")]).topologies
    other = edited(start, [AddNodes("n1", labels={"rack": "c"})]).topologies

    assert same[0].levels[0].domains["a"] == ("n1", "n1-new-1")
    assert same[0].levels[1].domains["a/n1-new-1"] == ("n1-new-1",)
    assert same[1].levels[0].domains["spine"] == ("n1", "n1-new-1", "n2")
    assert other[0].levels[0].domains["c"] == ("n1-new-1",)
    assert other[0].levels[0].domains["a"] == ("n1",)


@pytest.mark.parametrize(
    ("edit", "want_foreign"), [(Drain("n1"), ("running", "n1")), (RemoveNode("n1"), None)]
)
def test_pods_that_lose_their_node_come_back_pending(edit: Edit, want_foreign: Any) -> None:
    made = edited(world(), [edit])

    assert pods(made)["g0"] == ("pending", None)
    assert pods(made).get("f") == want_foreign
    assert made.nominations == ()
    assert made.group(G).broken_since_s == NOW
    assert made.budgets[0].allowed == 0, "of no healthy pod"
    assert [n.name for n in made.nodes if n.takes_pods] == ["n2"]


def test_a_removed_node_leaves_its_topologies() -> None:
    levels = (Level("rack", {"a": ("n1",), "all": ("n1", "n2")}),)
    start = with_(world(), topologies=[Topology("t", levels)])

    made = edited(start, [RemoveNode("n1")])

    assert made.topologies[0].levels[0].domains == {"all": ("n2",)}


def test_cordon_and_uncordon_undo_each_other() -> None:
    start = world()

    assert not edited(start, [Cordon("n1")]).nodes[0].takes_pods
    assert edited(start, [Cordon("n1"), Uncordon("n1")]) == start


def test_copies_wait_are_the_youngest_and_have_names_of_their_own() -> None:
    made = edited(world(), [CopyGroup(G), CopyGroup(G, 2)])

    assert [g.name for g in made.groups] == ["g", "g-copy-1", "g-copy-2", "g-copy-3"]
    copy = made.pods_by_group[GroupKey("x/g-copy-2")]
    assert [(p.name, p.state.value, p.created_s) for p in copy] == [
        ("g0-copy-2", "pending", NOW), ("g1-copy-2", "pending", NOW)
    ]  # fmt: skip
    assert made.groups[1].created_s == NOW
    assert made.pods_by_group[G] == world().pods_by_group[G]


def test_removed_group_takes_its_pods_along() -> None:
    made = edited(world(), [RemoveGroup(G)])

    assert (made.groups, list(pods(made)), made.nominations) == ((), ["f"], ())


@pytest.mark.parametrize(
    ("members", "want_pods", "want_minimum"),
    [(1, ["g0"], 1), (0, [], 0), (2, ["g0", "g1"], 2), (3, ["g0", "g1", "g1-more-1"], 3)],
)
def test_a_gang_of_another_size_is_a_gang(
    members: int, want_pods: list[str], want_minimum: int
) -> None:
    made = edited(world(), [Resize(G, members)])

    assert [p.name for p in made.pods if p.ours] == want_pods
    assert made.group(G).minimum == want_minimum
    assert all(p.state is PodState.PENDING for p in made.pods if "more" in p.name)


def test_an_elastic_group_keeps_its_minimum_as_far_as_it_can() -> None:
    start = world(minimum=1)

    assert edited(start, [Resize(G, 5)]).group(G).minimum == 1
    assert edited(start, [Resize(G, 0)]).group(G).minimum == 0
    assert edited(start, [SetMinimum(G, 2)]).group(G).minimum == 2


def test_a_role_has_a_size_of_its_own() -> None:
    start = snapshot(
        node("n1", 4), queue("q"),
        Members("g", "q", waiting=3, roles=["lead", "work", "work"], minimum=3,
                role_minimum={"lead": 1, "work": 1}),
    )  # fmt: skip

    made = edited(start, [Resize(G, 4, "work")])

    assert [p.role for p in made.pods] == ["lead", "work", "work", "work", "work"]
    assert made.group(G).minimum == 5
    assert made.group(G).role_minimum == {"lead": 1, "work": 1}
    with pytest.raises(InputError, match=r"several roles \(lead, work\); name one: x/g:lead=4"):
        edited(start, [Resize(G, 4)])


def test_wishes_of_waiting_pods_change_and_running_ones_stay() -> None:
    spec = {"node_selector": (("rack", "a"), ("disk", "ssd"))}
    start = world(spec=spec)
    more = Toleration("kept", "Exists")

    made = edited(start, [
        SetRequests(G, {"cpu": 3000}), Tolerate(G, more), DropSelector(G, "disk"), SetPriority(G, 7)
    ])  # fmt: skip

    runs, waits = made.pods_by_group[G]
    assert dict(waits.spec.requests) == {"cpu": 3000}
    assert waits.spec.tolerations == (more,)
    assert waits.spec.node_selector == (("rack", "a"),)
    assert runs.spec == start.pods_by_group[G][0].spec
    assert (runs.priority, waits.priority, made.group(G).priority) == (7, 7, 7)


def test_queues_change_what_they_name() -> None:
    made = edited(world(), [
        SetQueue("q", "due", "cpu", None), SetQueue("q", "limit", "cpu", 3000),
        SetQueue("q", "guarantee", "cpu", 1000), SetWeight("q", 4),
    ]).queues_by_name["q"]  # fmt: skip

    assert (made.deserved, made.capability, made.guarantee["cpu"], made.weight) == (
        {}, {"cpu": 3000}, 1000, 4
    )  # fmt: skip


def test_a_required_level_is_relaxed() -> None:
    levels = (Level("block", {"x": ("n1", "n2")}), Level("rack", {"a": ("n1",), "b": ("n2",)}))
    start = with_(world(topology=TopologyRequest("t", "rack")), topologies=[Topology("t", levels)])

    wider = edited(start, [Relax(G, "block")]).group(G).topology
    assert wider is not None
    assert wider.required == "block"
    with pytest.raises(InputError, match="no level of topology t: row"):
        edited(start, [Relax(G, "row")])


def test_submitted_groups_join() -> None:
    other = snapshot(Members("h", "q", waiting=1))

    made = edited(world(), [Submit(other.groups, other.pods)])

    assert [g.name for g in made.groups] == ["g", "h"]
    with pytest.raises(InputError, match="group x/g is there already"):
        edited(world(), [Submit(world().groups)])


@pytest.mark.parametrize(
    ("edit", "want"),
    [
        (Drain("n3"), "there is no node n3; did you mean n2, n1"),
        (RemoveGroup(GroupKey("x/zzz")), "there is no group x/zzz; "),
        (SetWeight("nobody", 1), "there is no queue nobody; there are: q"),
        (SetWeight("q", -1), "queue q: a weight is at least 0, got -1"),
        (AddNodes("n1", 0), "add at least 1, got 0"),
        (CopyGroup(G, 0), "submit at least 1 copy, got 0"),
        (Resize(G, -1), "members must be at least 0, got -1"),
        (SetMinimum(G, -1), "a minimum is at least 0, got -1"),
        (SetRequests(G, {"cpu": -1}), "cpu must be at least 0, got -1"),
        (Relax(G), "requires no level of a topology"),
    ],
)
def test_what_cannot_be_is_said(edit: Edit, want: str) -> None:
    with pytest.raises(InputError, match=want):
        edited(world(), [edit])


def test_edits_tell_themselves_in_words() -> None:
    edits: list[Edit] = [
        AddNodes("n1", 2, {"rack": "c"}), CopyGroup(G), Resize(G, 1, "work"),
        SetQueue("q", "limit", "memory", 1 << 30), Tolerate(G, Toleration("k", "Equal", "v", "")),
    ]  # fmt: skip

    assert [str(e) for e in edits] == [
        "add 2 nodes like n1 with rack=c",
        "submit 1 copy of group x/g",
        "give role work of group x/g 1 member",
        "set the limit of queue q to 1Gi memory",
        "let group x/g tolerate k=v:",
    ]


@pytest.mark.slow
def test_edits_are_what_they_would_be_on_the_document_and_are_read_back() -> None:
    told = 0
    for seed in range(400):
        start = cluster(seed)
        edits = random_edits(start, seed)[:1]

        made = edited(start, edits)

        assert read(write(made)) == made, (seed, edits)
        want = edited_document(start, edits)
        told += want is not None
        assert want is None or want.digest == made.digest, (seed, str(edits[0]))
    assert told > 100
