"""Owners of owners: what is said high above pods counts, in a file and in a live cluster alike."""

from typing import Any

import pytest

from kubernetes_objects import Data, container, obj, pod, snapshot

MIN_MEMBER = "scheduling.volcano.sh/group-min-member"
RAY = "ray.io/v1"
FILE_OR_LIVE = pytest.mark.parametrize("live", [False, True])


def marked(minimum: int) -> Data:
    return {"uid": "1", "annotations": {MIN_MEMBER: str(minimum)}}


def cluster(name: str, kind: str, owner: str, workers: int) -> list[Data]:
    """Return a RayCluster of a head and workers below another object, and its pods."""
    template = {"spec": {"containers": [container()]}}
    group = {"groupName": "w", "replicas": workers, "template": template}
    above = {"apiVersion": RAY, "kind": kind, "name": owner, "uid": "1", "controller": True}
    made = obj(
        RAY, "RayCluster", name, meta={"uid": name, "ownerReferences": [above]},
        spec={"headGroupSpec": {"template": template}, "workerGroupSpecs": [group]},
    )  # fmt: skip
    roles = ["headgroup", *["w"] * workers]
    labels = [{"ray.io/cluster": name, "ray.io/group": role} for role in roles]
    return [
        made,
        *(pod(f"{name}-{i}", owner=("RayCluster", name), labels=of) for i, of in enumerate(labels)),
    ]


def minima(*objects: Data, live: bool) -> dict[str, int]:
    world = snapshot(*objects, live=live)
    assert not world.rejected
    return {g.name: g.effective_minimum for g in world.groups}


@FILE_OR_LIVE
def test_what_a_ray_job_says_counts_for_its_cluster(live: bool) -> None:
    job = obj(RAY, "RayJob", "j", meta=marked(2), spec={})

    assert minima(job, *cluster("c", "RayJob", "j", 3), live=live) == {"c": 2}


@FILE_OR_LIVE
def test_clusters_of_a_ray_service_that_follow_each_other_are_gangs_apart(live: bool) -> None:
    service = obj(RAY, "RayService", "s", meta={"uid": "1"}, spec={})
    both = [*cluster("old", "RayService", "s", 2), *cluster("new", "RayService", "s", 3)]

    assert minima(service, *both, live=live) == {"old": 3, "new": 4}


@FILE_OR_LIVE
@pytest.mark.parametrize(("more", "want"), [(marked(2), {"d": 2}), ({"uid": "1"}, None)])
def test_pods_of_a_daemon_set_are_single_unless_it_says_otherwise(
    live: bool, more: Any, want: dict[str, int] | None
) -> None:
    daemons = obj("apps/v1", "DaemonSet", "d", meta=more, spec={})
    pods = [pod(f"d-{i}", owner=("DaemonSet", "d")) for i in range(3)]

    single = {f"d-{i}": 1 for i in range(3)}
    assert minima(daemons, *pods, live=live) == (single if want is None else want)
