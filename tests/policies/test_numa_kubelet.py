"""The verdict about NUMA cells equals the kubelet's: 500 nodes and pods, every hint enumerated."""

from collections import Counter
from collections.abc import Mapping, Sequence
from random import Random

from apportion.models import (
    AlignedAsk,
    Amounts,
    Cell,
    CellShare,
    NodeName,
    Numa,
    Pod,
    PodSpec,
    PodState,
)  # fmt: skip
from apportion.policies.numa_cells import NodeCells
from apportion.policies.numa_layout import layout_of
from oracle.kubelet import Container, Machine, admits, admits_in_order

GPU = "nvidia.com/gpu"
HUGE = "hugepages-2Mi"
UNITS = {"cpu": 1000, GPU: 1000, "memory": 1 << 20, HUGE: 1 << 21}


def amounts(asks: Mapping[str, int]) -> Amounts:
    return Amounts({r: n * UNITS[r] for r, n in asks.items()})


class Situation:
    """A node whose pods' cells are known, as both sides see it."""

    def __init__(
        self, rng: Random, policies: Sequence[str], most_cells: int, wide_memory: bool = True
    ) -> None:
        self.rng = rng
        n = rng.choice([k for k in (1, 2, 2, 2, 3, 4) if k <= most_cells])
        self.policy = rng.choice(policies)
        self.scope = rng.choice(("container", "pod"))
        others = [GPU, "memory", HUGE]
        if self.policy == "restricted" and not wide_memory:
            others = [GPU]
        number = min(len(others), rng.choice((0, 1, 1, 2)))
        self.resources = ["cpu", *rng.sample(others, number)]
        offered = [{r: rng.choice((2, 3, 4)) for r in self.resources} for _ in range(n)]
        kept = [rng.choice((0, 0, 1)) for _ in range(n)]
        capacity = [{**o, "cpu": o["cpu"] + k} for o, k in zip(offered, kept, strict=True)]
        free = [dict(o) for o in offered]
        memory_of = [frozenset[int]() for _ in range(n)]
        self.running: list[Pod] = []
        for i in range(n):
            for k in range(rng.choice((0, 0, 1, 2))):
                held = {r: rng.randint(0, f) for r, f in free[i].items() if rng.random() < 0.7}
                held = {r: a for r, a in held.items() if a}
                for r, a in held.items():
                    free[i][r] -= a
                if held.keys() & {"memory", HUGE}:
                    memory_of[i] = frozenset((i,))
                spec = PodSpec(aligned=(AlignedAsk(amounts(held)),))
                self.running.append(
                    Pod(
                        "x", f"r{i}-{k}", spec, PodState.RUNNING, node=NodeName("n"),
                        cells=(CellShare(i, amounts(held)),),
                    )
                )  # fmt: skip
        self.machine = Machine(
            self.policy, self.scope, tuple(capacity), tuple(offered), tuple(free), tuple(memory_of)
        )
        cells = tuple(
            Cell(i, amounts(o), amounts(c))
            for i, (o, c) in enumerate(zip(offered, capacity, strict=True))
        )
        numa = Numa(self.policy, self.scope, cells)  # type: ignore[arg-type]  # one of the words
        self.node = NodeCells(layout_of(numa), self.running)

    def pod(self, most: int, inits: bool = False) -> tuple[Container, ...]:
        rng = self.rng
        containers = []
        for _ in range(rng.randint(1, most)):
            asks = {r: rng.choice((1, 1, 2, 3, 5)) for r in self.resources if rng.random() < 0.7}
            containers.append(Container(asks))
        if inits and self.scope == "pod" and rng.random() < 0.3:
            containers.insert(rng.choice((0, 1)), Container({"cpu": rng.randint(1, 4)}, True))
        return tuple(containers)

    def verdict(self, pods: Sequence[Sequence[Container]]) -> bool:
        if self.policy in ("none", "best-effort"):
            return True  # the rule looks at strict nodes alone
        return self.node.admits([spec_of(p) for p in pods])


def spec_of(pod: Sequence[Container]) -> PodSpec:
    return PodSpec(aligned=tuple(AlignedAsk(amounts(c.asks), c.init) for c in pod))


def test_one_pod_is_admitted_where_its_kubelet_admits_it() -> None:
    said: Counter[tuple[str, bool]] = Counter()
    for seed in range(500):
        here = Situation(Random(seed), ("none", "best-effort", *STRICT * 3), 4)
        pod = here.pod(3, inits=True)

        want = admits(here.machine, [pod])

        assert here.verdict([pod]) == want, (seed, here.machine, pod)
        said[here.policy, want] += 1

    assert min(said[p, w] for p in STRICT for w in (True, False)) > 30, said


STRICT = ("restricted", "single-numa-node")


def test_several_pods_are_admitted_where_some_order_of_them_is() -> None:
    """Of one container each, on at most two cells, none with memory of several cells.

    Others are refused beside each other, though some of them might be admitted.
    """
    said: Counter[tuple[str, bool]] = Counter()
    for seed in range(500):
        here = Situation(Random(1000 + seed), STRICT, 2, wide_memory=False)
        pods = [here.pod(1) for _ in range(here.rng.choice((2, 3, 4)))]

        want = admits(here.machine, pods)

        assert here.verdict(pods) == want, (seed, here.machine, pods)
        said[here.policy, want] += 1

    assert min(said[p, w] for p in STRICT for w in (True, False)) > 30, said


def test_what_is_said_to_start_in_this_order_is_admitted_in_this_order() -> None:
    said: Counter[tuple[str, bool]] = Counter()
    for seed in range(500):
        here = Situation(Random(2000 + seed), STRICT, 4)
        pods = [here.pod(2) for _ in range(here.rng.choice((1, 2, 3)))]

        verdict = here.verdict(pods)

        said[here.policy, verdict] += 1
        if verdict:
            turns = here.node.order([spec_of(p) for p in pods])
            order = [p for _, p in sorted(zip(turns, pods, strict=True), key=lambda t: t[0])]
            assert admits_in_order(here.machine, order), (seed, here.machine, order)

    assert min(said[p, w] for p in STRICT for w in (True, False)) > 30, said
