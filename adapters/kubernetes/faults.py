"""What is wrong with one object, and what is said about all of them."""

from collections import Counter
from collections.abc import Iterable

from ...models import Rejected, Warned

Fault = tuple[str, str]
"""(path, message): where the object is wrong, and what to do."""


class Faults:
    """What is wrong with one object; nothing: it is usable."""

    __slots__ = ("found",)

    def __init__(self) -> None:
        self.found: list[Fault] = []

    def __bool__(self) -> bool:
        return bool(self.found)

    def add(self, path: str, message: str) -> None:
        self.found.append((path, message))

    def extend(self, faults: Iterable[Fault], under: str = "") -> None:
        """Add what was found in a part of the object that stands at the path ``under``."""
        for path, message in faults:
            dot = "." if under and path and not path.startswith("[") else ""
            self.found.append((f"{under}{dot}{path}", message))


class Ledger:
    """Collects what is refused, odd or read past, over all objects; says nothing twice."""

    def __init__(self) -> None:
        self._rejected: dict[Rejected, None] = {}
        self._warned: dict[Warned, None] = {}
        self.counted: Counter[str] = Counter()

    def reject(self, name: str, faults: Faults) -> None:
        for path, message in faults.found:
            self._rejected[Rejected(name, path, message)] = None

    def refused(self, name: str) -> bool:
        """Say whether an object of that name was rejected."""
        return any(r.object == name for r in self._rejected)

    def warn(self, name: str, path: str, message: str) -> None:
        self._warned[Warned(name, path, message)] = None

    @property
    def rejected(self) -> tuple[Rejected, ...]:
        return tuple(sorted(self._rejected))

    @property
    def warnings(self) -> tuple[Warned, ...]:
        return tuple(sorted(self._warned))
