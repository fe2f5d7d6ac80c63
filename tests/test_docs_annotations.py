"""The table of annotations names every key that the door reads."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
KEY = re.compile(r"[a-z0-9][a-z0-9.-]*\.[a-z0-9-]+/[A-Za-z0-9._-]*")
OTHER = re.compile(r"apportion\.dev/|kubernetes\.io/|.*/v\d+((alpha|beta)\d+)?")
"""API versions, and beginnings by which keys are told apart."""
PROVISIONERS = re.compile(
    r"docker\.io/|k8s\.io/minikube|k8s-sigs\.io/nfs|microk8s\.io/|rancher\.io/|kubernetes\.io/"
    r"(aws-ebs|azure-|cinder|gce-pd|no-provisioner|portworx|vsphere)"
)
TABLE = {
    k.removesuffix("*")
    for k in re.findall(r"`([^`]+)`", (ROOT / "docs" / "annotations.md").read_text())
}


def keys() -> list[str]:
    found = {
        n.value
        for file in (ROOT / "adapters").rglob("*.py")
        for n in ast.walk(ast.parse(file.read_text()))
        if isinstance(n, ast.Constant) and isinstance(n.value, str) and KEY.fullmatch(n.value)
    }
    kept = {k for k in found if not (OTHER.fullmatch(k) or PROVISIONERS.match(k))}
    return sorted(kept)


@pytest.mark.parametrize("key", keys())
def test_a_key_that_is_read_is_in_the_table(key: str) -> None:
    """One that ends in - or / is the beginning of several."""
    if key[-1] in "-/":
        assert any(k.startswith(key) for k in TABLE)
    else:
        assert key in TABLE
