"""Pseudonyms that sort as the names do, also where ``/`` and more text follows.

Ties of a plan are broken by names, so three orders are kept: that of the names, that of the names
with ``/`` behind them (keys are ``namespace/name``), and, among members of a group, the one in
which digits count as numbers. Numbers in names are kept where that last order needs them, and
nowhere else. Words that stay as they are keep their place among the others.

A pseudonym is a few consonants. One that begins with another's name and a mark (``web``, ``web-2``)
gets its pseudonym and a mark in front, since ``web-2/x`` comes before ``web/x``.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from ...models import BugError

LETTERS = "bcdfghjklmnprstvwx"
"""Consonants, in order; what marks a pseudonym (q, z) is not among them."""
_OF_TOKENS = frozenset(LETTERS + "qz")
_TEXT = re.compile(r"[^0-9]*")
_DIGITS = re.compile(r"[0-9]+")
_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]*")
"""Other text has no place in the order that a pseudonym could be put beside."""
_END = "\x7f"
_NUMBER = "0"
"""Stands, among the texts that names begin with, for those that begin with a number."""
_MARK, _AFTER_MARKS = "-", "/"
"""Marks are the characters up to ``/``: whatever sorts before it."""


@dataclass(frozen=True, slots=True)
class Words:
    """Words that play a part in the order of pseudonyms, and are none."""

    kept: frozenset[str] = frozenset()
    """They stay as they are."""
    beside: frozenset[str] = frozenset()
    """Words of elsewhere that pseudonyms are compared with."""


def pseudonyms(
    names: Iterable[str], marker: str, words: Words | None = None, members: Collection[str] = ()
) -> dict[str, str]:
    """Return a pseudonym for each name, in time n·log n; equal input gives equal pseudonyms.

    ``marker`` is a letter by which they are told from those of another set; ``members`` are names
    whose numbers count.
    """
    words = words or Words()
    all_names = {n for n in names if n}
    fences = {w for w in words.kept | words.beside if _WORD.fullmatch(w)}
    # A piece of a word that stays ("kube" beside "kube-system") could not be in order otherwise.
    kept = {n for n in all_names if n in words.kept or any(_is_below(f, n) for f in fences)}
    fences |= kept
    heads: dict[str, set[str]] = defaultdict(set)
    counted: set[str] = set()
    for n in all_names - kept:
        head = _text_of(n) if members else n
        if head not in fences and any(_is_below(f, head) for f in fences):
            head = n
        heads[head].add(n[len(head) :])
        if n in members:
            counted.add(head)
    places = sorted({h or _NUMBER for h in heads} - fences)
    # "g817" may not become "fqbg817".
    ends = {h[-1] for h in counted if h and set(h) <= _OF_TOKENS}
    tokens = _rooted(places, sorted(fences), marker, "".join(c for c in LETTERS if c not in ends))
    kin = fences | _kin(places)
    out = {n: n for n in kept}
    for head, tails in heads.items():
        before = tokens[head or _NUMBER]
        if len(tails) == 1 and head not in kin:
            after = dict.fromkeys(tails, "")
        elif head in counted:
            after = _numbered(tails)
        else:
            after = {"": "", **_forest(sorted(tails - {""}), "")}
        out.update({head + tail: before + after[tail] for tail in tails})
    if len(set(out.values())) < len(out):
        raise BugError("two names would have the same pseudonym")
    return out


def _text_of(text: str) -> str:
    found = _TEXT.match(text)
    assert found is not None
    return found[0]


def _is_below(name: str, above: str) -> bool:
    return len(name) > len(above) and name.startswith(above) and name[len(above)] < _AFTER_MARKS


def _above(ordered: Sequence[str]) -> dict[str, str]:
    """Return, for each of some sorted names, the longest of them that it is below."""
    out: dict[str, str] = {}
    begun: list[str] = []
    for name in ordered:
        while begun and not name.startswith(begun[-1]):
            begun.pop()
        found = next((b for b in reversed(begun) if _is_below(name, b)), None)
        if found is not None:
            out[name] = found
        begun.append(name)
    return out


def _kin(ordered: Sequence[str]) -> set[str]:
    """Return those of some sorted names that are below another, or have another below them."""
    above = _above(ordered)
    return {*above, *above.values()}


def _rooted(names: Sequence[str], fences: Sequence[str], marker: str, last: str) -> dict[str, str]:
    """Return tokens for names among words that stay; they end in one of ``last``, if it has any."""
    fenced = set(fences)
    ordered = sorted({*names, *fences})
    above = _above(ordered)
    below: dict[str, list[str]] = defaultdict(list)
    for name in ordered:
        # A word that stays is its own token, whatever it is below.
        below[
            "" if name in fenced and above.get(name) not in fenced else above.get(name, "")
        ].append(name)
    out = {f: f for f in fences}
    for parent in ["", *ordered]:
        first = "" if not parent else _MARK
        for low, run, high in _runs(below[parent], fenced, len(parent), first):
            if parent and parent not in fenced:
                starts = _MARK
                labels = _letters(len(run), 1, last)
            else:
                starts = _between(low, high) + marker
                labels = _letters(len(run), 2, last)
            out.update(
                {n: out.get(parent, "") + starts + a for n, a in zip(run, labels, strict=True)}
            )
    return out


def _runs(
    names: Iterable[str], fenced: Collection[str], cut: int, first: str
) -> Iterable[tuple[str, list[str], str]]:
    """Yield names between two words that stay, with what is left of these after ``cut``."""
    low, run = first, list[str]()
    for name in names:
        if name not in fenced:
            run.append(name)
            continue
        if run:
            yield low, run, name[cut:]
        low, run = name[cut:], []
    if run:
        yield low, run, _AFTER_MARKS if cut else _END


def _between(low: str, high: str) -> str:
    """Return a short text of which every continuation lies between the two."""
    longest = max(len(low), len(high))
    for letters in (LETTERS, _MARK):
        for n in range(longest + 1):
            for start in dict.fromkeys((low[:n], high[:n])):
                for made in (start + c for c in letters):
                    if low < made < high and not high.startswith(made) and not low.startswith(made):
                        return made
    raise BugError(f"there is nothing between {low!r} and {high!r}")


def _letters(n: int, least: int, last: str = LETTERS) -> list[str]:
    """Return n different texts of one length, in order; they end in one of ``last``."""
    last = last or LETTERS
    width = least
    while len(LETTERS) ** (width - 1) * len(last) < n:
        width += 1
    out = []
    for i in range(n):
        rest, end = divmod(i, len(last))
        text = last[end]
        for _ in range(width - 1):
            rest, digit = divmod(rest, len(LETTERS))
            text = LETTERS[digit] + text
        out.append(text)
    return out


def _forest(ordered: Sequence[str], first: str) -> dict[str, str]:
    """Return tokens that begin with ``first``, or with that of the name that one is below."""
    above = _above(ordered)
    below: dict[str | None, list[str]] = defaultdict(list)
    for name in ordered:
        below[above.get(name)].append(name)
    out: dict[str, str] = {}
    for parent in [None, *ordered]:
        start = first if parent is None else out[parent] + _MARK
        some = below[parent]
        out.update(zip(some, (start + a for a in _letters(len(some), 1)), strict=True))
    return out


def _numbered(tails: Iterable[str]) -> dict[str, str]:
    """Return tokens of what begins with a number, or is empty; the number stays."""
    by_number: dict[str, set[str]] = defaultdict(set)
    out: dict[str, str] = {}
    for tail in tails:
        found = _DIGITS.match(tail)
        if found is None:
            out[tail] = ""
        else:
            by_number[found[0]].add(tail[found.end() :])
    for number, rests in by_number.items():
        out.update({number + r: number + token for r, token in _worded(rests).items()})
    return out


def _worded(rests: set[str]) -> dict[str, str]:
    """Return tokens of what follows a number: a mark or a letter stands for the text."""
    if len(rests) == 1:
        return {r: _sign(r) for r in rests}
    heads: dict[str, set[str]] = defaultdict(set)
    for r in rests - {""}:
        heads[_text_of(r)].add(r[len(_text_of(r)) :])
    marked = _forest(sorted(h for h in heads if _sign(h) == _MARK), _MARK)
    tokens = {**marked, **_forest(sorted(heads.keys() - marked.keys()), "")}
    kin = _kin(sorted(heads))
    out = {"": ""}
    for head, tails in heads.items():
        alone = len(tails) == 1 and head not in kin
        after: Mapping[str, str] = dict.fromkeys(tails, "") if alone else _numbered(tails)
        out.update({head + tail: tokens[head] + after[tail] for tail in tails})
    return {r: out[r] for r in rests}


def _sign(text: str) -> str:
    if not text:
        return ""
    return _MARK if text < _AFTER_MARKS else "x"
