"""Pods that do not exist yet, as they are made from a template of their workload."""

from collections.abc import Mapping

from .body_pod import PodBody, PodSpecBody
from .meta import MetaBody, Owner, Thing
from .shape import Hot

MOST_PODS = 100_000
"""Pods that one workload is expanded to at most."""


class TemplateBody(Hot):
    """A pod template: labels and annotations, and the spec."""

    metadata: MetaBody | None = None
    spec: PodSpecBody | None = None


def pod_from(
    workload: Thing,
    path: str,
    spec: PodSpecBody,
    labels: Mapping[str, str],
    annotations: Mapping[str, str],
    created_s: int,
) -> Thing:
    """Return a pod without a name; ``path``: where the workload has its template."""
    return Thing(
        group="",
        kind="Pod",
        namespace=workload.namespace,
        name="",
        uid="",
        labels=labels,
        annotations=annotations,
        owner=Owner(workload.kind, workload.name, workload.uid, workload.group),
        created_s=created_s,
        deleted_s=None,
        generation=None,
        source=workload.source,
        body=PodBody(spec=spec),
        made_from=(workload.title, path),
    )
