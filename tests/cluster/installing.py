"""Install the scheduler on a control plane by its manifest; what would run is started apart."""

from pathlib import Path

from cluster.access import Access
from cluster.authorizing import RBAC, wait_authorized
from cluster.client import Client
from cluster.manifests import apply_all, documents
from cluster.plane import ControlPlane

ROOT = Path(__file__).resolve().parents[2]
DEFINITIONS = ROOT / "adapters" / "crds"
MANIFEST = ROOT / "deploy" / "apportion.yaml"
NAMESPACE, ACCOUNT = "apportion-system", "apportion"


def install(plane: ControlPlane, client: Client, *, definitions: bool = True) -> Access:
    """Apply definitions and manifest, without the Deployment: pretend nodes run no real program.

    Returns the access of the scheduler's ServiceAccount, which has the rights of the manifest.
    """
    files = (DEFINITIONS, MANIFEST) if definitions else (MANIFEST,)
    apply_all(client, (t for t in documents(files) if t["kind"] != "Deployment"))
    wait_authorized(client)
    return plane.access_of(NAMESPACE, ACCOUNT)


def account(client: Client, name: str, role: str) -> None:
    """Make a ServiceAccount that has a ClusterRole in the whole cluster when this returns."""
    meta = {"name": name, "namespace": NAMESPACE}
    client.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta})
    client.create(
        {
            "apiVersion": f"{RBAC}/v1", "kind": "ClusterRoleBinding", "metadata": {"name": name},
            "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": role},
            "subjects": [{"kind": "ServiceAccount", **meta}],
        }
    )  # fmt: skip
    wait_authorized(client)
