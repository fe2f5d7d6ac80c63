"""Snapshots are canonical: equal content has equal bytes and digests, and reads back."""

import gzip
import json
from random import Random

import pytest
from msgspec.structs import replace

from apportion.models import (
    Amounts,
    Budget,
    Group,
    GroupKey,
    InputError,
    LabelSelector,
    Node,
    NodeName,
    Pod,
    PodKey,
    PodSpec,
    PodState,
    Queue,
    QueueName,
    Snapshot,
    snapshot_of,
)
from apportion.models.snapshot import from_document, read, with_pods, write
from oracle.worlds import world
from properties.clusters import cluster
from properties.renaming import shuffled

SEEDS = range(25)


@pytest.mark.parametrize("labels", [{}, {"spec": "x"}, {"a": '"spec":{}'}])
def test_labels_that_look_like_a_spec_are_written_as_they_are(labels: dict[str, str]) -> None:
    specs = (PodSpec(Amounts({"cpu": 1000})), PodSpec())
    pods = [
        Pod("x", f"p{i}", specs[i % 2], PodState.PENDING, GroupKey("x/g"), labels=labels)
        for i in range(3)
    ]
    queue = QueueName("q")
    made = snapshot_of(pods=pods, groups=[Group("x", "g", queue)], queues=[Queue(queue)])

    assert [p["spec"] for p in json.loads(write(made))["pods"]] == [0, 1, 0]
    assert read(write(made)) == made


@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_written_reads_back(seed: int) -> None:
    for made in (world(seed, "small"), cluster(seed)):
        back = read(write(made))

        assert back == made
        assert back.digest == made.digest
        assert read(gzip.compress(write(made))) == made


@pytest.mark.parametrize("seed", SEEDS)
def test_order_in_which_objects_are_given_plays_no_part(seed: int) -> None:
    made = cluster(seed)

    other = shuffled(made, seed)

    assert write(other) == write(made)
    assert other.digest == made.digest


def test_digest_names_the_content() -> None:
    made = {cluster(seed).digest for seed in SEEDS}

    assert len(made) == len(SEEDS)
    assert all(d.startswith("sha256:") and len(d) == 71 for d in made)


def test_every_change_changes_the_digest() -> None:
    node, queue = Node(NodeName("n"), Amounts({"cpu": 1})), Queue(QueueName("q"))
    base = snapshot_of(nodes=[node], queues=[queue])

    others = [
        snapshot_of(nodes=[node], queues=[queue], taken_at_s=1),
        snapshot_of(nodes=[node]),
        snapshot_of(nodes=[Node(NodeName("n"), Amounts({"cpu": 2}))], queues=[queue]),
        snapshot_of(nodes=[node], queues=[Queue(QueueName("q"), deserved={"cpu": 0})]),
        snapshot_of(nodes=[node], queues=[queue], nominations=[(PodKey("x/a"), "n")]),
    ]

    assert len({base.digest, *(o.digest for o in others)}) == 6


def test_due_of_nothing_is_kept_where_it_is_named() -> None:
    named = snapshot_of(queues=[Queue(QueueName("q"), deserved={"cpu": 0})])

    assert read(write(named)).queues[0].deserved == {"cpu": 0}


@pytest.mark.parametrize("seed", SEEDS)
def test_a_snapshot_with_other_pods_is_what_one_made_anew_is(seed: int) -> None:
    rng, before = Random(seed), cluster(seed)
    assert before.digest
    assert before.groups_by_key
    some = rng.sample(before.pods, len(before.pods) // 3)
    changed = {p.key: replace(p, priority=7, spec=rng.choice(before.pods).spec) for p in some}

    now = with_pods(before, changed, dict(before.nominations))

    fields = {name: getattr(before, name) for name in Snapshot.__struct_fields__}
    pods = tuple(changed.get(p.key, p) for p in before.pods)
    anew = from_document(json.loads(write(Snapshot(**{**fields, "pods": pods}))))
    assert now == anew
    assert now.digest == anew.digest
    assert now.pods_by_key == anew.pods_by_key
    assert now.groups_by_key == anew.groups_by_key


def test_equal_specs_are_written_once() -> None:
    made = snapshot_of(
        groups=[Group("x", "g", QueueName("q"))],
        pods=[
            Pod("x", f"p{i}", PodSpec(Amounts({"cpu": 1})), PodState.PENDING, GroupKey("x/g"))
            for i in range(5)
        ],
    )

    document = json.loads(write(made))

    assert document["specs"] == [{"requests": {"cpu": 1}}]
    assert [p["spec"] for p in document["pods"]] == [0] * 5


def test_snapshot_finds_its_objects() -> None:
    made = cluster(3)

    assert {g.key: g for g in made.groups} == made.groups_by_key
    assert {p.key: p for p in made.pods} == made.pods_by_key
    assert sum(map(len, made.pods_by_group.values())) == sum(p.ours for p in made.pods)
    assert {n.name: n for n in made.nodes} == made.nodes_by_name
    assert {q.name: q for q in made.queues} == made.queues_by_name


POD = Pod("x", "p", PodSpec(), PodState.PENDING)


@pytest.mark.parametrize(
    ("fields", "want"),
    [
        pytest.param(
            {"nodes": [Node(NodeName("n"), Amounts())] * 2}, "nodes: .* name n", id="nodes"
        ),
        pytest.param({"queues": [Queue(QueueName("q"))] * 2}, "queues: .* name q", id="queues"),
        pytest.param({"pods": [POD] * 2}, "pods: .* name x/p", id="pods"),
        pytest.param(
            {"budgets": [Budget("x", "b", LabelSelector(), 0)] * 2}, "budgets: .* x/b", id="budgets"
        ),
        pytest.param(
            {"pods": [Pod("x", "p", PodSpec(), PodState.PENDING, GroupKey("x/g"))]},
            "group x/g is not in the snapshot",
            id="a group that is not there",
        ),
    ],
)
def test_snapshot_refuses_what_contradicts_itself(fields: dict[str, object], want: str) -> None:
    with pytest.raises(ValueError, match=want):
        snapshot_of(**fields)


def test_nouns_refuse_what_cannot_be() -> None:
    with pytest.raises(ValueError, match="group x/g: minimum must be at least 0, got -1"):
        Group("x", "g", QueueName("q"), minimum=-1)
    with pytest.raises(ValueError, match="pod x/p: state running needs a node"):
        Pod("x", "p", PodSpec(), PodState.RUNNING)


@pytest.mark.parametrize(
    ("document", "want"),
    [
        ({}, "apiVersion None"),
        ({"apiVersion": "apportion.dev/v9", "kind": "Snapshot"}, "apportion.dev/v9"),
        ({"apiVersion": "apportion.dev/v1alpha1", "kind": "Plan"}, "'Plan'"),
        (
            {"apiVersion": "apportion.dev/v1alpha1", "kind": "Snapshot", "pods": [{"spec": 3}]},
            "not a readable snapshot",
        ),
        (
            {"apiVersion": "apportion.dev/v1alpha1", "kind": "Snapshot", "nodes": [{"name": 7}]},
            "not a readable snapshot",
        ),
    ],
)
def test_what_is_no_snapshot_is_refused_with_what_it_is(
    document: dict[str, object], want: str
) -> None:
    with pytest.raises(InputError, match=want):
        read(json.dumps(document).encode())


def test_mappings_in_any_order_give_the_same_bytes() -> None:
    labels = {f"k{i}": str(i) for i in range(20)}
    mixed = list(labels.items())
    Random(1).shuffle(mixed)

    def made(of: dict[str, str]) -> Snapshot:
        return snapshot_of(nodes=[Node(NodeName("n"), Amounts(), of)])

    assert write(made(dict(mixed))) == write(made(labels))
