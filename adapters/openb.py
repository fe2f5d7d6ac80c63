"""The public openb lists (GPU cluster trace v2023): nodes and pods as CSV, read into a snapshot.

All pods wait, each a group of one, whatever became of them; times, qos and phase are not looked at
but for the age, which is the creation time. ``gpu_milli`` of one GPU is a share of that one device;
``gpu_spec`` names the models that will do. A bad row is listed under ``rejected``, and left out.
"""

import csv
import io
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TypeVar

from ..models import (
    Amounts,
    Device,
    DeviceShare,
    Group,
    GroupKey,
    InputError,
    Node,
    NodeName,
    Pod,
    PodSpec,
    PodState,
    Queue,
    QueueName,
    Rejected,
    Snapshot,
    snapshot_of,
)
from ..models.devices import GPU
from ..models.selector import IN, NodeSelectorTerm, Requirement

MODEL = "nvidia.com/gpu.product"
"""The node label that a GPU model goes under."""
QUEUE, NAMESPACE = QueueName("default"), "openb"
NODE_COLUMNS = ("sn", "cpu_milli", "memory_mib", "gpu", "model")
POD_COLUMNS = ("name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli")
PODS_PER_NODE = 1_000
"""The list knows no limit; this one is never reached there."""
WHOLE = 1_000
MOST = 1 << 40
MOST_GPUS = 64
MOST_BYTES = 1 << 30

T = TypeVar("T")
Row = Mapping[str, str | None]


def read_openb(nodes: str, pods: str) -> Snapshot:
    """Read both lists.

    Raises
    ------
    InputError
        If a file cannot be read, or lacks a column.
    """
    rejected: list[Rejected] = []
    node_rows = _rows(nodes, NODE_COLUMNS, "sn", rejected, _node)
    pod_rows = _rows(pods, POD_COLUMNS, "name", rejected, _Specs().pod)
    groups = [
        Group(p.namespace, p.name, QUEUE, created_s=p.created_s, implicit=True, source="Pod")
        for p in pod_rows
    ]
    if not node_rows or not pod_rows:
        raise InputError(
            f"{pods if node_rows else nodes}: not one row can be used{_first(rejected)}"
        )
    return snapshot_of(
        taken_at_s=max((p.created_s for p in pod_rows), default=0),
        nodes=node_rows,
        pods=pod_rows,
        groups=groups,
        queues=[Queue(QUEUE)],
        rejected=tuple(sorted(rejected)),
    )


def _first(rejected: list[Rejected]) -> str:
    return f"; the first: {rejected[0].path}: {rejected[0].message}" if rejected else ""


class _BadFieldError(ValueError):
    """A field that cannot be used: its column, what is wrong, what to do."""

    def __init__(self, column: str, message: str) -> None:
        super().__init__(message)
        self.column = column


def _rows(
    file: str,
    columns: tuple[str, ...],
    key: str,
    rejected: list[Rejected],
    made: Callable[[Row], T],
) -> list[T]:
    """Read a list; rows that cannot be used, or whose name was there before, are rejected."""
    out: list[T] = []
    seen: set[str] = set()
    for line, row in _lines(file, columns):
        name = (row.get(key) or "").strip()
        try:
            if not name or len(name) > 253 or not name.isprintable():
                raise _BadFieldError(key, "is no name; write one of 1 to 253 characters")
            if name in seen:
                raise _BadFieldError(key, "is in the list already; give each row a name of its own")
            if None in row:
                raise _BadFieldError(
                    key, "the row has more fields than the header; remove those at its end"
                )
            out.append(made(row))
            seen.add(name)
        except _BadFieldError as e:
            shown = f" ({name[:60]})" if name and name.isprintable() else ""
            rejected.append(Rejected(f"{Path(file).name} line {line}{shown}", e.column, str(e)))
    return out


def _lines(file: str, columns: tuple[str, ...]) -> Iterator[tuple[int, Row]]:
    try:
        with open(file, "rb") as f:
            data = f.read(MOST_BYTES + 1)
        text = data.decode("utf-8-sig")
    except OSError as e:
        raise InputError(f"{file}: cannot be read: {e.strerror or e}") from e
    except UnicodeDecodeError as e:
        raise InputError(f"{file}: is not UTF-8; give the CSV as it was published") from e
    if len(data) > MOST_BYTES:
        raise InputError(f"{file}: is larger than 1 GiB")
    reader = csv.DictReader(io.StringIO(text, newline=""))
    try:
        missing = [c for c in columns if c not in (reader.fieldnames or ())]
        if missing:
            raise InputError(f"{file}: has no column {missing[0]}; needed are {', '.join(columns)}")
        for row in reader:
            yield reader.line_num, row
    except csv.Error as e:
        raise InputError(f"{file}: line {reader.line_num}: {e}") from e


def _number(row: Row, column: str, most: int = MOST) -> int:
    written = (row.get(column) or "").strip()
    if not (written.isascii() and written.isdigit()) or len(written) > 13 or int(written) > most:
        raise _BadFieldError(column, f"{written[:40]!r} is no whole number from 0 to {most}")
    return int(written)


def _node(row: Row) -> Node:
    gpus = _number(row, "gpu", MOST_GPUS)
    model = (row.get("model") or "").strip()
    amounts = {
        "cpu": _number(row, "cpu_milli"),
        "memory": _number(row, "memory_mib") << 20,
        GPU: gpus * WHOLE,
        "pods": PODS_PER_NODE,
    }
    return Node(
        NodeName((row["sn"] or "").strip()),
        Amounts(amounts),
        labels={MODEL: model} if model else {},
        devices=(Device(model=model),) * gpus,
        hands_out=("whole", "reservation") if gpus else (),
    )


class _Specs:
    """Makes pods; equal specs are one object."""

    def __init__(self) -> None:
        self._known: dict[PodSpec, PodSpec] = {}

    def pod(self, row: Row) -> Pod:
        name = (row["name"] or "").strip()
        gpus = _number(row, "num_gpu", MOST_GPUS)
        milli = _number(row, "gpu_milli", WHOLE) if gpus else 0
        if gpus and not milli:
            raise _BadFieldError("gpu_milli", "is 0 for a pod with GPUs; write 1 to 1000")
        models = tuple(sorted({m for m in (row.get("gpu_spec") or "").strip().split("|") if m}))
        spec = PodSpec(
            Amounts(
                {
                    "cpu": _number(row, "cpu_milli"),
                    "memory": _number(row, "memory_mib") << 20,
                    GPU: gpus * milli,
                }
            ),
            node_affinity=(
                (NodeSelectorTerm((Requirement(MODEL, IN, models),)),) if gpus and models else None
            ),
            share=(
                DeviceShare("reservation", gpus, memory_ppm=milli * 1000)
                if gpus and milli < WHOLE
                else None
            ),
        )
        spec = self._known.setdefault(spec, spec)
        created = _number(row, "creation_time") if row.get("creation_time") else 0
        return Pod(
            NAMESPACE, name, spec, PodState.PENDING, GroupKey(f"{NAMESPACE}/{name}"),
            created_s=created,
        )  # fmt: skip
