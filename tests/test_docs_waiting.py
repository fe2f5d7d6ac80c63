"""The page on waiting has every reason and phase that the live scheduler writes."""

from pathlib import Path

import pytest

from apportion.adapters.live.events import REASONS
from apportion.adapters.live.group_records import PHASES
from apportion.adapters.live.verdicts import WORDS

PAGE = (Path(__file__).resolve().parents[1] / "docs" / "waiting.md").read_text()


@pytest.mark.parametrize("word", [*WORDS, *REASONS, *PHASES])
def test_a_reason_has_its_row(word: str) -> None:
    assert f"\n| `{word}` | " in PAGE
