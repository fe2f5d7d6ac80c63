"""What the page of the demo shows, from objects as the API server has them."""

import io

from rich.console import Console

from cluster.client import Data
from cluster.invariants import GROUP
from cluster.objects import placed_node, pod
from cluster.screen import page

CYCLE = {
    "number": 7, "bound": 1, "evicted": 0, "held": 1, "engine": "exact", "solveSeconds": 0.25,
    "gap": 0.0,
}  # fmt: skip


def member(name: str, job: str, gpus: int, node: str = "", why: str = "", **meta: str) -> Data:
    one = pod(name, gpus, annotations={GROUP: job})
    told = {"type": "PodScheduled", "status": "False", "message": why}
    one["status"] = {"phase": "Running" if node else "Pending", "conditions": [told] if why else []}
    one["metadata"].update(meta)
    if node:
        one["spec"]["nodeName"] = node
    return one


def shown(*pods: Data) -> list[str]:
    out = Console(file=io.StringIO(), width=100, color_system=None)
    groups = [{"metadata": {"name": "wide"}, "spec": {"queue": "research"}}]
    out.print(page([placed_node(0, 4), placed_node(1, 4)], list(pods), groups, CYCLE))
    assert isinstance(out.file, io.StringIO)
    return [line.rstrip() for line in out.file.getvalue().splitlines()]


def test_every_gpu_is_a_letter_of_its_job_and_a_dot_where_it_is_free() -> None:
    lines = shown(member("a-0", "a", 3, "gpu-0"), member("a-1", "a", 1, "gpu-1"))

    assert lines[0] == "Apportion  4 of 8 GPUs in use, 0 pods wait"
    assert lines[1] == "cycle 7: 1 bound, 0 evicted, 1 groups held, exact in 0.25 s, gap 0.0%"
    assert "rack-0  gpu-0  AAA·" in lines
    assert "rack-0  gpu-1  A···" in lines


def test_what_waits_is_a_line_with_its_queue_and_the_reason() -> None:
    lines = shown(
        member("wide-0", "wide", 8, why="too little nvidia.com/gpu"), member("wide-1", "wide", 8)
    )

    assert "A  wide  research  2 × 8 GPUs  too little nvidia.com/gpu" in lines


def test_names_of_the_cluster_are_text_and_no_markup() -> None:
    lines = shown(member("x-0", "x", 1, why="[red]not red[/]"))

    assert any("[red]not red[/]" in line for line in lines)
