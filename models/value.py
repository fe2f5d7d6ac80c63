"""What every noun is: a frozen value that reads and writes itself as canonical JSON.

Keys are camelCase outside. Equal values give equal bytes: sets and mappings are sorted, fields keep
the order of their class, defaults are left out.
"""

from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

from .amounts import Amounts

T = TypeVar("T")


class Value(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """A frozen record with camelCase keys outside."""


def _encode(value: object) -> object:
    if isinstance(value, Amounts):
        return value.entries
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"cannot write a {type(value).__name__}")


def _decode(kind: type, value: Any) -> Any:
    if kind is Amounts:
        if not isinstance(value, dict) or not all(type(v) is int for v in value.values()):
            raise ValueError("expected a mapping from resource to integer")
        return Amounts(value)
    raise TypeError(f"cannot read a {kind.__name__}")


_ENCODER = msgspec.json.Encoder(enc_hook=_encode, order="deterministic")
_SORTED = msgspec.json.Encoder(enc_hook=_encode, order="sorted")


def to_json(value: object) -> bytes:
    """Return the canonical JSON of a value (or of plain data)."""
    return _ENCODER.encode(value)


def to_sorted_json(value: object) -> bytes:
    """Return what :func:`to_json` makes of :func:`to_data`, without the data in between."""
    return _SORTED.encode(value)


def to_data(value: object) -> Any:
    """Return the value as dictionaries, lists and scalars."""
    return msgspec.to_builtins(value, enc_hook=_encode, order="deterministic")


def from_json(data: bytes | str, kind: type[T]) -> T:
    """Read a value back; raises ``msgspec.ValidationError`` with the path of what is wrong."""
    return msgspec.json.decode(data, type=kind, dec_hook=_decode)


def from_data(data: object, kind: type[T]) -> T:
    """Read a value from plain data; raises ``msgspec.ValidationError`` with the path."""
    return msgspec.convert(data, kind, dec_hook=_decode)
