"""Which documents there are, and the schema of each."""

from collections.abc import Callable, Mapping
from typing import Any

from ...models import PodSpec, Snapshot
from ...models.edits import Edit
from ...models.plan import KIND as PLAN
from ...models.plan import Plan
from ...models.snapshot import API_VERSION
from ...models.snapshot import KIND as SNAPSHOT
from ..ask.capacity import Capacity
from ..ask.difference import Difference
from ..ask.drain import Draining
from ..ask.explain import KIND as EXPLANATION
from ..ask.explain import Explanation
from ..ask.whatif import KIND as WHAT_IF
from ..ask.whatif import Side
from ..configuration import Configuration
from ..scenario import Scenario
from ..strict import Strict
from .structs import Definitions, Schema, structure

DIALECT = "https://json-schema.org/draft/2020-12/schema"
_DIGEST: Schema = {"type": "string", "pattern": "^sha256:[0-9a-f]{64}$"}
_TEXTS: Schema = {"type": "array", "items": {"type": "string"}}


def _headed(kind: str, body: Schema, all_of: Definitions) -> Schema:
    """Return a document's schema: what it is, and then its fields."""
    head = {"apiVersion": {"const": API_VERSION}, "kind": {"const": kind}}
    required = [*head, *body.get("required", ())]
    return {
        **body,
        "properties": {**head, **body["properties"]},
        "required": required,
        "$defs": all_of.found,
    }


def _snapshot() -> Schema:
    all_of = Definitions()
    body = all_of.fields_of(structure(Snapshot))
    pod = all_of.found["Pod"]
    pod["properties"]["spec"] = {
        "type": "integer", "minimum": 0, "description": "Index into specs."
    }  # fmt: skip
    body["properties"]["specs"] = {"type": "array", "items": all_of.of(PodSpec)}
    return _headed(SNAPSHOT, body, all_of)


def _plan() -> Schema:
    all_of = Definitions()
    body = all_of.fields_of(structure(Plan))
    body["properties"]["digest"] = _DIGEST
    body["required"] = ["digest", *(f for f in body["required"] if f not in ("settled", "moves"))]
    eviction = all_of.found["Eviction"]["properties"]
    eviction["for"] = eviction.pop("beneficiaries")
    return _headed(PLAN, body, all_of)


def _answer(kind: str, value: Any) -> Callable[[], Schema]:
    def made() -> Schema:
        all_of = Definitions()
        body = all_of.fields_of(structure(value))
        _say(all_of)
        return _headed(kind, body, all_of)

    return made


def _what_if() -> Schema:
    all_of = Definitions()
    body = all_of.fields_of(structure(Difference))
    side = all_of.of(Side)
    edits = {"type": "array", "items": all_of.of(Edit)}
    first = {"edits": edits, "settings": _TEXTS, "base": side, "changed": side}
    body["properties"] = {**first, **body["properties"]}
    body["required"] = [*first, *body["required"]]
    _say(all_of)
    return _headed(WHAT_IF, body, all_of)


def _say(all_of: Definitions) -> None:
    """Add what an edit says of itself in answers."""
    for of in all_of.found.values():
        if "edit" in of["properties"]:
            of["properties"]["says"] = {"type": "string"}
            of["required"] = [*of["required"], "says"]


def _written_by_people(model: type[Strict]) -> Callable[[], Schema]:
    return lambda: model.model_json_schema(by_alias=True)


DOCUMENTS: Mapping[str, Callable[[], Schema]] = {
    "snapshot": _snapshot,
    "plan": _plan,
    "scenario": _written_by_people(Scenario),
    "configuration": _written_by_people(Configuration),
    "explanation": _answer(EXPLANATION, Explanation),
    "whatif": _what_if,
    "capacity": _answer("Capacity", Capacity),
    "draining": _answer("Draining", Draining),
}


def schema_of(name: str) -> Schema:
    """Return the JSON Schema (2020-12) of a document; ``name`` is one of :data:`DOCUMENTS`."""
    return {"$schema": DIALECT, "title": name, **DOCUMENTS[name]()}
