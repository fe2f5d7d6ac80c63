"""Build the control plane's programs once per machine: `python -m cluster.build`."""

import fcntl
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cluster.binaries import (
    NEEDED,
    PROGRAMS,
    SOURCES,
    Program,
    binaries,
    built,
    given,
    oldest_go,
    version_of,
)  # fmt: skip
from cluster.toolchain import BuildError, go

VERSION = "k8s.io/component-base/version"


def build() -> None:
    """Build what is missing, one program after the other; what is there already is kept.

    Processes that ask at once wait for each other. An interrupted build goes on where it was:
    finished programs are moved into place whole, and Go keeps what it has compiled.
    """
    if given():
        missing = binaries().missing()
        if missing:
            raise BuildError(f"KUBEBUILDER_ASSETS={given()} has no {' and no '.join(missing)}")
        return
    folder = built()
    if all((folder / p.name).is_file() for p in PROGRAMS):
        return
    folder.mkdir(parents=True, exist_ok=True)
    with _alone(folder / "lock"):
        wanted = [p for p in PROGRAMS if not (folder / p.name).is_file()]
        compiler = go(oldest_go()) if wanted else None
        for program in wanted:
            assert compiler is not None
            _build(compiler, program, folder)


def _build(compiler: Path, program: Program, folder: Path) -> None:
    """Compile one program and move it into place."""
    print(f"building {program.name} for the tests on a real control plane", flush=True)
    started = time.monotonic()
    fresh = folder / f".{program.name}.new"
    command: list[str | Path] = [compiler, "build", "-ldflags", _flags(program), "-o", fresh]
    # A workspace or flags of the machine's owner must not change what is built.
    env = {**os.environ, "GOWORK": "off", "GOFLAGS": "-buildvcs=false", "CGO_ENABLED": "0"}
    done = subprocess.run(
        [*command, program.package],
        cwd=SOURCES / program.module, env=env, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        last = (done.stderr.strip() or f"exit code {done.returncode}").splitlines()[-1]
        raise BuildError(f"Go could not build {program.name}: {last}")
    fresh.replace(folder / program.name)
    print(f"built {program.name} in {time.monotonic() - started:.0f} s", flush=True)


def _flags(program: Program) -> str:
    """Return flags of the linker: no symbols, and the version, which clients look at."""
    if not program.about_version:
        return "-s -w"
    version = version_of(program)
    major, minor, _ = version.removeprefix("v").split(".")
    said = {"gitVersion": version, "gitMajor": major, "gitMinor": minor}
    return " ".join(["-s -w", *(f"-X {VERSION}.{key}={value}" for key, value in said.items())])


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Hold the lock; the system lets go of it when the process ends, however it ends."""
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def main() -> int:
    """Build, and say in one line where the programs are or why there are none."""
    os.nice(10)
    try:
        build()
    except BuildError as why:
        print(f"no control plane for tests ({' and '.join(NEEDED)}): {why}", file=sys.stderr)
        return 1
    print(f"control plane for tests: {given() or built()}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
