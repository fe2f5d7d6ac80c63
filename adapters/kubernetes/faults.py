"""What is wrong with one object, and what is said about all of them."""

from collections import Counter
from collections.abc import Container, Iterable, Iterator
from contextlib import contextmanager

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


class Book:
    """Pages of a ledger: what one part of the reading has said."""

    __slots__ = ("counted", "once", "rejected", "warned")

    def __init__(self) -> None:
        self.rejected: dict[Rejected, None] = {}
        self.warned: dict[Warned, None] = {}
        self.once: dict[tuple[str, str], str] = {}
        """(path, message) that is said of one object only, the first by name."""
        self.counted: Counter[str] = Counter()

    def __bool__(self) -> bool:
        return bool(self.rejected or self.warned or self.once or self.counted)


class Ledger:
    """Collects what is refused, odd or read past, over all objects; says nothing twice."""

    def __init__(self) -> None:
        self.book = Book()
        self.refused_before: Container[str] = ()
        """Objects that were rejected, by what other books say."""

    @contextmanager
    def into(self, book: Book) -> Iterator[None]:
        """Write into another book for a while."""
        before, self.book = self.book, book
        try:
            yield
        finally:
            self.book = before

    def take(self, book: Book) -> None:
        """Take over what another book says."""
        self.book.rejected |= book.rejected
        self.book.warned |= book.warned
        for said, name in book.once.items():
            self.warn_once(name, *said)
        self.book.counted.update(book.counted)

    @property
    def counted(self) -> Counter[str]:
        return self.book.counted

    def reject(self, name: str, faults: Faults) -> None:
        for path, message in faults.found:
            self.book.rejected[Rejected(name, path, message)] = None

    def refused(self, name: str) -> bool:
        """Say whether an object of that name was rejected."""
        return name in self.refused_before or any(r.object == name for r in self.book.rejected)

    def warn(self, name: str, path: str, message: str) -> None:
        self.book.warned[Warned(name, path, message)] = None

    def warn_once(self, name: str, path: str, message: str) -> None:
        """Say the same of one object only, whoever has it too: of the first by name."""
        known = self.book.once.get((path, message))
        self.book.once[path, message] = name if known is None else min(name, known)

    @property
    def rejected(self) -> tuple[Rejected, ...]:
        return rejected_in((self.book,))

    @property
    def warnings(self) -> tuple[Warned, ...]:
        return warned_in((self.book,))


def rejected_in(books: Iterable[Book]) -> tuple[Rejected, ...]:
    """Return what was refused, sorted."""
    return tuple(sorted({r for b in books for r in b.rejected}))


def warned_in(books: Iterable[Book]) -> tuple[Warned, ...]:
    """Return what was odd, sorted."""
    out: set[Warned] = set()
    once: dict[tuple[str, str], str] = {}
    for b in books:
        out.update(b.warned)
        for said, name in b.once.items():
            once[said] = min(name, once.get(said, name))
    return tuple(sorted(out.union(Warned(name, *said) for said, name in once.items())))
