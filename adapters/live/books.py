"""What was said about objects while they were read, kept with whatever has to be read again."""

from collections import Counter
from collections.abc import Container, Hashable

from ...models import Rejected, Warned
from ..kubernetes.faults import Book, rejected_in, warned_in


class Books:
    """Books by what they are about; one is replaced when that is read again."""

    def __init__(self) -> None:
        self._with_words: dict[Hashable, Book] = {}
        self._with_counts: dict[Hashable, dict[str, int]] = {}
        self._counted: Counter[str] = Counter()
        self._refused: Counter[str] = Counter()
        self._said: tuple[tuple[Rejected, ...], tuple[Warned, ...]] | None = None

    @property
    def refused(self) -> Container[str]:
        """The objects that were rejected."""
        return self._refused

    def put(self, about: Hashable, book: Book | None) -> None:
        """Keep a book in the place of an older one about the same; None or empty: none."""
        old = self._with_words.pop(about, None)
        if old is not None:
            _take(self._refused, Counter(r.object for r in old.rejected))
            self._said = None
        counts = self._with_counts.pop(about, None)
        if counts is not None:
            _take(self._counted, counts)
        if book is None or not book:
            return
        if book.counted:
            self._with_counts[about] = dict(book.counted)
            self._counted.update(book.counted)
        if book.rejected or book.warned or book.once:
            self._with_words[about] = book
            self._refused.update(r.object for r in book.rejected)
            self._said = None

    @property
    def rejected(self) -> tuple[Rejected, ...]:
        return self._words()[0]

    @property
    def warnings(self) -> tuple[Warned, ...]:
        return self._words()[1]

    @property
    def counted(self) -> dict[str, int]:
        return dict(sorted(self._counted.items()))

    def _words(self) -> tuple[tuple[Rejected, ...], tuple[Warned, ...]]:
        if self._said is None:
            books = self._with_words.values()
            self._said = (rejected_in(books), warned_in(books))
        return self._said


def _take(of: Counter[str], some: dict[str, int]) -> None:
    for key, n in some.items():
        of[key] -= n
        if not of[key]:
            del of[key]
