"""Reads documents from files, folders and standard input: YAML or JSON, gzipped or not."""

import codecs
import gzip
import io
import json
import os
import zlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any

import msgspec

from ..models import InputError
from .paths import joined
from .yaml_documents import Fault, yaml_documents

SUFFIXES = (".yaml", ".yml", ".json", ".yaml.gz", ".yml.gz", ".json.gz")
MOST_BYTES = 8 << 30
"""What one gzipped file may unpack to."""

_BYTE_ORDERS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


_DECODER = json.JSONDecoder()


class Document:
    """One object of the input and where it stands; ``index`` counts the objects of its source.

    ``faults`` are (path, message) of what is wrong with how it is written, such as a key given
    twice. ``raw`` is the JSON of an object that nobody has looked at yet: ``data`` decodes it.
    """

    __slots__ = ("_data", "faults", "index", "raw", "source")

    def __init__(
        self,
        source: str,
        index: int,
        data: Any = None,
        faults: tuple[tuple[str, str], ...] = (),
        raw: msgspec.Raw | None = None,
    ) -> None:
        self.source = source
        self.index = index
        self.faults = faults
        self.raw = raw
        self._data = data

    @property
    def data(self) -> Any:
        """The object as dictionaries, lists and scalars."""
        if self._data is None and self.raw is not None:
            self._data = _decoded(self.raw)
        return self._data


def documents(
    sources: Sequence[str | Path], stdin: IO[bytes] | IO[str] | None = None
) -> Iterator[Document]:
    """Yield every object of the sources in order; a folder is read with all below it, sorted.

    Raises
    ------
    InputError
        If a source is missing, unreadable, no YAML or JSON, or a folder without such files.
    """
    for source in sources:
        if str(source) == "-":
            yield from documents_of(_all_of(stdin), "standard input")
            stdin = None
            continue
        for path in _files_of(Path(source)):
            yield from documents_of(_content_of(path), str(path))


def documents_of(data: bytes, source: str) -> Iterator[Document]:
    """Yield the objects of one file's content."""
    index = objects = 0
    for value, faults in _values_of(unpacked(data, source), source):
        if isinstance(value, msgspec.Raw):
            yield Document(source, index, raw=value)
            index, objects = index + 1, objects + 1
            continue
        for one, its_faults in _flat(value, faults):
            objects += isinstance(one, dict)
            shown = tuple((joined(place), message) for place, message in its_faults)
            yield Document(source, index, one, shown)
            index += 1
    if index and not objects:
        raise InputError(
            f"{source} holds no objects, only text; expected Kubernetes objects in YAML or JSON"
        )


def _files_of(path: Path) -> list[Path]:
    if not path.exists():
        raise InputError(f"{path}: no such file or folder")
    if not path.is_dir():
        return [path]
    found: list[Path] = []
    for folder, below, names in os.walk(path):
        below[:] = sorted(n for n in below if not n.startswith("."))
        found += [Path(folder, n) for n in names if n.endswith(SUFFIXES) and not n.startswith(".")]
    if not found:
        raise InputError(f"{path}: the folder has no file that ends in {', '.join(SUFFIXES)}")
    return sorted(found)


def _content_of(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as e:
        raise InputError(f"{path}: cannot be read: {e.strerror or e}") from e


def _all_of(stdin: IO[bytes] | IO[str] | None) -> bytes:
    if stdin is None:
        raise InputError("standard input: there is nothing to read; give '-' once only")
    raw = getattr(stdin, "buffer", stdin).read()
    data = raw.encode() if isinstance(raw, str) else bytes(raw)
    if not data.strip():
        raise InputError("standard input is empty; pipe objects into it, or name files instead")
    return data


def unpacked(data: bytes, source: str) -> bytes:
    """Return the bytes, unpacked if they are gzipped; raises InputError if they are damaged."""
    if data[:2] != b"\x1f\x8b":
        return data
    try:
        with gzip.open(io.BytesIO(data)) as packed:
            out = packed.read(MOST_BYTES + 1)
    except (OSError, EOFError, zlib.error) as e:
        raise InputError(f"{source}: the gzip data is damaged: {e}") from e
    if len(out) > MOST_BYTES:
        raise InputError(f"{source}: unpacks to more than {MOST_BYTES >> 30} GiB; split it")
    return out


def _values_of(data: bytes, source: str) -> Iterable[tuple[Any, list[Fault]]]:
    data = _as_utf8(data, source)
    if data.lstrip()[:1] in (b"{", b"["):
        values = _json_values(data)
        if values is not None:
            return ((value, []) for value in values)
    try:
        text = data.decode()
    except UnicodeDecodeError as e:
        raise InputError(
            f"{source} is neither YAML nor JSON: byte {e.start} is no UTF-8 text"
        ) from e
    return yaml_documents(text, source)


def _as_utf8(data: bytes, source: str) -> bytes:
    for mark, encoding in _BYTE_ORDERS:
        if data.startswith(mark):
            try:
                return data[len(mark) :].decode(encoding).encode()
            except UnicodeDecodeError as e:
                raise InputError(f"{source} is neither YAML nor JSON: {e.reason}") from e
    return data


class _ListOf(msgspec.Struct):
    """A list whose items are decoded one by one, so that they need not all be in memory."""

    kind: str
    items: list[msgspec.Raw]
    apiVersion: str | None = None  # noqa: N815 - the name outside


def _json_values(data: bytes) -> Iterable[Any] | None:
    """Return the JSON values of the text; None where it is not JSON."""
    try:
        whole = msgspec.json.decode(data, type=_ListOf)
        if whole.kind.endswith("List"):
            return _each(whole)
    except (msgspec.DecodeError, RecursionError):
        pass  # a single object, several of them, or no JSON: tried below
    try:
        return [msgspec.json.decode(data)]
    except (msgspec.DecodeError, RecursionError):
        return _stream(data)


def _each(whole: _ListOf) -> Iterator[Any]:
    """Yield the items: as they are where they need no look, else decoded."""
    given = _types_of_items(whole.kind, whole.apiVersion)
    for raw in whole.items:
        text = bytes(raw)
        if not given and text[:1] == b"{" and b'List"' not in text:
            yield raw
            continue
        one = _decoded(raw)
        yield {**given, **one} if isinstance(one, dict) else one


def _decoded(raw: msgspec.Raw) -> Any:
    try:
        return msgspec.json.decode(raw)
    except (msgspec.DecodeError, RecursionError) as e:
        again = _stream(bytes(raw))
        return again[0] if again else f"(not readable as JSON: {e})"


def _stream(data: bytes) -> list[Any] | None:
    """Return JSON values that follow each other without a separator, as ``cat`` makes them."""
    out: list[Any] = []
    try:
        text = data.decode().strip()
        at = 0
        while at < len(text):
            value, at = _DECODER.raw_decode(text, at)
            out.append(value)
            while text[at : at + 1].isspace():
                at += 1
        json.dumps(out, ensure_ascii=False).encode()  # half a surrogate pair is no text
    except (ValueError, RecursionError):
        return None
    return out


def _types_of_items(kind: str, api_version: str | None) -> dict[str, Any]:
    """Return apiVersion and kind of the items of a typed list (a PodList's items have none)."""
    if kind == "List":
        return {}
    return {"apiVersion": api_version, "kind": kind.removesuffix("List")}


def _flat(value: Any, faults: list[Fault]) -> Iterator[tuple[Any, list[Fault]]]:
    """Yield the value, or what a list holds, however deep; nothing for empty documents."""
    if value is None:
        return
    if isinstance(value, dict):
        kind, items = value.get("kind"), value.get("items")
        if not (isinstance(kind, str) and kind.endswith("List") and "items" in value):
            yield value, faults
            return
        given = _types_of_items(kind, value.get("apiVersion"))
        for i, item in enumerate(items if isinstance(items, list) else []):
            one = {**given, **item} if isinstance(item, dict) else item
            yield from _flat(one, _inside(faults, ("items", i)))
    elif isinstance(value, list):
        for i, item in enumerate(value):
            yield from _flat(item, _inside(faults, (i,)))
    else:
        yield value, faults


def _inside(faults: list[Fault], place: tuple[str | int, ...]) -> list[Fault]:
    n = len(place)
    return [(at[n:], message) for at, message in faults if at[:n] == place]
