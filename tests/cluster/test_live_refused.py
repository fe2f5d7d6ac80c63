"""A gang of which the cluster refuses a member for good does not stay there in part."""

from pathlib import Path

import pytest

from cluster import invariants
from cluster.between import Proxy
from cluster.client import Client, Data
from cluster.looking import nodes_of, wait_placed
from cluster.objects import gang
from cluster.rules import Refuse, later_binds
from cluster.scheduler import Schedulers
from cluster.waiting import stays, until

pytestmark = pytest.mark.usefixtures("kwok", "controllers", "volcano", "four")

GRACE_S = 3


@pytest.fixture
def settings(tmp_path: Path) -> str:
    """Settings by which a broken gang is given up early."""
    path = tmp_path / "settings.yaml"
    path.write_text(f"apiVersion: apportion.dev/v1alpha1\nkind: Configuration\ngrace: {GRACE_S}s\n")
    return str(path)


def test_the_bound_members_are_evicted_where_a_controller_brings_them_back(
    client: Client, schedulers: Schedulers, proxy: Proxy, settings: str
) -> None:
    refusal = proxy.add(Refuse(later_binds(), 403))
    schedulers.start("--config", settings, through=proxy)

    client.create_all(with_replica_set(gang("g", 4, 8)))
    until(lambda: any(r.is_eviction for r in proxy.seen), "the gang is given up")
    (evicted,) = {r.pod for r in proxy.seen if r.is_eviction}
    assert any(r.is_bind and r.pod == evicted for r in proxy.seen)
    refused = {r.pod for r in refusal.met}
    assert len(refused) >= 3
    assert evicted not in refused
    until(lambda: invariants.partial(client) == [], "nothing of it is left")
    proxy.drop(refusal)

    until(lambda: len(nodes_of(client)) == 4, "it starts whole when it is allowed")


def test_pods_that_nobody_would_bring_back_are_left_alone(
    client: Client, schedulers: Schedulers, proxy: Proxy, settings: str
) -> None:
    refusal = proxy.add(Refuse(later_binds(), 403))
    schedulers.start("--config", settings, through=proxy)

    client.create_all(gang("g", 4, 8))
    until(lambda: refusal.met and nodes_of(client), "one is bound, the others are refused")
    stays(lambda: len(nodes_of(client)) == 1, "the bound one stays", 2.0 * GRACE_S)
    proxy.drop(refusal)

    wait_placed(client, *(f"g-{i}" for i in range(4)))
    assert not any(r.is_eviction for r in proxy.seen)


def test_others_do_not_wait_for_a_gang_that_is_refused(
    client: Client, schedulers: Schedulers, proxy: Proxy
) -> None:
    refusal = proxy.add(Refuse(lambda r: r.is_bind and r.pod.startswith("bad"), 403))
    schedulers.start(through=proxy)

    client.create_all([*gang("bad", 2, 8), *gang("good", 2, 8)])
    wait_placed(client, "good-0", "good-1")
    until(lambda: len(refusal.met) >= 2, "the other gang was refused")
    client.create_all(gang("later", 2, 8))

    wait_placed(client, "later-0", "later-1")
    assert nodes_of(client).keys() == {"good-0", "good-1", "later-0", "later-1"}


def with_replica_set(things: list[Data]) -> list[Data]:
    """Return the gang with a ReplicaSet in the place of its pods."""
    group, first, *_ = things
    labels = {"app": "g"}
    meta = {"labels": labels, "annotations": first["metadata"]["annotations"]}
    spec = {
        "replicas": len(things) - 1,
        "selector": {"matchLabels": labels},
        "template": {"metadata": meta, "spec": first["spec"]},
    }
    named = {"name": "g", "namespace": "default"}
    return [
        group,
        {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": named, "spec": spec},
    ]
