"""The key of a mask as a file, and answers translated back with it."""

import json
import re
from pathlib import Path
from typing import Any

from ...models import InputError
from ...models.snapshot import API_VERSION
from ...models.value import to_json
from ..files import unpacked
from ..plan_file import save
from .mask import MaskKey

KIND = "MaskKey"
_RUN = re.compile(r"[A-Za-z0-9_./-]+")
_PARTS = ("names", "keys", "sentences")


def write_key(path: str, key: MaskKey) -> None:
    """Write a key; gzipped where the name says so.

    Raises
    ------
    InputError
        If it cannot be written.
    """
    body = {"apiVersion": API_VERSION, "kind": KIND}
    parts = {name: dict(sorted(getattr(key, name).items())) for name in _PARTS}
    save(path, to_json({**body, **parts}))


def read_key(path: str) -> MaskKey:
    """Read a key back.

    Raises
    ------
    InputError
        If there is none in the file.
    """
    try:
        body = json.loads(unpacked(Path(path).read_bytes(), path))
    except OSError as e:
        raise InputError(f"--mask-key {path}: cannot be read: {e.strerror or e}") from e
    except ValueError as e:
        raise InputError(f"--mask-key {path}: is no JSON: {e}") from e
    parts = [body.get(p) for p in _PARTS] if isinstance(body, dict) else []
    if not parts or body.get("kind") != KIND or not all(map(_is_table, parts)):
        raise InputError(
            f"--mask-key {path}: is no key of a mask; "
            "apportion snapshot --mask --mask-key writes one"
        )
    return MaskKey(*(p for p in parts if isinstance(p, dict)))


def _is_table(part: Any) -> bool:
    return isinstance(part, dict) and all(isinstance(v, str) for v in part.values())


class Unmasking:
    """Translates back what was said of a masked snapshot."""

    def __init__(self, key: MaskKey) -> None:
        self._originals = key.originals

    def document(self, value: Any) -> Any:
        """Return plain data with every text in it, keys too, translated."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, list | tuple):
            return [self.document(v) for v in value]
        if isinstance(value, dict):
            return {self.text(k): self.document(v) for k, v in value.items() if k != "masked"}
        return value

    def text(self, text: str) -> str:
        """Return a text in which each pseudonym is what it stands for."""
        return _RUN.sub(lambda found: self._run(found[0]), text)

    def _run(self, run: str) -> str:
        edges = [0, *(i for i in range(1, len(run)) if _is_edge(run, i)), len(run)]
        out, at = [], 0
        while at < len(edges) - 1:
            start = edges[at]
            for end in range(len(edges) - 1, at, -1):
                original = self._originals.get(run[start : edges[end]])
                if original is not None:
                    out.append(original)
                    at = end
                    break
            else:
                out.append(run[start : edges[at + 1]])
                at += 1
        return "".join(out)


def _is_edge(run: str, i: int) -> bool:
    return not (_is_letter(run[i - 1]) and _is_letter(run[i]))


def _is_letter(c: str) -> bool:
    return c.isalnum() or c == "_"
