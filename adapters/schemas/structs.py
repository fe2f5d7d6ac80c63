"""The JSON Schema of a value of ours, as it is written."""

from collections.abc import Callable
from typing import Any

import msgspec
from msgspec import inspect

from ...models import Amounts

Schema = dict[str, Any]
AMOUNTS: Schema = {"type": "object", "additionalProperties": {"type": "integer"}}


class Definitions:
    """Collects the schemas of the values that a document holds, by name."""

    def __init__(self) -> None:
        self.found: dict[str, Schema] = {}

    def of(self, kind: Any) -> Schema:
        """Return the schema of a type, a reference where it is a value of ours."""
        return self._of(inspect.type_info(kind))

    def _of(self, info: inspect.Type) -> Schema:
        if isinstance(info, inspect.StructType):
            return self._reference(info)
        for kind, make in _MAKERS.items():
            if isinstance(info, kind):
                return make(self, info)
        raise TypeError(f"there is no schema for {info}")

    def _reference(self, info: inspect.StructType) -> Schema:
        name = info.cls.__name__
        if name not in self.found:
            self.found[name] = {}  # a value may hold others of its kind
            self.found[name] = self.fields_of(info)
        return {"$ref": f"#/$defs/{name}"}

    def fields_of(self, info: inspect.StructType) -> Schema:
        """Return the schema of a value's fields.

        A field is required where the value has no default for it, or writes what has its default.
        """
        always = not info.cls.__struct_config__.omit_defaults
        properties = {f.encode_name: self._of(f.type) for f in info.fields}
        required = [f.encode_name for f in info.fields if always or f.required]
        if info.tag_field is not None:
            properties = {info.tag_field: {"const": info.tag}, **properties}
            required = [info.tag_field, *required]
        out: Schema = {"type": "object", "properties": properties}
        if said := (info.cls.__doc__ or "").strip().partition("\n")[0]:
            out["description"] = said
        return {**out, "required": required} if required else out


def structure(kind: type[msgspec.Struct]) -> inspect.StructType:
    """Return what msgspec knows of a value."""
    info = inspect.type_info(kind)
    assert isinstance(info, inspect.StructType)
    return info


Make = Callable[[Definitions, Any], Schema]


def _plain(name: str) -> Make:
    return lambda _, __: {"type": name}


def _one_of(all_of: Definitions, info: inspect.UnionType) -> Schema:
    return {"anyOf": [all_of._of(t) for t in info.types]}


def _list(all_of: Definitions, info: Any) -> Schema:
    return {"type": "array", "items": all_of._of(info.item_type)}


def _row(all_of: Definitions, info: inspect.TupleType) -> Schema:
    n = len(info.item_types)
    items = [all_of._of(t) for t in info.item_types]
    return {"type": "array", "prefixItems": items, "minItems": n, "maxItems": n}


def _mapping(all_of: Definitions, info: inspect.DictType) -> Schema:
    return {"type": "object", "additionalProperties": all_of._of(info.value_type)}


def _ours(_: Definitions, info: inspect.CustomType) -> Schema:
    if info.cls is Amounts:
        return AMOUNTS
    raise TypeError(f"there is no schema for {info.cls}")


_MAKERS: dict[Any, Make] = {
    inspect.AnyType: lambda _, __: {},
    inspect.NoneType: _plain("null"),
    inspect.BoolType: _plain("boolean"),
    inspect.IntType: _plain("integer"),
    inspect.FloatType: _plain("number"),
    inspect.StrType: _plain("string"),
    inspect.LiteralType: lambda _, info: {"enum": list(info.values)},
    inspect.EnumType: lambda _, info: {"enum": [e.value for e in info.cls]},
    inspect.UnionType: _one_of,
    inspect.CollectionType: _list,
    inspect.TupleType: _row,
    inspect.DictType: _mapping,
    inspect.CustomType: _ours,
}
