"""The rule of devices, told to the solver: counts of shares per device, nodes with shares only.

For each class (one node) where a share stands or could come: y[s, d] pods with share s, of whatever
shapes, use device d; a share on k distinct devices counts on k, at most once per device and pod.
Equal devices are ordered by their load. Whole devices are counted against those that shares open:
what is on a device is at most its room where it is open, and nothing where it is not, so that a
part of a device opens as large a part of it in an LP as well.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..models import Device, DeviceShare, Pod
from .device_packing import Devices
from .device_room import promising_nodes
from .device_sizes import Room, fits, room_of, size_of, uses_devices, whole_devices

if TYPE_CHECKING:
    from .board import Board, NodeClass, Shape, Term, Unit, Var

MEASURES = ("memory", "cores", "shares")


@dataclass
class DeviceNode:
    """One node on the board: what stays, what may leave, what may come."""

    cls: "NodeClass"
    state: Devices
    """Devices with all that nobody can evict."""
    shares: "list[tuple[Shape, Var]]"
    whole: "list[tuple[int, Var]]"
    """Whole devices each pod of a shape asks for, and the shape's variable."""
    units: "list[Unit]"
    on: "list[list[tuple[DeviceShare, Var]]]" = field(default_factory=list)
    """By device, the shares that may be on it and how many are."""
    given: "list[Var]" = field(default_factory=list)
    """Where what stands has no place together already: whether anything comes at all."""
    opened: "list[Var]" = field(default_factory=list)


def tell_devices(board: "Board", rule: str) -> None:
    """Add the rows of every class where devices are shared."""
    promising = promising_nodes(board.scene)
    users: dict[int, list[Pod]] = {}
    for p, i in board.world.present:
        if uses_devices(p):
            users.setdefault(i, []).append(p)
    for cls in board.classes:
        i = cls.nodes[0]
        node = _node(board, cls, i in promising, users.get(i, ()))
        if node is not None:
            _tell(board, rule, node)
            board.notes["devices", cls.index] = node


def _node(
    board: "Board", cls: "NodeClass", promising: bool, here: Sequence[Pod]
) -> DeviceNode | None:
    """Return the node of a class, if shares matter there, or its room says too little."""
    scene = board.scene
    node = scene.nodes[cls.nodes[0]]
    if not node.devices:
        return None
    shares = [(s, x) for s, x in board.on(cls) if s.sample.spec.share is not None]
    whole = [(n, x) for s, x in board.on(cls) if (n := whole_devices(s.sample))]
    units = [u for u in board.units_on(cls) if uses_devices(u.sample)]
    leaving = {p.key for u in units for p in u.pods}
    shared = any(p.spec.share is not None for p in here)
    if not (shares or (whole and (shared or promising))):
        return None
    state = Devices.of(node, [p for p in here if p.key not in leaving])
    return DeviceNode(cls, state, shares, whole, units)


def _tell(board: "Board", rule: str, n: DeviceNode) -> None:
    label = n.cls.label
    everything = n.state.copy()
    for u in n.units:
        for p in u.pods:
            everything.add(p)
    # Where what stands has no place together already, that matters only once something comes.
    given: list[Var] = []
    if not everything.holds():
        used = board.flag(("devices used", n.cls.index))
        for x in [x for _, x in n.shares] + [x for _, x in n.whole]:
            board.at_most([(1, x), (-board.upper(x), used)], 0, rule, label)
        given = [used]
    n.on = [[] for _ in n.state.node.devices]
    alike: dict[DeviceShare, list[Var]] = {}
    for s, x in n.shares:
        share = s.sample.spec.share
        assert share is not None
        alike.setdefault(share, []).append(x)
    for k, (share, pods) in enumerate(alike.items()):
        _spread(board, rule, n, share, pods, ("pods on device", k))
    for k, (pod, _) in enumerate(n.state.floating):
        _stay(board, rule, n, pod, 1, None, ("share on device", n.cls.index, k), given)
    for u in n.units:
        if u.sample.spec.share is not None and not u.sample.devices:
            lost = board.lost(u)
            _stay(board, rule, n, u.sample, len(u.pods), lost, ("unit on device", u.index), given)
    n.given = given
    opened = opened_on(board, rule, n, link=False) if _whole_matters(n) else []
    if opened:
        _whole(board, rule, n, opened, given)
    for d in range(len(n.on)):
        _room(board, rule, n, d, given, _open_here(n, opened, d))
    _order(board, rule, n, opened)


def _whole_matters(n: DeviceNode) -> bool:
    units = any(whole_devices(u.sample) for u in n.units)
    return bool(n.whole or n.state.whole or units)


def _bears(n: DeviceNode, share: DeviceShare, d: int) -> bool:
    device = n.state.node.devices[d]
    return (
        share.bears(device)
        and not n.state.taken[d]
        and fits(size_of(share, device), room_of(device))
    )


def _most(n: DeviceNode, share: DeviceShare, d: int) -> int:
    """Return how many such shares the device takes beside what nobody can evict."""
    if not _bears(n, share, d):
        return 0
    size, room = size_of(share, n.state.node.devices[d]), n.state.room[d]
    return max(0, min(r // s for s, r in zip(size, room, strict=True) if s))


def _spread(
    board: "Board",
    rule: str,
    n: DeviceNode,
    share: DeviceShare,
    pods: "list[Var]",
    name: tuple[object, ...],
) -> None:
    """Say on which devices the pods with a share are: Σ over devices = devices of each · pods."""
    top = sum(board.upper(x) for x in pods)
    terms: list[Term] = []
    for d in range(len(n.on)):
        if most := min(top, _most(n, share, d)):
            y = board.integer(0, most, (*name, n.cls.index, d)).var
            n.on[d].append((share, y))
            terms.append((1, y))
            if share.devices > 1 and most > 1:
                board.at_most([(1, y), *((-1, x) for x in pods)], 0, rule, n.cls.label)
    for some in _of_cards(n, share):
        board.at_most(
            [*some, *((-share.per_card, x) for x in pods)], 0, rule, f"{n.cls.label} cards"
        )
    board.equal([*terms, *((-share.devices, x) for x in pods)], 0, rule, n.cls.label)


def _stay(
    board: "Board",
    rule: str,
    n: DeviceNode,
    pod: Pod,
    pods: int,
    lost: "Var | None",
    name: tuple[object, ...],
    given: "list[Var]",
) -> None:
    """Give running shares a place that nobody says where they are, as far as they stay."""
    share = pod.spec.share
    assert share is not None
    terms: list[Term] = []
    freed: list[Term] = [] if lost is None else [(-1, lost)]
    for d in range(len(n.on)):
        if _bears(n, share, d):
            y = board.integer(0, pods, (*name, d)).var
            n.on[d].append((share, y))
            terms.append((-1, y))
            if share.devices > 1:
                back = [(1, v) for _, v in freed]
                board.at_most([(1, y), *back], pods, rule, n.cls.label, given)
    for some in _of_cards(n, share):
        most = share.per_card
        back = [(most, v) for _, v in freed]
        board.at_most([*some, *back], most * pods, rule, f"{n.cls.label} cards", given)
    back = [(-share.devices, v) for _, v in freed]
    board.at_most([*terms, *back], -share.devices * pods, rule, n.cls.label, given)


def _of_cards(n: DeviceNode, share: DeviceShare) -> "Iterable[list[Term]]":
    """Yield, by card of several devices, how many of its devices the last told share is on."""
    cards: dict[int, list[Term]] = {}
    for d, device in enumerate(n.state.node.devices if share.per_card else ()):
        if device.card and n.on[d] and n.on[d][-1][0] == share:
            cards.setdefault(device.card, []).append((1, n.on[d][-1][1]))
    return (terms for terms in cards.values() if len(terms) > share.per_card)


def _known(n: DeviceNode, d: int) -> "list[Unit]":
    """Return the units that say that they are on the device."""
    return [u for u in n.units if d in u.sample.devices]


def opened_on(board: "Board", rule: str, n: DeviceNode, link: bool = True) -> "list[Var]":
    """Return, by device, a 0-1 variable that is 1 where any share is on it.

    Without ``link`` the rows of its room have yet to say so.
    """
    if n.opened:
        return n.opened
    out = n.opened
    for d in range(len(n.on)):
        flag = board.integer(int(n.state.shares[d] > 0), 1, ("device in use", n.cls.index, d)).var
        out.append(flag)
        if link:
            _link(board, rule, n, d, flag)
        for u in _known(n, d):
            k = len(u.pods)
            if u.sample.spec.share is not None:
                board.at_most([(-k, flag), (-1, board.lost(u))], -k, rule, n.cls.label)
            else:
                # Whole devices in use: a share comes once they are left.
                board.at_most([(k, flag), (-1, board.lost(u))], 0, rule, n.cls.label, n.given)
    return out


def _whole(
    board: "Board", rule: str, n: DeviceNode, opened: "list[Var]", given: "list[Var]"
) -> None:
    """Whole devices and devices in use by shares are no more than there are."""
    healthy = [d.healthy for d in n.state.node.devices]
    there = sum(healthy)
    terms: list[Term] = [(1, f) for f, well in zip(opened, healthy, strict=True) if well]
    terms += n.whole
    standing = n.state.whole
    for u in n.units:
        k = whole_devices(u.sample)
        if k:
            standing += k * len(u.pods)
            terms.append((-k, board.lost(u)))
    board.at_most(terms, there - standing, rule, f"{n.cls.label} devices", given)


def milli_of(share: DeviceShare, device: Device) -> int:
    """Return what the share takes of the device's memory, in thousandths, rounded down."""
    return 1000 * size_of(share, device)[0] // max(1, room_of(device)[0])


def _room(
    board: "Board", rule: str, n: DeviceNode, d: int, given: "list[Var]", opened: "Var | None"
) -> None:
    """On each device Σ of shares ≤ what is left on it and what is freed; 0 where it is not open."""
    device = n.state.node.devices[d]
    if not n.on[d]:
        return
    back: list[tuple[Room, Unit]] = []
    room = n.state.room[d]
    for u in _known(n, d):
        share = u.sample.spec.share
        if share is not None:
            a, b, c = size = size_of(share, device)
            k = len(u.pods)
            room = (room[0] - k * a, room[1] - k * b, room[2] - k * c)
            back.append((size, u))
    conditions = list(given)
    if min(room) < 0:
        # Overfull as it stands: nothing has to go, but what comes has to fit.
        comes = board.flag(("device taken", n.cls.index, d))
        for _, y in n.on[d]:
            board.at_most([(1, y), (-board.upper(y), comes)], 0, rule, n.cls.label)
        conditions.append(comes)
    tells = False
    for m, name in enumerate(MEASURES):
        terms: list[Term] = [(size_of(s, device)[m], y) for s, y in n.on[d]]
        freed: list[Term] = [(-size[m], board.lost(u)) for size, u in back]
        most = room[m]
        closed: list[Term] = []
        # What stays of those that may leave is on it as well.
        full = n.state.room[d][m]
        reach = sum(c * board.upper(y) for c, y in terms) + full - room[m]
        says = not conditions and all(c for c, _ in terms) and (reach > full or not tells)
        if opened is not None and says:
            most, closed, tells = room[m] - full, [(-min(full, reach), opened)], True
        label = f"{n.cls.label} device {d} {name}"
        board.at_most([*terms, *freed, *closed], most, rule, label, conditions)
    if opened is not None and not tells:
        _link(board, rule, n, d, opened)


def _link(board: "Board", rule: str, n: DeviceNode, d: int, opened: "Var") -> None:
    """Open the device where any share is on it, one by one."""
    for _, y in n.on[d]:
        board.at_most([(1, y), (-board.upper(y), opened)], 0, rule, n.cls.label)


def _open_here(n: DeviceNode, opened: "list[Var]", d: int) -> "Var | None":
    """Return the variable that is 1 where the device is open, if that is a question."""
    return opened[d] if opened and not n.state.shares[d] else None


def _order(board: "Board", rule: str, n: DeviceNode, opened: "list[Var]") -> None:
    """Order equal devices on which nothing stands: the fuller one comes first."""
    for a, b in zip(range(len(n.on)), range(1, len(n.on)), strict=False):
        if not (_idle(n, a) and _idle(n, b) and _alike(n, a, b)):
            continue
        device = n.state.node.devices[a]
        more: list[Term] = [(-_weight(s, device), y) for s, y in n.on[a]]
        less: list[Term] = [(_weight(s, device), y) for s, y in n.on[b]]
        board.at_most([*less, *more], 0, rule, f"{n.cls.label} order")
        if opened:
            board.at_most([(1, opened[b]), (-1, opened[a])], 0, rule, f"{n.cls.label} order")


def _weight(share: DeviceShare, device: Device) -> int:
    return max(1, size_of(share, device)[0] // (max(1, device.memory_mib) * 1000))


def _idle(n: DeviceNode, d: int) -> bool:
    return not n.state.shares[d] and not n.state.taken[d] and not _known(n, d)


def _alike(n: DeviceNode, a: int, b: int) -> bool:
    x, y = n.state.node.devices[a], n.state.node.devices[b]
    same = (x.memory_mib, x.slots, x.healthy) == (y.memory_mib, y.slots, y.healthy)
    if x.card != y.card and any(s.per_card for s, _ in (*n.on[a], *n.on[b])):
        return False
    return same and [s for s, _ in n.on[a]] == [s for s, _ in n.on[b]]
