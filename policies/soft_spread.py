"""Soft topology spread (ScheduleAnyway): a wish that pods of a kind stay level over domains.

What it costs, per constraint of a kind of pods: WEIGHT · max(0, highest − least − maxSkew), the
highest of the domains that take a new pod of the kind, the least of those that take part; and
WEIGHT for every new pod on a node without the key. Counts are those after the plan. kube-scheduler
scores nodes one pod at a time instead (PodTopologySpread, KEP-895); minDomains is for hard ones.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ..models import Pod, PodSpec, SpreadConstraint
from .outcome import Outcome
from .topology_spread import additions, counts_of, eligible_nodes, standing_counts

if TYPE_CHECKING:
    from .board import Board, Shape, Term

WEIGHT = 10
"""Preferences weigh 1 to 100: neither the lightest nor the heaviest of them decides alone."""

NAME = "wishes"
Kind = tuple[str, PodSpec, SpreadConstraint]
"""Namespace, spec and constraint: what is levelled together."""


def soft_kinds(pod: Pod) -> list[Kind]:
    """Return the kinds that the pod belongs to, one for each of its soft constraints."""
    return [(pod.namespace, pod.spec, c) for c in pod.spec.spread if not c.hard]


def spread_weight(outcome: Outcome) -> int:
    """Return what soft spread costs in a plan."""
    specs = outcome.scene.columns.specs
    if all(c.hard for spec in specs for c in spec.spread):
        return 0
    nodes = outcome.scene.nodes
    taken: dict[Kind, tuple[Pod, set[str]]] = {}
    lacking = 0
    for p, i in outcome.new_pods:
        for kind in soft_kinds(p):
            here = nodes[i].labels.get(kind[2].topology_key)
            if here is None:
                lacking += 1
            else:
                taken.setdefault(kind, (p, set()))[1].add(here)
    beyond = 0
    for (_, _, c), (pod, domains) in taken.items():
        counts = counts_of(outcome, pod, c)
        least = min(counts.values(), default=0)
        highest = max(counts.get(d, 0) for d in domains)
        beyond += max(0, highest - least - c.max_skew)
    return WEIGHT * (lacking + beyond)


def spread_terms(board: "Board") -> "list[Term]":
    """Return what soft spread costs on the board, as terms of what is to be large."""
    kinds: dict[Kind, list[Shape]] = {}
    for s in board.shapes:
        for kind in soft_kinds(s.sample):
            kinds.setdefault(kind, []).append(s)
    out: list[Term] = []
    for kind, shapes in kinds.items():
        out += _terms(board, kind, shapes)
    return out


def _terms(board: "Board", kind: Kind, shapes: "Sequence[Shape]") -> "list[Term]":
    c, sample, world = kind[2], shapes[0].sample, board.world
    label = f"{shapes[0].label} {c.topology_key}"
    domains, names = world.domains(c.topology_key)
    takes_part = eligible_nodes(c, sample, world.nodes)
    base = standing_counts(world, sample, c)
    adds: Mapping[int, list[Term]] = {
        d: [(k, v.var) for k, v in terms]
        for d, terms in additions(board, shapes[0], c, domains, takes_part).items()
    }
    top = [
        n + sum(k * board.upper(v) for k, v in adds.get(d, ()) if k > 0) for d, n in enumerate(base)
    ]
    number = board.number(kind)
    parts = sorted({int(d) for d in domains[takes_part]})
    least = board.integer(0, max((top[d] for d in parts), default=0), ("least", number)).var
    for d in parts:
        less = [(-k, v) for k, v in adds.get(d, ())]
        board.at_most([(1, least), *less], base[d], NAME, f"{label} least {names[d]}")
    beyond = board.integer(0, max(0, max(top, default=0) - c.max_skew), ("beyond", number)).var
    out: list[Term] = [(-WEIGHT, beyond)]
    for s in shapes:
        for d, cells in board.cells_by_domain(s, domains).items():
            if d < 0:
                out += [(-WEIGHT, v) for v in cells]
                continue
            here = board.present(s, c.topology_key, d, cells)
            terms = [*adds.get(d, ()), (-1, least), (-1, beyond)]
            bound = c.max_skew - base[d]
            board.at_most(terms, bound, NAME, f"{label} {names[d]}", given=[here])
    return out
