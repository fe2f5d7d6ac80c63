"""How a Chromium is found and fetched, without fetching one."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from programs import executable

from . import fetch as fetching
from .fetch import FetchError, chromium, fetch, fetched

NEEDED = ("sh", "tar", "cp", "mkdir", "dirname", "basename")
NPM = """
echo "$*" >> "{calls}"
[ -n "$BROKEN" ] && {{ echo "no such package" >&2; exit 1; }}
bin="$3/node_modules/@sparticuz/chromium/bin"
mkdir -p "$bin"
printf '#!/bin/sh\\necho "$LD_LIBRARY_PATH says $1"' > "$bin/chromium.br"
cp "{archive}" "$bin/al2023.tar.br"
"""
NODE = 'for f in "$3"/*.br; do cp "$f" "$4/$(basename "$f" .br)"; done'


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine without browser, npm and node; return the folder of its programs."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in NEEDED:
        found = shutil.which(name)
        assert found is not None
        (programs / name).symlink_to(found)
    monkeypatch.setenv("PATH", str(programs))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(fetching, "MACHINE", (os.uname().sysname, os.uname().machine))
    return programs


@pytest.fixture
def calls(bare: Path, tmp_path: Path) -> Path:
    """An npm and a node that do as they are told; return the file of what npm was asked."""
    libraries, archive = tmp_path / "lib", tmp_path / "libraries.tar"
    libraries.mkdir()
    (libraries / "libnss3.so").touch()
    subprocess.run(["tar", "-cf", str(archive), "-C", str(tmp_path), "lib"], check=True)
    executable(bare / "npm", NPM.format(calls=tmp_path / "calls", archive=archive))
    executable(bare / "node", NODE)
    return tmp_path / "calls"


def test_it_is_fetched_once_and_finds_its_libraries(calls: Path) -> None:
    assert chromium() is None

    program = fetch()

    assert (fetch(), chromium()) == (program, program)
    assert len(calls.read_text().splitlines()) == 1
    libraries = program.parent / "lib"
    assert (libraries / "libnss3.so").is_file()
    done = subprocess.run([program, "hello"], capture_output=True, text=True, check=True)
    assert done.stdout == f"{libraries} says hello\n"


def test_the_one_of_the_machine_comes_first(bare: Path, calls: Path) -> None:
    fetch()
    own = executable(bare / "chromium", "exit 0")

    assert chromium() == own
    assert fetch() == own


def test_a_fetch_that_fails_leaves_nothing_and_says_why_in_a_line(
    calls: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("BROKEN", "1")

    assert fetching.main() == 1

    said = capsys.readouterr().err
    assert said == (
        "no Chromium for tests of the page: npm could not do its part: no such package\n"
    )
    assert list(fetched().parents[1].iterdir()) == []
    assert chromium() is None


@pytest.mark.usefixtures("bare")
def test_without_npm_the_reason_names_what_is_missing() -> None:
    with pytest.raises(FetchError, match="needs npm and node"):
        fetch()


@pytest.mark.usefixtures("calls")
def test_another_kind_of_machine_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetching, "MACHINE", ("Plan9", "mips"))

    with pytest.raises(FetchError, match="is for Plan9 mips"):
        fetch()
