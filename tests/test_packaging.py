"""What is built and installed: the rooms under one name, and nothing else."""

import subprocess
import sys
import tarfile
import tomllib
import zipfile
from importlib import import_module
from pathlib import Path

import pytest

import apportion

ROOT = Path(__file__).resolve().parents[1]
ROOMS = ("models", "policies", "solver", "adapters")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def files_of(folder: Path) -> set[str]:
    """Return the files below the folder, links not followed, without what Python leaves behind."""
    found = (p for p in folder.rglob("*") if p.is_file() and "__pycache__" not in p.parts)
    return {p.relative_to(folder).as_posix() for p in found}


def built(out: Path, *what: str, tree: Path = ROOT) -> None:
    """Build with the back end that is installed: nothing is downloaded."""
    build = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(out), *what]
    done = subprocess.run([*build, str(tree)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def contents(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as z:
        return {name: z.read(name) for name in z.namelist()}


@pytest.mark.parametrize("room", ROOMS)
def test_the_package_reads_each_room_through_a_link(room: str) -> None:
    link = ROOT / "src" / "apportion" / room

    assert link.is_symlink()
    assert not link.readlink().is_absolute()
    assert link.resolve() == ROOT / room
    where = import_module(f"apportion.{room}").__file__
    assert where is not None
    assert Path(where).resolve() == ROOT / room / "__init__.py"


def test_entry_points_load() -> None:
    for target in PROJECT["scripts"].values():
        module, _, name = target.partition(":")
        assert callable(getattr(import_module(module), name))


def test_the_version_is_said_once_in_both_places() -> None:
    assert apportion.__version__ == PROJECT["version"]


@pytest.mark.slow
def test_wheel_and_sdist_hold_the_rooms_and_nothing_else(tmp_path: Path) -> None:
    built(tmp_path / "tree", "--wheel")
    built(tmp_path / "sdist")  # the wheel beside it is made from the sdist
    (from_tree,) = (tmp_path / "tree").glob("*.whl")
    (from_sdist,) = (tmp_path / "sdist").glob("*.whl")
    (sdist,) = (tmp_path / "sdist").glob("*.tar.gz")
    wheel = contents(from_tree)
    info = f"apportion-{PROJECT['version']}.dist-info/"

    want = {f"apportion/{room}/{name}" for room in ROOMS for name in files_of(ROOT / room)}
    want |= {f"apportion/{name}" for name in ("__init__.py", "__main__.py", "py.typed")}
    assert {name for name in wheel if not name.startswith(info)} == want
    assert {name.removeprefix(info) for name in wheel if name.startswith(info)} == {
        "METADATA", "RECORD", "WHEEL", "entry_points.txt", "licenses/LICENSE",
    }  # fmt: skip
    assert contents(from_sdist) == wheel

    with tarfile.open(sdist) as t:
        source = {m.name.partition("/")[2] for m in t.getmembers()}
    for folder in (*ROOMS, "tests", "benchmarks", "docs", "examples", "deploy", ".ci"):
        assert {f"{folder}/{name}" for name in files_of(ROOT / folder)} <= source
    assert {"README.md", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "Makefile"} <= source
    assert not any(name.startswith(f"src/apportion/{room}") for name in source for room in ROOMS)
