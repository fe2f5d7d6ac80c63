"""Documents on standard output: JSON or YAML, in ASCII, for programs."""

import json
from enum import StrEnum
from typing import IO, Any


class Form(StrEnum):
    """What an answer is printed as."""

    TABLE = "table"
    JSON = "json"
    YAML = "yaml"
    HTML = "html"


def write_page(page: str, out: IO[str]) -> None:
    """Write a page for a browser, in UTF-8 wherever it goes."""
    raw = getattr(out, "buffer", None)
    if raw is None:
        out.write(page)
    else:
        raw.write(page.encode())


def write(document: dict[str, Any], output: Form, out: IO[str]) -> None:
    """Write the document as JSON or YAML."""
    if output is Form.JSON:
        out.write(json.dumps(document, indent=2, ensure_ascii=True) + "\n")
        return
    import yaml

    yaml.safe_dump(document, out, sort_keys=False, allow_unicode=False, width=100)
