"""Exclusive placement: the pods of a Job or replica share a domain, and nobody like them is there.

JobSet and LeaderWorkerSet write these terms into pods when they are created; for pods that are
made up from a manifest they are written here.
"""

from collections.abc import Iterable
from typing import NamedTuple

from msgspec.structs import replace

from .body_pod import (
    AffinityBody,
    ExpressionBody,
    PodAffinityBody,
    PodSpecBody,
    PodTermBody,
    SelectorBody,
)


class Alone(NamedTuple):
    """Whose pods have a domain for themselves."""

    topology_key: str
    label: str
    """On all pods that are placed so, of whatever workload and namespace."""
    value: str
    """Of the pods that belong together."""


def with_terms(spec: PodSpecBody, alone: Alone | None) -> PodSpecBody:
    """Return the spec with the terms of exclusive placement."""
    if alone is None:
        return spec
    mine = ExpressionBody(key=alone.label, operator="In", values=[alone.value])
    placed = ExpressionBody(key=alone.label, operator="Exists")
    others = ExpressionBody(key=alone.label, operator="NotIn", values=[alone.value])
    affinity = spec.affinity or AffinityBody()
    return replace(
        spec,
        affinity=replace(
            affinity,
            pod_affinity=_with(affinity.pod_affinity, alone.topology_key, (mine,)),
            pod_anti_affinity=_with(
                affinity.pod_anti_affinity, alone.topology_key, (placed, others)
            ),
        ),
    )


def _with(
    body: PodAffinityBody | None, topology_key: str, wanted: Iterable[ExpressionBody]
) -> PodAffinityBody:
    body = body or PodAffinityBody()
    term = PodTermBody(
        label_selector=SelectorBody(match_expressions=list(wanted)),
        namespace_selector=SelectorBody(),
        topology_key=topology_key,
    )
    return replace(body, required=[*(body.required or ()), term])
