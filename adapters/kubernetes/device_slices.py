"""ResourceSlices: which devices nodes have, and which selections take them."""

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ...models import PoolDevice
from ...models.quantity import parse
from ...models.value import to_json
from . import body_devices as body
from .cel_selectors import SelectorError, quantity, selector_of, semver
from .device_capacity import Asked, named, part_of, thousandths
from .faults import Faults, Ledger
from .meta import Thing
from .shape import checked

NODE_TAINTS = ("NoSchedule", "NoExecute")


@dataclass(frozen=True, slots=True)
class Selection:
    """Devices that a class takes, and the selectors and tolerations of a request with it."""

    kind: str
    expressions: tuple[str, ...]
    tolerations: tuple[tuple[str, str, str, str], ...] = ()
    capacity: Asked = ()
    """What is asked of the capacities of each device."""

    @property
    def name(self) -> str:
        """The class; with a mark where the request says more."""
        if not self.expressions and not self.tolerations and not self.capacity:
            return self.kind
        asked = [self.capacity] if self.capacity else []
        said = to_json([self.expressions, self.tolerations, *asked])
        return f"{self.kind}#{hashlib.sha256(said).hexdigest()[:8]}"


@dataclass(slots=True)
class Part:
    """A device of a slice, as its slice says it."""

    id: str
    driver: str
    node: str | None
    """None: it is attached to many nodes."""
    data: dict[str, Any]
    """As expressions see it."""
    attributes: dict[str, str]
    counters: dict[str, int]
    taints: tuple[body.Taint, ...]
    capacities: Mapping[str, body.Capacity] = field(default_factory=dict)
    multiple: bool = False

    def part(self, asked: Asked) -> dict[str, int] | None:
        """Return what an allocation takes of its capacities; None: it has not enough."""
        return part_of(self.capacities, self.driver, asked, self.multiple)


@dataclass(slots=True)
class Slices:
    """All devices of the input, and what is known of selections of them."""

    parts: list[Part] = field(default_factory=list)
    counters: dict[str, dict[str, int]] = field(default_factory=dict)
    """Shared counters by node."""
    classes: dict[str, Thing] = field(default_factory=dict)
    _taken: dict[Selection, dict[str, None] | str] = field(default_factory=dict)

    def problem(self, selection: Selection) -> str:
        """Return why the selection cannot be used; "" if it can."""
        found = self.taken(selection)
        if isinstance(found, str):
            return found
        if found and not any(p.node is not None for p in self.parts if p.id in found):
            return (
                f"the devices of DeviceClass {selection.kind} that it asks for are attached to "
                "many nodes, which this version cannot allocate"
            )
        return ""

    def taken(self, selection: Selection) -> dict[str, None] | str:
        """Return the ids of the devices that the selection takes, or what is wrong with it."""
        if selection not in self._taken:
            self._taken[selection] = self._select(selection)
        return self._taken[selection]

    def _select(self, selection: Selection) -> dict[str, None] | str:
        kind = self.classes.get(selection.kind)
        if kind is None:
            return f"DeviceClass {selection.kind} is not in the input; add it"
        spec = kind.body.spec or body.ClassSpec()
        own = tuple(s.cel.expression if s.cel else "" for s in spec.selectors or ())
        out: dict[str, None] = {}
        whose = [(kind.title, e) for e in own]
        whose += [("its request", e) for e in selection.expressions]
        try:
            for _, e in whose:
                selector_of(e)
        except SelectorError as error:
            where = next(w for w, e in whose if not _is_sound(e))
            return f"a selector of {where} {error}"
        for part in self.parts:
            if not all(_bears(selection.tolerations, t) for t in part.taints):
                continue
            if part.part(selection.capacity) is None:
                continue
            for where, e in whose:
                try:
                    if not selector_of(e).takes(part.data):
                        break
                except SelectorError as error:
                    return f"a selector of {where} {error} (device {part.id})"
            else:
                out[part.id] = None
        return out


def _is_sound(expression: str) -> bool:
    try:
        selector_of(expression)
    except SelectorError:
        return False
    return True


def _bears(tolerations: Iterable[tuple[str, str, str, str]], taint: body.Taint) -> bool:
    if taint.effect not in NODE_TAINTS:
        return True
    return any(
        (not effect or effect == taint.effect)
        and (not key or key == taint.key)
        and (operator == "Exists" or (key and value == taint.value))
        for key, operator, value, effect in tolerations
    )


def slices_of(
    things: Iterable[Thing], classes: Iterable[Thing], ledger: Ledger, rules: Iterable[Thing] = ()
) -> Slices:
    """Return the devices of all complete pools; of a pool the newest generation counts.

    ``rules`` are DeviceTaintRules, whose taints count beside those of the slices.
    """
    out = Slices(classes={t.name: t for t in classes})
    pools: dict[tuple[str, str], list[Thing]] = defaultdict(list)
    for thing in things:
        spec: body.SliceSpec = thing.body.spec
        pools[spec.driver, spec.pool.name].append(thing)
    for (driver, pool), of in sorted(pools.items()):
        newest = max(t.body.spec.pool.generation for t in of)
        current = [t for t in of if t.body.spec.pool.generation == newest]
        want = max(t.body.spec.pool.resource_slice_count for t in current)
        if len(current) < want:
            ledger.warn(
                current[0].title, "spec.pool.resourceSliceCount",
                f"pool {pool} of {driver} has {want} slices and {len(current)} are in the input: "
                "none of its devices is given out; add the others",
            )  # fmt: skip
            continue
        for thing in sorted(current, key=lambda t: t.name):
            _read(out, thing, ledger)
    for rule in sorted(rules, key=lambda t: t.name):
        _taint(out.parts, rule, ledger)
    out.parts.sort(key=lambda p: p.id)
    return out


def _taint(parts: Iterable[Part], rule: Thing, ledger: Ledger) -> None:
    """Taint the devices that the rule selects; one without a selector selects none."""
    spec: body.TaintRuleSpec = rule.body.spec
    chosen = spec.device_selector
    if chosen is None:
        return
    if chosen.device_class_name or chosen.selectors:
        said = "selects by class or expression, which is not used yet; name driver, pool or device"
        ledger.warn(rule.title, "spec.deviceSelector", said)
        return
    wanted = (chosen.driver, chosen.pool, chosen.device)
    for part in parts:
        here = (part.driver, *part.id.removeprefix(f"{part.driver}/").rsplit("/", 1))
        if all(w is None or w == h for w, h in zip(wanted, here, strict=True)):
            part.taints = (*part.taints, spec.taint)


def _read(out: Slices, thing: Thing, ledger: Ledger) -> None:
    spec: body.SliceSpec = thing.body.spec
    faults = Faults()
    at = f"{spec.driver}/{spec.pool.name}"
    for shared in spec.shared_counters or ():
        amounts = _amounts(shared.counters)
        where = out.counters.setdefault(spec.node_name or "", {})
        where.update({f"{at}/{shared.name}/{c}": n for c, n in amounts.items()})
    for i, raw in enumerate(spec.devices or ()):
        device = raw
        if raw.basic is not None:
            found, wrong = checked({"name": raw.name, **_mapping(raw.basic)}, body.DeviceBody)
            faults.extend(wrong, under=f"spec.devices[{i}].basic")
            device = found or raw
        node = device.node_name if spec.per_device_node_selection else spec.node_name
        attributes = {_full(k, spec.driver): v for k, v in (device.attributes or {}).items()}
        counters = {
            f"{at}/{use.counter_set}/{c}": n
            for use in device.consumes_counters or ()
            for c, n in _amounts(use.counters).items()
        }
        part = Part(
            f"{at}/{device.name}", spec.driver, node or None, _data(spec.driver, device),
            {k: _told(v) for k, v in attributes.items()}, counters, tuple(device.taints or ()),
            device.capacity or {}, bool(device.allow_multiple_allocations),
        )  # fmt: skip
        out.parts.append(part)
        if part.multiple and node:
            where = out.counters.setdefault(node, {})
            for name, capacity in part.capacities.items():
                key = f"{part.id}/{named(name, part.driver)}"
                where[key] = thousandths(capacity.value)
    ledger.reject(thing.title, faults)


def _mapping(raw: Any) -> dict[str, Any]:
    return raw if isinstance(raw, dict) else {}


def _amounts(raw: Mapping[str, body.Value]) -> dict[str, int]:
    """Return amounts in thousandths, so that all quantities are whole numbers."""
    return {c: parse(v.value or 0, "cpu") for c, v in raw.items()}


def _full(name: str, driver: str) -> str:
    return name if "/" in name else f"{driver}/{name}"


def _told(value: body.Attribute) -> str:
    """Return a value as text with its type: equal text is an equal value."""
    if value.bool_ is not None:
        return f"bool:{str(value.bool_).lower()}"
    if value.int_ is not None:
        return f"int:{value.int_}"
    if value.version is not None:
        return f"version:{value.version}"
    return f"string:{value.string or ''}"


def _seen(value: body.Attribute) -> Any:
    if value.bool_ is not None:
        return value.bool_
    if value.int_ is not None:
        return value.int_
    return semver(value.version) if value.version is not None else value.string or ""


def _data(driver: str, device: body.DeviceBody) -> dict[str, Any]:
    """Return the device as expressions see it: attributes and capacity by domain and name."""
    attributes: dict[str, dict[str, Any]] = {}
    for key, value in (device.attributes or {}).items():
        domain, name = _full(key, driver).split("/", 1)
        attributes.setdefault(domain, {})[name] = _seen(value)
    capacity: dict[str, dict[str, Any]] = {}
    for key, amount in (device.capacity or {}).items():
        domain, name = _full(key, driver).split("/", 1)
        capacity.setdefault(domain, {})[name] = quantity(amount.value)
    return {
        "driver": driver, "attributes": attributes, "capacity": capacity,
        "allowMultipleAllocations": bool(device.allow_multiple_allocations),
    }  # fmt: skip


def device_of(
    part: Part, selections: Mapping[str, Asked], asked: Iterable[str], taken: bool
) -> PoolDevice:
    """Return the device of the snapshot, with the attributes that some claim compares."""
    return PoolDevice(
        part.id,
        tuple(sorted(selections)),
        {k: part.attributes[k] for k in sorted(asked) if k in part.attributes},
        dict(sorted(part.counters.items())),
        taken,
        part.multiple,
        {name: _drawn(part, of) for name, of in sorted(selections.items()) if part.multiple},
    )


def _drawn(part: Part, asked: Asked) -> dict[str, int]:
    return {f"{part.id}/{name}": n for name, n in sorted((part.part(asked) or {}).items())}
