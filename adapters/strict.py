"""Documents of our own (scenarios, configurations): every mistake at once, each with its path."""

from collections.abc import Iterable
from typing import Any, TypeVar

import pydantic
from pydantic.alias_generators import to_camel

from ..models import InputError
from .kubernetes.shape import checked

API_VERSION = "apportion.dev/v1alpha1"
_UNKNOWN = "Extra inputs are not permitted"
_MOST_SHOWN = 12


class Strict(pydantic.BaseModel):
    """A part of a document of ours: camelCase, no coercion, no unknown keys."""

    model_config = pydantic.ConfigDict(
        strict=True, extra="forbid", alias_generator=to_camel, frozen=True
    )


M = TypeVar("M", bound=Strict)


def parsed(data: Any, kind: type[M], source: str, faults: Iterable[tuple[str, str]] = ()) -> M:
    """Return the document as a model.

    Raises
    ------
    InputError
        With everything that is wrong with it, each with its path.
    """
    model, found = checked(data, kind)
    wrong = [*faults, *(_worded(path, message) for path, message in found)]
    if model is None or wrong:
        raise InputError(sentence(source, wrong))
    return model


def sentence(source: str, wrong: Iterable[tuple[str, str]]) -> str:
    """Return one line that names every mistake."""
    parts = list(
        dict.fromkeys(f"{path}: {message}" if path else message for path, message in wrong)
    )
    more = f"; and {len(parts) - _MOST_SHOWN} more" if len(parts) > _MOST_SHOWN else ""
    return f"{source}: " + "; ".join(parts[:_MOST_SHOWN]) + more


def _worded(path: str, message: str) -> tuple[str, str]:
    if message.startswith(_UNKNOWN):
        return path, "there is no such key here"
    return path, message
