"""NPUs in blocks, as Volcano's Ascend plug-in knows them: which numbers, and what shares a link.

Source: Ascend/ascend-for-volcano (module910x8, half910x4, card910x2, module910bx16, module910bx8).
"""

import re
from collections.abc import Iterable, Mapping

from ...models import DeviceBlocks, Node
from .meta import Thing

NPU = "huawei.com/Ascend910"
_TYPE, _KIND = "accelerator-type", "accelerator"
_ASCEND = "huawei-Ascend910"
_UPTO_8 = tuple(range(1, 9))
_BOARDS: Mapping[str, tuple[tuple[int, ...], tuple[int, ...]]] = {
    "module": ((4, 4), (1, 2, 4, 8)),
    "half": ((4,), (1, 2, 4)),
    "card": ((2,), (1, 2)),
    "module-910b-8": ((8,), _UPTO_8),
    "module-910b-16": ((8, 8), (*_UPTO_8, 16)),
    "card-910b-2": ((2,), (1, 2)),
}
"""By accelerator-type: NPUs of each half that is linked by HCCS; how many a pod may ask for."""
_DEVICE = re.compile(r"Ascend910-([0-9]{1,3})")


def npu_blocks(node: Node, thing: Thing) -> tuple[DeviceBlocks, ...]:
    """Return the NPUs of the node, if it has some that are given out whole."""
    if not node.allocatable[NPU] or f"{NPU}-memory" in node.allocatable:
        return ()
    board = node.labels.get(_TYPE) or ("module" if node.labels.get(_KIND) == _ASCEND else "")
    if board.lower() not in _BOARDS:
        return ()
    sizes, numbers = _BOARDS[board.lower()]
    broken = _numbers(thing.annotations.get(f"{NPU}-Unhealthy", ""))
    free = thing.annotations.get(NPU)
    return (
        DeviceBlocks(
            NPU, sizes, numbers, tuple(sorted(broken)),
            None if free is None else tuple(sorted(_numbers(free) - broken)),
        ),
    )  # fmt: skip


def npus_of(thing: Thing) -> tuple[int, ...]:
    """Return the NPUs that the pod was given, by index."""
    written = thing.annotations.get(NPU) or thing.annotations.get("huawei.com/AscendReal") or ""
    return tuple(sorted(_numbers(written)))


def _numbers(text: str) -> set[int]:
    return {int(m[1]) for word in _words(text) if (m := _DEVICE.fullmatch(word)) is not None}


def _words(text: str) -> Iterable[str]:
    return (w.strip() for w in text.split(","))
