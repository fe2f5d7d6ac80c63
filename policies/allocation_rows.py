"""Devices as rows: how many of each kind of device each way of serving a claim takes.

A *kind* is the devices of a node that nothing tells apart: selections, compared attributes,
counters, and who has them. A *pattern* is a number of devices of each kind that all claims of a
pod could take. Pods by pattern add up to the pods on the node; devices of a kind to what is there.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from ..models import ClaimSpec
from .allocation import Pattern, in_parts, patterns
from .allocation_use import named_claims, own_asks

if TYPE_CHECKING:
    from .board import Board, NodeClass, Shape, Term, Unit, Var


class _Holders:
    """Who has devices before the plan, as the board sees it."""

    def __init__(self, board: "Board", rule: str) -> None:
        self.units: dict[str, tuple[Unit, ...]] = {}
        """Devices that these units leave when all of them are gone."""
        self.freed: dict[str, Var] = {}
        """For devices of a claim of several pods: whether it gives them up."""
        self.gone: set[str] = set()
        """Devices that nobody gives back."""
        self.parts: dict[str, list[tuple[int, Var] | None]] = {}
        """Who has a part of devices that may be allocated several times: (n, x) has left once x
        is n; None: somebody who stays."""
        self.draws: dict[str, list[tuple[int, int, Var | None]]] = {}
        """By counter (n, m, x): n of it come back for each x, or none of m does."""
        shared = in_parts(board.scene.nodes)
        leaving = {p.key: u for u in board.units for p in u.pods}
        claims = board.scene.snapshot.claims_by_key
        users: dict[str, list[Unit | None]] = {}
        for p, _ in board.world.present:
            unit = leaving.get(p.key)
            for d in p.claimed:
                if d in shared:
                    left = None if unit is None else (len(unit.pods), board.lost(unit))
                    self.parts.setdefault(d, []).append(left)
                elif unit is None:
                    self.gone.add(d)
                else:
                    self.units[d] = (unit,)
            for c, n in p.draws.items():
                back = None if unit is None else board.lost(unit)
                times = 1 if unit is None else len(unit.pods)
                if unit is None or p is unit.pods[0]:
                    self.draws.setdefault(c, []).append((n, n * times, back))
            for key in named_claims(p):
                users.setdefault(key, []).append(unit)
        kept_for = board.world.used_claims
        for key, claim in claims.items():
            if not claim.allocated:
                continue
            having = users.get(key, [])
            if any(u is None for u in having) or (not having and key not in kept_for):
                self.gone.update(d for d in claim.devices if d not in shared)
                for d in claim.devices:
                    if d in shared:
                        self.parts.setdefault(d, []).append(None)
                for c, n in claim.draws.items():
                    self.draws.setdefault(c, []).append((n, n, None))
                continue
            units = tuple({u.index: u for u in having if u is not None}.values())
            freed = board.flag(("gives up", key))
            for u in units:
                board.at_most([(len(u.pods), freed), (-1, board.lost(u))], 0, rule, f"claim {key}")
            for s in board.shapes:
                if key in named_claims(s.sample):
                    for cls, var in board.cells(s):
                        here = board.present(s, "class", cls.index, [var])
                        board.at_most([(1, here), (1, freed)], 1, rule, f"claim {key} {s.label}")
            for c, n in claim.draws.items():
                self.draws.setdefault(c, []).append((n, n, freed))
            for d in claim.devices:
                if d in shared:
                    self.parts.setdefault(d, []).append((1, freed))
                    continue
                self.units[d] = units
                self.freed[d] = freed


def tell_devices(board: "Board", rule: str) -> None:
    """Tell the solver which claims the devices of each node can serve together."""
    if not any(s.sample.spec.claims for s in board.shapes):
        return
    holders = _Holders(board, rule)
    _Devices(board, rule, holders).tell()


class _Devices:
    def __init__(self, board: "Board", rule: str, holders: _Holders) -> None:
        self._board = board
        self._rule = rule
        self._holders = holders
        self._claims = board.scene.snapshot.claims_by_key
        self._served: dict[str, list[Term]] = {}
        """By claim of several pods, all ways to serve it."""

    def tell(self) -> None:
        for cls in self._board.classes:
            self._on(cls)
        for key, ways in self._served.items():
            self._board.at_most(ways, 1, self._rule, f"claim {key}")

    def _on(self, cls: "NodeClass") -> None:
        """Tell what the devices of one node can serve."""
        board = self._board
        node = board.scene.nodes[cls.nodes[0]]
        own = [(s, var, own_asks(s.sample, node)) for s, var in board.on(cls)]
        own = [(s, var, asks) for s, var, asks in own if asks]
        shared: dict[str, list[Shape]] = {}
        for s, _ in board.on(cls):
            for key in named_claims(s.sample):
                claim = self._claims.get(key)
                if claim is not None and not claim.allocated:
                    shared.setdefault(key, []).append(s)
        if not own and not shared:
            return
        kinds, supply, sample = self._kinds(cls)
        use: dict[int, list[Term]] = {}
        counters: dict[str, list[Term]] = {}
        for s, var, asks in own:
            ways = self._ways(cls, s, asks, kinds, sample)
            flags = self._split(cls, s, var, ways)
            self._count(flags, use, counters)
        for key, shapes in sorted(shared.items()):
            ways = self._ways(cls, None, [self._claims[key].spec], kinds, sample)
            flags = [(w, board.flag(("serves", key, cls.index, n))) for n, w in enumerate(ways)]
            self._count(flags, use, counters)
            self._served.setdefault(key, []).extend((1, f) for _, f in flags)
            for s in shapes:
                x = board.pods(s, cls)
                assert x is not None
                here = board.present(s, "class", cls.index, [x])
                label = f"claim {key} {cls.label}"
                board.at_most([(1, here), *((-1, f) for _, f in flags)], 0, self._rule, label)
                for w, f in flags:
                    self._by_right(s, w, sample, [(1, f), (1, here)], 1, 1, label)
        kept = self._begin(cls, kinds, use, counters)
        for k, terms in use.items():
            free = self._freed(sample[k], supply[k])
            fixed = supply[k] if free is None else 0
            board.at_most(
                [*terms, *(free or ())], fixed * cls.size, self._rule, f"devices of {cls.label}"
            )
        self._tell_counters(cls, counters, kept)

    def _begin(
        self,
        cls: "NodeClass",
        kinds: Mapping[str, int],
        use: "dict[int, list[Term]]",
        counters: "dict[str, list[Term]]",
    ) -> "dict[str, list[Term]]":
        """Count the counters of a device that is in parts once, while anybody has a part.

        Return those of devices of which somebody keeps a part: nobody begins to draw them.
        """
        board, rule = self._board, self._rule
        out: dict[str, list[Term]] = {}
        for d in board.scene.nodes[cls.nodes[0]].pool_devices:
            terms = use.pop(kinds[d.id], []) if d.multiple and d.id in kinds else []
            has = self._holders.parts.get(d.id, [])
            if not d.multiple or not d.counters or d.taken or None in has or not (terms or has):
                continue
            about = f"parts of {d.id}"
            begun = board.flag(("in parts", d.id)) if terms else None
            kept = board.flag(("keeps parts", d.id)) if has else None
            if kept is not None:
                those = [left for left in has if left is not None]
                for n, x in those:
                    board.at_most([(-n, kept), (-1, x)], -n, rule, about)
                board.at_most(
                    [(1, kept), *((1, x) for _, x in those)], sum(n for n, _ in those), rule, about
                )
            either = [f for f in (begun, kept) if f is not None]
            for _, x in terms:
                top = board.upper(x)
                board.at_most([(1, x), *((-top, f) for f in either)], 0, rule, about)
            for c, n in d.counters.items():
                if begun is not None:
                    counters.setdefault(c, []).append((n, begun))
                if kept is not None:
                    out.setdefault(c, []).append((n, kept))
        return out

    def _kinds(self, cls: "NodeClass") -> tuple[dict[str, int], dict[int, int], dict[int, str]]:
        """Return the kind of each device, the number of each kind, and a device of each."""
        numbers: dict[Hashable, int] = {}
        kinds: dict[str, int] = {}
        supply: dict[int, int] = {}
        sample: dict[int, str] = {}
        h = self._holders
        for d in self._board.scene.nodes[cls.nodes[0]].pool_devices:
            if not d.multiple and (d.id in h.gone or d.taken):
                continue
            key = (
                d.multiple and d.id,
                d.selections, tuple(sorted(d.attributes.items())),
                tuple(sorted(d.counters.items())),
                tuple(u.index for u in h.units.get(d.id, ())), h.freed.get(d.id),
            )  # fmt: skip
            k = numbers.setdefault(key, len(numbers))
            kinds[d.id] = k
            supply[k] = supply.get(k, 0) + 1
            sample.setdefault(k, d.id)
        return kinds, supply, sample

    def _ways(
        self,
        cls: "NodeClass",
        alone: "Shape | None",
        asks: Sequence[ClaimSpec],
        kinds: Mapping[str, int],
        sample: Mapping[int, str],
    ) -> list[Pattern]:
        """Return the patterns that the claims could take, and the shape has a right to."""
        node = self._board.scene.nodes[cls.nodes[0]]
        found, whole = patterns(node, self._holders.gone, asks, kinds)
        if not whole:
            self._board.exact = False
        return found if alone is None else [w for w in found if self._may(alone, w, sample)]

    def _may(self, s: "Shape", way: Pattern, sample: Mapping[int, str]) -> bool:
        """Say whether the shape may have a right to all that the pattern takes."""
        victims = (u.victim for k, _ in way.use for u in self._holders.units.get(sample[k], ()))
        return all(self._board.right(s.claimant, v) is not False for v in victims)

    def _split(
        self, cls: "NodeClass", s: "Shape", x: "Var", ways: Sequence[Pattern]
    ) -> "list[tuple[Pattern, Var]]":
        """Divide the pods of a shape among the patterns."""
        board = self._board
        label = f"{s.label} {cls.label}"
        if not ways:
            board.at_most([(1, x)], 0, self._rule, label)
            return []
        if len(ways) == 1:
            out = [(ways[0], x)]
        else:
            top = board.upper(x)
            out = [
                (w, board.integer(0, top, ("takes", s.index, cls.index, n)).var)
                for n, w in enumerate(ways)
            ]
            board.equal([(1, x), *((-1, v) for _, v in out)], 0, self._rule, label)
        sample = self._kinds(cls)[2]
        for w, v in out:
            top = board.upper(v)
            self._by_right(s, w, sample, [(1, v)], 0, top, label)
        return out

    def _by_right(
        self,
        s: "Shape",
        way: Pattern,
        sample: Mapping[int, str],
        terms: "Sequence[Term]",
        bound: int,
        top: int,
        label: str,
    ) -> None:
        """Devices that a victim leaves are for those with a right to it."""
        for k, _ in way.use:
            for u in self._holders.units.get(sample[k], ()):
                right = self._board.right(s.claimant, u.victim)
                if right is not True:
                    by = [] if right is False else [(-top, right)]
                    self._board.at_most([*terms, *by], bound, self._rule, label)

    @staticmethod
    def _count(
        ways: "Iterable[tuple[Pattern, Var]]",
        use: "dict[int, list[Term]]",
        counters: "dict[str, list[Term]]",
    ) -> None:
        for w, v in ways:
            for k, n in w.use:
                use.setdefault(k, []).append((n, v))
            for c, n in w.counters.items():
                counters.setdefault(c, []).append((n, v))

    def _freed(self, device: str, number: int) -> "list[Term] | None":
        """Return the terms that free a kind; None: it is free already."""
        if device in self._holders.freed:
            return [(-number, self._holders.freed[device])]
        units = self._holders.units.get(device)
        return None if not units else [(-number, self._board.lost(units[0]))]

    def _tell_counters(
        self,
        cls: "NodeClass",
        terms: "Mapping[str, list[Term]]",
        kept: "Mapping[str, list[Term]]",
    ) -> None:
        node = self._board.scene.nodes[cls.nodes[0]]
        h = self._holders
        for c in sorted({*terms, *kept}):
            left = node.counters.get(c, 0)
            back: list[Term] = list(kept.get(c, ()))
            begun = terms.get(c, [])
            for n, most, x in h.draws.get(c, ()):
                left -= most
                back += [(-n, x)] if x is not None else []
            for d in node.pool_devices:
                n = d.counters.get(c, 0)
                if d.multiple:
                    left -= n if d.taken or None in h.parts.get(d.id, ()) else 0
                elif n and (d.taken or d.id in h.gone or d.id in h.units):
                    left -= n
                    if not d.taken and d.id not in h.gone:
                        back += self._freed(d.id, n) or []
            about = f"counter {c} of {cls.label}"
            if left >= sum(n for n, _ in kept.get(c, ())):
                self._board.at_most([*begun, *back], left, self._rule, about)
                continue
            # Overdrawn already: what runs stays, but what starts has to keep to it.
            used = self._board.flag(("draws", cls.index, c))
            for _, v in begun:
                top = self._board.upper(v)
                self._board.at_most([(1, v), (-top, used)], 0, self._rule, about)
            self._board.at_most([*begun, *back], left, self._rule, about, given=[used])
