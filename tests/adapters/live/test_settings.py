"""The settings file of a running scheduler."""

import logging
from pathlib import Path

import pytest
from msgspec.structs import replace

from apportion.adapters.live.settings import SettingsFile
from apportion.models import Config, InputError

HEAD = "apiVersion: apportion.dev/v1alpha1\nkind: Configuration\n"


def file(folder: Path, text: str) -> Path:
    path = folder / "settings.yaml"
    path.write_text(HEAD + text)
    return path


def test_what_the_file_says_counts_and_what_the_command_line_says_comes_after(
    tmp_path: Path,
) -> None:
    path = file(tmp_path, "budget: 3s\nseed: 4\n")

    settings = SettingsFile(str(path), lambda c: replace(c, seed=9), Config(grace_s=7))

    assert (settings.config.budget_ms, settings.config.seed, settings.config.grace_s) == (
        3000, 9, 7,
    )  # fmt: skip


def test_a_file_that_changes_is_read_again(tmp_path: Path) -> None:
    path = file(tmp_path, "budget: 3s\n")
    settings = SettingsFile(str(path))
    assert not settings.look()

    path.write_text(HEAD + "budget: 4s\n")

    assert settings.look()
    assert settings.current().budget_ms == 4000


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (HEAD + "budget: soon\n", "budget"),
        (HEAD + "off: [nonsense]\n", "nonsense"),
        ("{", "settings.yaml"),
    ],
)
def test_a_bad_file_leaves_the_old_settings_and_is_told_of_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, text: str, why: str
) -> None:
    path = file(tmp_path, "budget: 3s\n")
    settings = SettingsFile(str(path))

    path.write_text(text)
    with caplog.at_level(logging.ERROR, "apportion"):
        looks = [settings.look(), settings.look()]

    assert looks == [False, False]
    assert settings.config.budget_ms == 3000
    assert why in settings.trouble
    assert len(caplog.records) == 1

    path.write_text(HEAD + "budget: 5s\n")
    assert settings.look()
    assert settings.trouble == ""


def test_a_file_that_is_gone_leaves_the_old_settings(tmp_path: Path) -> None:
    path = file(tmp_path, "budget: 3s\n")
    settings = SettingsFile(str(path))

    path.unlink()

    assert not settings.look()
    assert settings.config.budget_ms == 3000
    assert "cannot be read" in settings.trouble


def test_a_bad_file_at_the_start_ends_it(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="budget"):
        SettingsFile(str(file(tmp_path, "budget: soon\n")))


def test_no_file_is_no_trouble() -> None:
    settings = SettingsFile(None)

    assert not settings.look()
    assert settings.config == Config()
