"""What one allocation takes of a device that may be allocated several times (KEP-5075).

Of each capacity: what is asked for, rounded up as the device says; where nothing is asked for, its
default, else all of it. Amounts are in thousandths, so that all are whole numbers.
"""

from collections.abc import Iterable, Mapping

from ...models.quantity import parse
from . import body_devices as body

Asked = tuple[tuple[str, str], ...]
"""Capacities with amounts, as a request says them."""


def thousandths(raw: str | float | None) -> int:
    """Return an amount that the door has let in."""
    return parse(raw or 0, "cpu")


def named(name: str, driver: str) -> str:
    """Return the name of a capacity without the driver's own domain, which goes without saying."""
    return name.removeprefix(f"{driver}/")


def part_of(
    capacities: Mapping[str, body.Capacity], driver: str, asked: Asked, in_parts: bool
) -> dict[str, int] | None:
    """Return what an allocation takes of each capacity; None where the device has not enough.

    Parameters
    ----------
    in_parts
        The device may be allocated several times. If not, it is taken whole, and only has to have
        as much as is asked for.
    """
    has = {named(k, driver): c for k, c in capacities.items()}
    wanted = {named(k, driver): thousandths(v) for k, v in asked}
    if not wanted.keys() <= has.keys():
        return None
    out: dict[str, int] = {}
    for name, capacity in has.items():
        total = thousandths(capacity.value)
        policy = capacity.request_policy if in_parts else None
        amount = _amount(wanted.get(name), total, policy)
        if amount is None or amount > total:
            return None
        out[name] = amount
    return out if in_parts else {}


def _amount(wanted: int | None, total: int, policy: body.RequestPolicy | None) -> int | None:
    if policy is None:
        return total if wanted is None else wanted
    if wanted is None:
        return total if policy.default is None else thousandths(policy.default)
    if policy.valid_values:
        values: Iterable[int] = sorted(map(thousandths, policy.valid_values))
        return next((v for v in values if v >= wanted), None)
    if policy.valid_range is not None:
        return _in_range(wanted, policy.valid_range)
    return wanted


def _in_range(wanted: int, valid: body.Range) -> int | None:
    least = thousandths(valid.min)
    amount = max(wanted, least)
    if valid.step is not None and (step := thousandths(valid.step)) > 0:
        amount = least - (least - amount) // step * step
    return None if valid.max is not None and amount > thousandths(valid.max) else amount
