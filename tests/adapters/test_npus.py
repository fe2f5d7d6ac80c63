"""NPUs of nodes, in the blocks that their board has."""

from typing import Any

import pytest

from apportion.models import DeviceBlocks
from kubernetes_objects import node, pod, pod_in, snapshot

NPU = "huawei.com/Ascend910"


def board(
    labels: dict[str, str], notes: dict[str, str] | None = None, memory: str | None = None
) -> Any:
    of_npus = {f"{NPU}-memory": memory} if memory is not None else {}
    n = node("n", **{"cpu": "96", NPU: "8", **of_npus})
    n["metadata"]["labels"] = labels
    n["metadata"]["annotations"] = notes or {}
    (read,) = snapshot(n).nodes
    return read.blocks


ASCEND = {"accelerator": "huawei-Ascend910"}


@pytest.mark.parametrize(
    ("labels", "sizes", "numbers"),
    [
        (ASCEND, (4, 4), (1, 2, 4, 8)),
        ({"accelerator-type": "module"}, (4, 4), (1, 2, 4, 8)),
        ({"accelerator-type": "half"}, (4,), (1, 2, 4)),
        ({**ASCEND, "accelerator-type": "card"}, (2,), (1, 2)),
        ({"accelerator-type": "module-910B-16"}, (8, 8), (1, 2, 3, 4, 5, 6, 7, 8, 16)),
    ],
)
def test_the_board_says_how_its_npus_lie(
    labels: dict[str, str], sizes: tuple[int, ...], numbers: tuple[int, ...]
) -> None:
    assert board(labels) == (DeviceBlocks(NPU, sizes, numbers),)


def test_other_boards_and_shared_npus_are_passed_over() -> None:
    assert board({}) == ()
    assert board({"accelerator-type": "cube"}) == ()
    assert board(ASCEND, memory="64") == ()


def test_free_and_broken_npus_are_read_from_annotations() -> None:
    notes = {NPU: "Ascend910-0,Ascend910-5, Ascend910-7", f"{NPU}-Unhealthy": "Ascend910-7"}

    (blocks,) = board(ASCEND, notes)

    assert (blocks.free, blocks.absent) == ((0, 5), (7,))


def test_what_a_pod_was_given_is_read() -> None:
    given = {NPU: "Ascend910-4,Ascend910-5"}
    world = snapshot(node("n"), pod("p", {NPU: 2}, nodeName="n", annotations=given))

    assert pod_in(world, "p").devices == (4, 5)
