"""Helm, for the tests of the chart: the machine's own, or built by `python -m cluster.helm`."""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

from cluster.toolchain import BuildError, go

VERSION = "v3.22.0"
PACKAGE = "helm.sh/helm/v3/cmd/helm"
OLDEST_GO = (1, 24)


def helm() -> Path | None:
    """Return the Helm of this machine, or None."""
    found = shutil.which("helm")
    made = built()
    if found is not None:
        return Path(found)
    return made if made.is_file() else None


def built() -> Path:
    """Return where the Helm that is built here is, or would be."""
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "apportion" / "helm" / VERSION / "helm"


def build() -> Path:
    """Return a Helm; build it where the machine has none.

    Raises
    ------
    BuildError
        If it cannot be had; the message says why, in one line.
    """
    there = helm()
    if there is not None:
        return there
    made = built()
    made.parent.mkdir(parents=True, exist_ok=True)
    print("building helm for the tests of the chart", flush=True)
    started = time.monotonic()
    fresh = made.parent / f"new-{os.getpid()}"
    env = {**os.environ, "GOWORK": "off", "GOFLAGS": "-buildvcs=false", "GOBIN": str(fresh)}
    command: list[str | Path] = [
        go(OLDEST_GO),
        "install",
        "-ldflags",
        "-s -w",
        f"{PACKAGE}@{VERSION}",
    ]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    if done.returncode:
        last = (done.stderr.strip() or f"exit code {done.returncode}").splitlines()[-1]
        raise BuildError(f"Go could not build helm: {last}")
    (fresh / "helm").replace(made)
    fresh.rmdir()
    print(f"built helm in {time.monotonic() - started:.0f} s", flush=True)
    return made


def main() -> int:
    """Build, and say in one line where Helm is or why there is none."""
    os.nice(10)
    try:
        print(f"helm for tests: {build()}")
    except BuildError as why:
        print(f"no helm for tests of the chart: {why}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
