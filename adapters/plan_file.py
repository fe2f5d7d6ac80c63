"""A plan from a file, ours or somebody else's: what it says, and what it leaves open."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from ..models import InputError, Plan, Snapshot
from ..models.plan import from_document, to_document
from .files import documents

_PARTS = ("binds", "nominations", "evictions")


@dataclass(frozen=True, slots=True)
class GivenPlan:
    """A plan with what its document said beside: plans of other makers may leave most of it out."""

    plan: Plan
    has: frozenset[str]
    """Top-level keys of the document."""
    digest: str | None = None
    names_beneficiaries: bool = True
    """Some eviction says for whom it is."""


def given(plan: Plan) -> GivenPlan:
    """Return a plan of ours as if it had been read back."""
    return GivenPlan(plan, frozenset(to_document(plan)), plan.digest)


def read_plan(path: str, snapshot: Snapshot, stdin: IO[bytes] | IO[str] | None = None) -> GivenPlan:
    """Read a plan of the snapshot's cluster.

    Raises
    ------
    InputError
        If the file holds no plan, or one of a form that cannot be understood.
    """
    found = [d.data for d in documents([path], stdin) if isinstance(d.data, dict)]
    if len(found) != 1:
        raise InputError(f"{path}: a plan is one document, found {len(found)}")
    try:
        return plan_of(found[0], snapshot)
    except ValueError as e:
        raise InputError(f"{path}: is no plan that can be read: {e}") from e


def plan_of(data: Mapping[str, Any], snapshot: Snapshot) -> GivenPlan:
    """Return the plan of a document; groups and nodes that are left out are looked up.

    Raises
    ------
    ValueError
        If it cannot be understood.
    """
    if not any(part in data for part in _PARTS) and data.get("kind") != "Plan":
        raise ValueError(f"it has none of {', '.join(_PARTS)}")
    body = dict(data)
    for part in _PARTS:
        if body.get(part) is None:
            body.pop(part, None)
        elif isinstance(body[part], Sequence) and not isinstance(body[part], str):
            body[part] = [_completed(row, part, snapshot) for row in body[part]]
    evictions = body.get("evictions", [])
    names = any(isinstance(e, dict) and "for" in e for e in evictions)
    digest = data.get("digest")
    if digest is not None and not isinstance(digest, str):
        raise ValueError("digest: expected text")
    return GivenPlan(from_document(body), frozenset(data), digest, names or not evictions)


def _completed(row: Any, part: str, snapshot: Snapshot) -> Any:
    if not isinstance(row, dict):
        return row
    pod = snapshot.pods_by_key.get(row.get("pod")) if isinstance(row.get("pod"), str) else None  # type: ignore[arg-type]
    out = dict(row)
    if "group" not in out:
        out["group"] = str(pod.group) if pod is not None and pod.group is not None else ""
    if part == "evictions" and "node" not in out:
        out["node"] = str(pod.node) if pod is not None and pod.node is not None else ""
    return out


def save(path: str, data: bytes) -> None:
    """Write a file; gzipped where the name says so, with the same bytes for the same content."""
    import gzip

    try:
        Path(path).write_bytes(gzip.compress(data, mtime=0) if path.endswith(".gz") else data)
    except OSError as e:
        raise InputError(f"{path}: cannot be written: {e.strerror or e}") from e
