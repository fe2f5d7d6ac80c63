"""Where the programs of the control plane are: KUBEBUILDER_ASSETS, or what was built here."""

import hashlib
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

SOURCES = Path(__file__).parent / "go"
NEEDED = ("etcd", "kube-apiserver")
"""Without these there is no control plane; a test that wants another part can do without it."""


@dataclass(frozen=True, slots=True)
class Program:
    """How one program is built: the Go module that names its version, and its package."""

    name: str
    module: str
    package: str
    about_version: str = ""
    """The module whose version the program is told to report."""


PROGRAMS = (
    Program("etcd", "kubernetes", "go.etcd.io/etcd/server/v3"),
    *(
        Program(name, "kubernetes", f"k8s.io/kubernetes/cmd/{name}", "k8s.io/kubernetes")
        for name in ("kube-apiserver", "kube-controller-manager", "kube-scheduler")
    ),
    Program("kwok", "kwok", "sigs.k8s.io/kwok/cmd/kwok"),
)


@dataclass(frozen=True, slots=True)
class Binaries:
    """Programs by name, each a file that is there."""

    paths: Mapping[str, Path]

    def missing(self, names: tuple[str, ...] = NEEDED) -> tuple[str, ...]:
        return tuple(name for name in names if name not in self.paths)

    def __getitem__(self, name: str) -> Path:
        return self.paths[name]


def binaries() -> Binaries:
    """Return the programs that this machine has."""
    folder = given() or built()
    names = (p.name for p in PROGRAMS)
    return Binaries({n: folder / n for n in names if (folder / n).is_file()})


def given() -> Path | None:
    """Return the folder that the user points to, by the name that Kubernetes projects use."""
    folder = os.environ.get("KUBEBUILDER_ASSETS")
    return Path(folder) if folder else None


def built() -> Path:
    """Return the folder of the programs built here: one for each set of versions."""
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "apportion" / "control-plane" / versions_key()


def versions_key() -> str:
    """Return what changes when anything would be built differently."""
    files = sorted(SOURCES.glob("*/go.*"))
    parts = [repr(PROGRAMS).encode(), *(f.read_bytes() for f in files)]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:12]


def version_of(program: Program) -> str:
    """Return the version that go.mod asks for, as v1.36.3."""
    text = (SOURCES / program.module / "go.mod").read_text()
    found = re.search(rf"^\s*{re.escape(program.about_version)} (v[\d.]+)", text, re.MULTILINE)
    if found is None:
        raise LookupError(f"go.mod of {program.module} does not require {program.about_version}")
    return found[1]


def oldest_go() -> tuple[int, int]:
    """Return the Go version that all modules can be built with."""
    texts = (f.read_text() for f in SOURCES.glob("*/go.mod"))
    said = (re.search(r"^go (\d+)\.(\d+)", text, re.MULTILINE) for text in texts)
    return max((int(m[1]), int(m[2])) for m in said if m)
