"""The map: every node in its domain, its devices filled by the jobs that have them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from ...models import GroupKey, Node, NodeName, Snapshot
from ..cli.words import amounts, count, gathered, plain, resource, short
from .claimed import Claimed
from .domains import Domain, domains_of
from .elements import Html, Part, joined, name, tag
from .jobs import Jobs
from .legend import legend
from .occupancy import Cell, Row, State, Stay, devices_asked_for, rows_of, used_of
from .tables import MOST_NAMES, folded, left_out, section, table

CELL, HIGH, PAD = 18, 20, 3
"""Width of a device, its height, and the margin of a node, in pixels."""
PER_LINE = 8
BAR = 4
"""A bar is as wide as so many devices."""
MOST_NODES = 1000
"""Nodes drawn; beyond, the map says how many more there are."""
DEEPEST = 6
"""Of headings."""
LOOKS = (
    ("jf", "other schedulers"), ("jo", "smaller groups"), ("free", "free"),
    ("jo st", "starts now"), ("jo pr", "promised"), ("jo lv", "leaves"),
)  # fmt: skip
WORDS: Mapping[State, str] = {
    "runs": "runs", "starts": "starts", "promised": "is promised", "leaving": "leaves",
}  # fmt: skip


@dataclass
class ClusterMap:
    """Draws nodes until there are enough of them."""

    snapshot: Snapshot
    stays: Mapping[NodeName, list[Stay]]
    jobs: Jobs
    claimed: Claimed

    def __post_init__(self) -> None:
        self.asked = devices_asked_for(self.snapshot)
        self.drawn = 0
        self.rows = {n.name: self._rows(n) for n in self.snapshot.nodes}

    def _rows(self, node: Node) -> list[Row]:
        here = self.stays[node.name]
        claimed = self.claimed.row(node, here)
        found = rows_of(node, here, self.asked)
        if claimed is None:
            return found
        return [*(r for r in found if r.resource != "cpu"), claimed]

    def section(self) -> Html:
        """Return the map with its legend and its table."""
        root = domains_of(self.snapshot)
        parts = [legend(LOOKS), *self._inside(root, 3)]
        return section(
            "map", "Cluster", "Devices by the group that has them once the plan is carried out; "
            "a number is a group. Nodes without devices show their CPU.", *parts,
            left_out(len(root.all) - self.drawn, "node"),
            folded("Groups by their number", self._numbered()) if self.jobs.number_of else "",
            folded("The same as a table", self._table(root.all)),
        )  # fmt: skip

    def _inside(self, domain: Domain, depth: int) -> Iterator[Html]:
        for d in domain.domains:
            if self.drawn >= MOST_NODES:
                return
            title = tag(f"h{min(depth, DEEPEST)}", _kind(d), name(d.name))
            note = tag("span", self._in_use(d.all), class_="dim")
            inside = list(self._inside(d, depth + 1))
            yield tag(
                "details", tag("summary", title, " ", note), *inside, class_="domain", open=True
            )
        nodes = domain.nodes[: MOST_NODES - self.drawn]
        self.drawn += len(nodes)
        if nodes:
            yield tag("ul", *(self._tile(n) for n in nodes), class_="nodes")

    def _in_use(self, nodes: Sequence[Node]) -> str:
        """Say how much of its devices a domain has in use."""
        parts = [count(len(nodes), "node")]
        for r in sorted({r for n in nodes for r in n.allocatable if r in self.asked}):
            there = sum(n.allocatable[r] for n in nodes)
            used = sum(used_of(r, self.stays[n.name]) for n in nodes)
            parts.append(_of(used, there, r))
        return " · ".join(parts)

    def _tile(self, node: Node) -> Html:
        rows = self.rows[node.name]
        lines = sum(-(-len(r.cells) // PER_LINE) for r in rows)
        cells = max(BAR if r.is_bar else min(PER_LINE, len(r.cells)) for r in rows)
        wide = cells * CELL + 2 * PAD
        high = lines * HIGH + 2 * PAD
        frame = tag(
            "rect", x=0.5, y=0.5, width=wide - 1, height=high - 1, rx=3,
            class_="node" if node.takes_pods else "node off",
        )  # fmt: skip
        y, drawn = PAD, list[Html]()
        for r in rows:
            drawn += self._row(r, y)
            y += -(-len(r.cells) // PER_LINE) * HIGH
        picture = tag(
            "svg", tag("title", self._said(node, rows)), frame, *drawn, role="img",
            width=wide, height=high, viewBox=f"0 0 {wide} {high}",
        )  # fmt: skip
        off = "" if node.takes_pods else tag("span", _closed(node), class_="dim")
        return tag("li", picture, tag("span", name(node.name), class_="name"), off)

    def _row(self, row: Row, y: int) -> Iterator[Html]:
        if row.is_bar:
            yield from self._line(row.cells, y, BAR * CELL - 1)
            return
        for k in range(0, len(row.cells), PER_LINE):
            cells = row.cells[k : k + PER_LINE]
            top = y + k // PER_LINE * HIGH
            yield from self._line(cells, top, CELL - 1)
            yield tag(
                "rect", x=PAD, y=top, width=len(cells) * CELL, height=HIGH - 1, fill="url(#cells)"
            )  # fmt: skip

    def _line(self, cells: Sequence[Cell], top: int, room: int) -> Iterator[Html]:
        """Draw cells side by side; neighbours that are wholly of one group are one area."""
        wide = len(cells) * (room + 1) - 1
        yield tag("rect", x=PAD, y=top, width=wide, height=HIGH - 1, class_="free")
        before = ""
        for start, size, holders in _runs(cells):
            at = float(PAD + start * (room + 1))
            for h in holders:
                wide_here = room * h.part if size == 1 else size * (room + 1) - 1
                yield tag(
                    "rect", x=at, y=top, width=wide_here, height=HIGH - 1,
                    class_=f"{self.jobs.look(h.group)}{_MARKS[h.state]}",
                )  # fmt: skip
                mark = self.jobs.mark(h.group)
                if mark != before and wide_here >= 7 * len(mark):
                    x = at + min(wide_here, room) / 2
                    yield tag("text", mark, x=x, y=top + 13, class_="mk") if mark else joined(())
                    before = mark
                at += wide_here

    def _said(self, node: Node, rows: Iterable[Row]) -> str:
        """Return what the picture of a node shows, in words."""
        used = "; ".join(_of(r.used, r.amount, r.resource) for r in rows)
        off = "" if node.takes_pods else f" ({_closed(node)})"
        who = ", ".join(_who(h) for h in _distinct(rows))
        return f"{plain(node.name)}{off}: {used} in use{f'; {who}' if who else ''}"

    def _numbered(self) -> Html:
        """Return whose number is which: groups that only run are in no other table."""
        nodes_of: dict[GroupKey, list[str]] = {g: [] for g in self.jobs.number_of}
        for node in self.snapshot.nodes:
            for s in self.stays[node.name]:
                if (group := s.pod.group) is not None and group in nodes_of:
                    nodes_of[group].append(node.name)
        groups = self.snapshot.groups_by_key
        lines: list[list[Part]] = [
            [self.jobs.named(g), few(nodes), name(groups[g].queue)] for g, nodes in nodes_of.items()
        ]
        caption = "Groups that hold most, and the nodes of their pods"
        return table(caption, ("group", "nodes", "queue"), lines)

    def _table(self, nodes: Sequence[Node]) -> Html:
        lines = []
        for n in nodes:
            here = self.stays[n.name]
            names = [r.resource for r in self.rows[n.name] if r.resource in n.allocatable]
            names = list(dict.fromkeys([*names, "cpu", "memory"]))
            used = {r: used_of(r, here) for r in names}
            by = {
                state: [str(s.pod.group or "other schedulers") for s in here if s.state == state]
                for state in WORDS
            }
            lines.append(
                [
                    name(n.name), "yes" if n.takes_pods else _closed(n),
                    amounts(used, names), amounts(n.allocatable, names),
                    *(few(by[state]) for state in WORDS),
                ]
            )  # fmt: skip
        heads = ("node", "takes pods", "in use", "there is", "run", "start", "promised", "leave")
        return table("Nodes, and the pods of which groups are there", heads, lines)


def few(names: Sequence[str]) -> Part:
    """Return names, each once with its number, and how many more there are."""
    distinct = list(dict.fromkeys(names))
    if len(distinct) <= MOST_NAMES:
        return name(gathered(names)) if names else "–"
    kept = frozenset(distinct[:MOST_NAMES])
    shown = gathered(n for n in names if n in kept)
    return joined([name(shown), f" and {len(distinct) - MOST_NAMES:,} more"])


_MARKS: Mapping[State, str] = {
    "runs": "", "starts": " st", "promised": " pr", "leaving": " lv",
}  # fmt: skip


def _runs(cells: Sequence[Cell]) -> Iterator[tuple[int, int, Cell]]:
    """Yield areas: where they begin, how many cells they have, and who holds them."""
    start = 0
    for cell, of in groupby(cells):
        size = len(list(of))
        if len(cell) == 1 and cell[0].part >= 1:
            yield start, size, cell
        else:
            yield from ((start + i, 1, cell) for i in range(size) if cell)
        start += size


def separators() -> Html:
    """Return what is laid over areas so that single devices can be counted."""
    line = tag("path", d=f"M{CELL - 0.5} 0v{HIGH}", class_="sep")
    return tag(
        "pattern", line, id="cells", x=PAD, width=CELL, height=HIGH, patternUnits="userSpaceOnUse"
    )


def _kind(domain: Domain) -> str:
    """Return the word before a domain's name: "rack ", unless the name says it."""
    word = resource(domain.level).rsplit("-", 1)[-1]
    return "" if domain.name.startswith(word) else f"{word} "


def _of(used: int, there: int, of: str) -> str:
    """Return "6.5 of 8 gpu"."""
    return f"{short(used, of)} of {short(there, of)} {resource(of)}"


def _closed(node: Node) -> str:
    return "not ready" if not node.ready else "cordoned"


_Who = tuple[GroupKey | None, State]


def _distinct(rows: Iterable[Row]) -> list[_Who]:
    seen: dict[_Who, None] = {}
    for h in (h for r in rows for c in r.cells for h in c):
        seen[h.group, h.state] = None
    return list(seen)


def _who(of: _Who) -> str:
    group, state = of
    return f"{plain(str(group)) if group is not None else 'other schedulers'} {WORDS[state]}"
