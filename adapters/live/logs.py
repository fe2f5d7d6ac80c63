"""Logs are events with fields: a line of text for people, or a JSON object for machines."""

import json
import logging
import sys
from datetime import UTC, datetime
from typing import IO, Any, Literal

LogFormat = Literal["text", "json"]
LOG = logging.getLogger("apportion")


def event(name: str, level: int = logging.INFO, **fields: Any) -> None:
    """Log an event; fields that are None are left out."""
    LOG.log(level, name, extra={"fields": {k: v for k, v in fields.items() if v is not None}})


class TextFormat(logging.Formatter):
    """``2026-03-02T09:00:00Z INFO cycle number=3 bound=12``."""

    def format(self, record: logging.LogRecord) -> str:
        fields: dict[str, Any] = getattr(record, "fields", {})
        said = " ".join(f"{k}={_word(v)}" for k, v in fields.items())
        line = f"{_moment(record)} {record.levelname} {record.getMessage()} {said}".rstrip()
        if record.exc_info:
            line += "\n" + self.formatException(record.exc_info)
        return line


class JsonFormat(logging.Formatter):
    """One JSON object a line."""

    def format(self, record: logging.LogRecord) -> str:
        fields: dict[str, Any] = getattr(record, "fields", {})
        head = {"time": _moment(record), "level": record.levelname, "event": record.getMessage()}
        if record.exc_info:
            fields = {**fields, "traceback": self.formatException(record.exc_info)}
        return json.dumps({**head, **fields}, default=str)


def set_up(kind: LogFormat, stream: IO[str] | None = None) -> None:
    """Let events go to standard error (or another stream)."""
    handler = logging.StreamHandler(stream if stream is not None else sys.stderr)
    handler.setFormatter(JsonFormat() if kind == "json" else TextFormat())
    LOG.handlers[:] = [handler]
    LOG.setLevel(logging.INFO)
    LOG.propagate = False


def _moment(record: logging.LogRecord) -> str:
    at = datetime.fromtimestamp(record.created, UTC)
    return at.strftime("%Y-%m-%dT%H:%M:%S.") + f"{at.microsecond // 1000:03d}Z"


def _word(value: object) -> str:
    text = f"{value:.3g}" if isinstance(value, float) else str(value)
    plain = text.isprintable() and not any(c in text for c in ' "=')
    return text if plain and text else json.dumps(text)
