"""What installs the scheduler, as objects: the plain manifest, and the chart, if Helm is there."""

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from cluster.helm import helm as helm_here

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
CHART = DEPLOY / "chart"
Data = dict[str, Any]
Helm = Callable[..., subprocess.CompletedProcess[str]]
Render = Callable[..., dict[tuple[str, str], Data]]


def by_name(text: str) -> dict[tuple[str, str], Data]:
    """Return the objects of a manifest by kind and name."""
    objects = [thing for thing in yaml.safe_load_all(text) if thing]
    found = {(thing["kind"], thing["metadata"]["name"]): thing for thing in objects}
    assert len(found) == len(objects), "two objects of one kind share a name"
    return found


@pytest.fixture(scope="session")
def plain() -> dict[tuple[str, str], Data]:
    """The objects of the plain manifest and of its extras."""
    files = [DEPLOY / "apportion.yaml", *sorted((DEPLOY / "extras").glob("*.yaml"))]
    return by_name("\n---\n".join(f.read_text() for f in files))


@pytest.fixture(scope="session")
def helm() -> Helm:
    """Run Helm; where it is not installed, the tests that want it are left out."""
    program = helm_here()
    if program is None:
        pytest.skip("no helm here: see `make control-plane`")

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([program, *words], capture_output=True, text=True, check=False)

    return run


@pytest.fixture(scope="session")
def render(helm: Helm) -> Render:
    """Return what the chart makes of some values, or what it says against them."""

    def rendered(*settings: str, name: str = "apportion", crds: bool = False) -> Any:
        flags = [f for s in settings for f in ("--set-json", s)]
        with_crds = ["--include-crds"] if crds else []
        where = ["--namespace=apportion-system", "--kube-version=1.36.0"]
        done = helm("template", name, str(CHART), *where, *with_crds, *flags)
        return by_name(done.stdout) if done.returncode == 0 else done.stderr

    return rendered
