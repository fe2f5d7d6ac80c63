"""A headless Chromium from npm, for machines that have none: `python -m browser.fetch`."""

import os
import platform
import shutil
import subprocess
import sys
import time
from pathlib import Path

PACKAGE = "@sparticuz/chromium"
VERSION = "153.0.0"
"""Made to run where nothing else is installed: it brings its libraries and a font."""
MACHINE = ("Linux", "x86_64")
"""What the package is compiled for."""
FETCH_S = 100
UNPACK_S = 60
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_INFLATE = """
const {createReadStream, createWriteStream, readdirSync} = require("fs");
const {createBrotliDecompress} = require("zlib");
const {pipeline} = require("stream/promises");
const [from, to] = process.argv.slice(1);
Promise.all(readdirSync(from).filter(name => name.endsWith(".br")).map(name => pipeline(
  createReadStream(`${from}/${name}`), createBrotliDecompress(),
  createWriteStream(`${to}/${name.slice(0, -3)}`),
))).catch(error => { console.error(error.message); process.exit(1); });
"""
_FONTS = """<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <dir>/usr/share/fonts</dir>
  <dir prefix="relative">fonts</dir>
  <cachedir prefix="xdg">fontconfig</cachedir>
</fontconfig>
"""
_START = """#!/bin/sh
here=$(dirname "$0")
LD_LIBRARY_PATH="$here/lib" FONTCONFIG_FILE="$here/fonts.conf" exec "$here/chromium" "$@"
"""


class FetchError(Exception):
    """Why there is no Chromium, in one line."""


def chromium() -> Path | None:
    """Return the program of this machine, else the one that was fetched, or None."""
    for name in NAMES:
        if (path := shutil.which(name)) is not None:
            return Path(path)
    return fetched() if fetched().is_file() else None


def fetched() -> Path:
    """Return where the program that is fetched here is, or would be."""
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "apportion" / "chromium" / VERSION / "start"


def fetch() -> Path:
    """Return a Chromium; fetch it where the machine has none.

    An interrupted fetch leaves no half program: the folder is moved into place whole.

    Raises
    ------
    FetchError
        If it cannot be had.
    """
    there = chromium()
    if there is not None:
        return there
    npm, node = shutil.which("npm"), shutil.which("node")
    if (platform.system(), platform.machine()) != MACHINE:
        raise FetchError(f"the package is for {' '.join(MACHINE)}; install Chromium")
    if npm is None or node is None:
        raise FetchError("needs npm and node, or install Chromium")
    made = fetched().parent
    fresh = made.with_name(f"new-{os.getpid()}")
    fresh.mkdir(parents=True)
    print("fetching a headless Chromium for the tests of the page", flush=True)
    started = time.monotonic()
    try:
        _unpack(_package(npm, fresh), node, fresh)
        shutil.rmtree(fresh / "package")
        if not made.is_dir():
            fresh.rename(made)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    print(f"fetched it in {time.monotonic() - started:.0f} s", flush=True)
    return fetched()


def _package(npm: str, fresh: Path) -> Path:
    """Return the folder of compressed files."""
    into = fresh / "package"
    _run(
        [npm, "install", "--prefix", str(into), "--ignore-scripts", "--no-audit", "--no-fund",
         f"{PACKAGE}@{VERSION}"], FETCH_S,
    )  # fmt: skip
    return into / "node_modules" / PACKAGE / "bin"


def _unpack(package: Path, node: str, fresh: Path) -> None:
    _run([node, "-e", _INFLATE, str(package), str(fresh)], UNPACK_S)
    for archive in sorted(fresh.glob("*.tar")):
        _run(["tar", "-xf", str(archive), "-C", str(fresh)], UNPACK_S)
        archive.unlink()
    (fresh / "fonts.conf").write_text(_FONTS)
    (fresh / "start").write_text(_START)
    for name in ("chromium", "start"):
        if not (fresh / name).is_file():
            raise FetchError(f"{PACKAGE}@{VERSION} has no {name}")
        (fresh / name).chmod(0o755)


def _run(command: list[str], limit_s: int) -> None:
    name = Path(command[0]).name
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit_s, check=False)
    except subprocess.TimeoutExpired:
        raise FetchError(f"{name} took longer than {limit_s} s") from None
    except OSError as e:
        raise FetchError(f"{name}: {e}") from e
    if done.returncode:
        said = (done.stderr.strip() or f"exit code {done.returncode}").splitlines()
        why = next((line for line in said if "error" in line), said[-1])  # npm ends with advice
        raise FetchError(f"{name} could not do its part: {why}")


def main() -> int:
    """Fetch, and say in one line where Chromium is or why there is none."""
    try:
        print(f"Chromium for tests: {fetch()}")
    except FetchError as why:
        print(f"no Chromium for tests of the page: {why}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
