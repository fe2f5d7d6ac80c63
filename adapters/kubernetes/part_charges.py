"""What queues are charged for parts of GPUs that device plug-ins advertise: slices and replicas.

A MIG slice is charged the larger of its compute and its memory part of the GPU, a replica of a
shared GPU its part, in thousandths of nvidia.com/gpu; where no queue names that, nobody is. Nodes
offer as much more of it. What is whole there is counted beside it, so that nobody starts on parts
who asked for a whole GPU; so it is, charged or not, where one pod asks for both.
"""

import re
from collections.abc import Iterable, Mapping, Sequence

from msgspec.structs import replace

from ...models import Amounts, Node, Pod, PodSpec, Queue
from ...models.devices import GPU, SHARED_GPU, WHOLE_GPU
from ...models.mig import MODELS, PREFIX, Model, model_of

_PRODUCT, _REPLICAS = "nvidia.com/gpu.product", "nvidia.com/gpu.replicas"
_COMPUTE = re.compile(r"(\d)g\.")
UNIT = 1_000


def with_parts_charged(
    nodes: Sequence[Node], pods: Sequence[Pod], queues: Iterable[Queue]
) -> tuple[list[Node], list[Pod]]:
    """Return nodes and pods with parts counted as nvidia.com/gpu, where a queue names that."""
    charges = charges_of(nodes)
    if not charges:
        return list(nodes), list(pods)
    made = Charged(charges, names_gpus(queues))
    return [made.node(n) for n in nodes], [made.pod(p) for p in pods]


def names_gpus(queues: Iterable[Queue]) -> bool:
    """Say whether any queue names whole GPUs."""
    return any(GPU in of for q in queues for of in (q.capability, q.deserved, q.guarantee))


def charges_of(nodes: Iterable[Node]) -> Mapping[str, int]:
    """Return the charge of one of each resource that is a part; the largest where nodes differ."""
    out: dict[str, int] = {}
    for n in nodes:
        model = model_of(n.labels.get(_PRODUCT, ""))
        for r in n.allocatable:
            part = _part(r, model, n.labels.get(_REPLICAS, ""))
            if part:
                out[r] = max(part, out.get(r, 0))
    return out


def _part(resource: str, model: Model | None, replicas: str) -> int:
    """Return thousandths of a GPU, rounded down; 0 for what is no part of one."""
    if resource == SHARED_GPU:
        known = replicas.isascii() and replicas.isdigit() and 0 < int(replicas) <= UNIT
        return UNIT // int(replicas) if known else UNIT
    if not resource.startswith(PREFIX):
        return 0
    name = resource.removeprefix(PREFIX)
    for m in MODELS if model is None else (model,):
        for p in m.profiles:
            if p.name == name:
                whole = max(q.memory for q in m.profiles)
                return max(UNIT * p.compute // m.compute, UNIT * p.memory // whole)
    found = _COMPUTE.match(name)
    return UNIT * min(7, int(found[1])) // 7 if found else UNIT


class Charged:
    """Adds charges; equal specs stay one object.

    ``counted``: whether anybody is charged; if not, only whole GPUs are told from parts where both
    are asked for or offered.
    """

    def __init__(self, charges: Mapping[str, int], counted: bool = True) -> None:
        self._charges = charges
        self._counted = counted
        self._specs: dict[int, tuple[PodSpec, PodSpec]] = {}

    def _with(self, amounts: Amounts) -> Amounts:
        """Return the amounts with parts added, and what is whole beside them."""
        whole = amounts[GPU]
        if not self._counted:
            both = not amounts.keys().isdisjoint(self._charges)
            return amounts.plus({WHOLE_GPU: whole}) if both else amounts
        parts = sum(c * -(-amounts[r] // UNIT) for r, c in self._charges.items())
        return Amounts({**amounts, GPU: whole + parts, WHOLE_GPU: whole})

    def node(self, node: Node) -> Node:
        return replace(node, allocatable=self._with(node.allocatable))

    def pod(self, pod: Pod) -> Pod:
        asks, spec = pod.spec.requests, pod.spec
        # A share's place is for the rule of devices to find: no whole GPU is counted for it.
        if spec.share is not None or (GPU not in asks and asks.keys().isdisjoint(self._charges)):
            return pod
        if id(spec) not in self._specs:
            self._specs[id(spec)] = (spec, replace(spec, requests=self._with(asks)))
        return replace(pod, spec=self._specs[id(spec)][1])
