"""The definitions of Volcano's kinds (CRDs), which travel with the program that reads them.

Groups, names and fields are Volcano's, so that its objects and tools work with them. What is not
known here is kept as it is written (``x-kubernetes-preserve-unknown-fields``). The status of a
PodGroup is no subresource, as Volcano's own components write the whole object.
"""

from collections.abc import Sequence
from importlib.resources import files

from ...models.errors import InputError

NAMES = ("podgroup", "queue", "job", "hypernode", "numatopology")


def definition(name: str) -> str:
    """Return one definition as YAML, its last line ended.

    Raises
    ------
    InputError
        If no definition has that name.
    """
    if name not in NAMES:
        raise InputError(f"there is no definition {name!r}; there are {', '.join(NAMES)}")
    return files(__name__).joinpath(f"{name}.yaml").read_text(encoding="utf-8")


def definitions(names: Sequence[str] = NAMES) -> str:
    """Return several as one YAML stream, in the order in which they are given."""
    return "---\n".join(definition(name) for name in names)
