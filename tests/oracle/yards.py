"""Brute force for packings: every pod on every node and device, or nowhere. Shares no code.

A case is nodes (CPU, and the parts left on each device) and pods (CPU, devices, parts of each).
"""

from dataclasses import dataclass
from itertools import combinations
from random import Random

UNIT = 100
Ask = tuple[int, int, int]
"""CPU, devices, parts of each; a whole device takes all parts of an idle one."""


@dataclass(frozen=True)
class Case:
    nodes: tuple[tuple[int, tuple[int, ...]], ...]
    pods: tuple[Ask, ...]


def worth(ask: Ask) -> int:
    return 10 * ask[1] * ask[2] + 1


def random_case(rng: Random) -> Case:
    asks: list[Ask] = [
        (rng.randint(1, 6), 1, rng.choice((20, 35, 50, 60, 81))) for _ in range(rng.randint(1, 3))
    ]
    asks += [(rng.randint(1, 8), 1, UNIT), (rng.randint(2, 8), 2, UNIT), (rng.randint(1, 6), 0, 0)]
    nodes = []
    for _ in range(rng.randint(1, 3)):
        left = tuple(rng.choice((UNIT, UNIT, 70, 40, 0)) for _ in range(rng.randint(1, 2)))
        nodes.append((rng.randint(4, 14), left))
    return Case(tuple(nodes), tuple(rng.choice(asks) for _ in range(rng.randint(2, 7))))


def best(case: Case) -> int:
    """Return the most worth that can be placed."""
    pods = sorted(case.pods, key=worth, reverse=True)
    rest = [sum(worth(p) for p in pods[i:]) for i in range(len(pods) + 1)]
    cpu = [c for c, _ in case.nodes]
    left = [list(d) for _, d in case.nodes]
    found = 0

    def go(i: int, now: int) -> None:
        nonlocal found
        found = max(found, now)
        if i == len(pods) or now + rest[i] <= found:
            return
        c, number, parts = pods[i]
        for v in range(len(cpu)):
            if cpu[v] < c:
                continue
            able = [d for d, x in enumerate(left[v]) if x >= parts]
            for on in combinations(able, number):
                cpu[v] -= c
                for d in on:
                    left[v][d] -= parts
                go(i + 1, now + worth(pods[i]))
                cpu[v] += c
                for d in on:
                    left[v][d] += parts
        go(i + 1, now)

    go(0, 0)
    return found
