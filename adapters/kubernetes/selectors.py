"""Label selectors and node selector terms, from their shapes; malformed ones are faults."""

from collections.abc import Mapping

from ...models import LabelSelector, NodeSelectorTerm, Requirement
from .body_pod import ExpressionBody, NodeTermBody, SelectorBody
from .faults import Faults

_LABEL_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist")
_NODE_OPERATORS = (*_LABEL_OPERATORS, "Gt", "Lt")


def label_selector(body: SelectorBody | None, path: str, faults: Faults) -> LabelSelector | None:
    """Return the selector; None where it is absent, which selects nothing."""
    if body is None:
        return None
    found = [
        Requirement(key, "In", (value or "",)) for key, value in (body.match_labels or {}).items()
    ]
    found += _requirements(
        body.match_expressions, f"{path}.matchExpressions", _LABEL_OPERATORS, faults
    )
    return LabelSelector(tuple(sorted(set(found))))


def with_label_keys(
    selector: LabelSelector | None,
    labels: Mapping[str, str],
    match: list[str] | None,
    mismatch: list[str] | None = None,
) -> LabelSelector | None:
    """Return the selector with the pod's own values of these label keys merged in."""
    if selector is None or not (match or mismatch):
        return selector
    own = {Requirement(k, "In", (labels[k],)) for k in match or () if k in labels}
    own |= {Requirement(k, "NotIn", (labels[k],)) for k in mismatch or () if k in labels}
    return LabelSelector(tuple(sorted(own | set(selector.requirements))))


def node_term(body: NodeTermBody, path: str, faults: Faults) -> NodeSelectorTerm:
    """Return one term of a node selector."""
    labels = _requirements(
        body.match_expressions, f"{path}.matchExpressions", _NODE_OPERATORS, faults
    )
    fields = _requirements(body.match_fields, f"{path}.matchFields", ("In", "NotIn"), faults)
    for i, field in enumerate(fields):
        if field.key != "metadata.name":
            faults.add(
                f"{path}.matchFields[{i}].key", f"{field.key!r} is no field; write metadata.name"
            )
    return NodeSelectorTerm(tuple(sorted(set(labels))), tuple(sorted(set(fields))))


def _requirements(
    bodies: list[ExpressionBody] | None, path: str, operators: tuple[str, ...], faults: Faults
) -> list[Requirement]:
    out = []
    for i, body in enumerate(bodies or ()):
        values = tuple(sorted(set(body.values or ())))
        wrong = _wrong(body, values, operators)
        if wrong is None:
            out.append(Requirement(body.key or "", body.operator or "", values))
        else:
            faults.add(f"{path}[{i}].{wrong[0]}", wrong[1])
    return out


def _wrong(
    body: ExpressionBody, values: tuple[str, ...], operators: tuple[str, ...]
) -> tuple[str, str] | None:
    """Return which field of an expression is wrong, and why; None if it is sound."""
    operator = body.operator
    if not body.key:
        return "key", "is missing; write the label's key"
    if operator not in operators:
        return "operator", f"{operator!r} is no operator; write {', '.join(operators)}"
    if operator in ("In", "NotIn") and not values:
        return "values", f"is empty; {operator} needs at least one value"
    if operator in ("Exists", "DoesNotExist") and values:
        return "values", f"must be left out with {operator}"
    if operator in ("Gt", "Lt") and not (len(values) == 1 and _is_integer(values[0])):
        return "values", f"{operator} needs exactly one whole number"
    return None


def _is_integer(text: str) -> bool:
    return len(text) < 20 and text.removeprefix("-").isascii() and text.lstrip("+-").isdigit()
