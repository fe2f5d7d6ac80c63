"""The command line of each part of the control plane."""

import json
from collections.abc import Iterable
from pathlib import Path

from cluster.access import write_key, write_tokens
from cluster.ports import Ports

CONTROLLERS = (
    "daemonset-controller",
    "deployment-controller", "disruption-controller", "ephemeral-volume-controller",
    "garbage-collector-controller", "job-controller",
    "persistentvolume-binder-controller", "replicaset-controller", "resourceclaim-controller",
    "statefulset-controller",
)  # fmt: skip
"""Those that tests want as a rule: budgets get a status, owners are honoured, pods come back,
claims of volumes and devices are made from templates, volumes are bound. Not that of namespaces:
seconds after one is gone it empties whichever has got its name, be it that of the next test."""

NODE_ANNOTATION = "kwok.x-k8s.io/node"
"""A node with it is played by kwok."""

STAGES = Path(__file__).parent / "stages.yaml"


def etcd(folder: Path, ports: Ports) -> list[str]:
    """Return etcd's words; it never waits for the disk: the data need not outlive the machine."""
    clients = f"http://127.0.0.1:{ports.etcd}"
    peers = f"http://127.0.0.1:{ports.etcd_peers}"
    return [
        f"--data-dir={folder / 'etcd'}", "--name=test", "--unsafe-no-fsync", "--log-level=error",
        f"--listen-client-urls={clients}", f"--advertise-client-urls={clients}",
        f"--listen-peer-urls={peers}", f"--initial-advertise-peer-urls={peers}",
        f"--initial-cluster=test={peers}", "--quota-backend-bytes=4294967296",
    ]  # fmt: skip


def kube_apiserver(folder: Path, ports: Ports, token: str) -> list[str]:
    """Return the API server's words; it makes its own certificate.

    Two admission plug-ins are off: ServiceAccount, which would refuse pods before a controller
    has made their account, and TaintNodesByCondition, whose taint on new nodes only the node
    lifecycle controller takes away.
    """
    key = write_key(folder / "tokens.key")
    return [
        f"--etcd-servers=http://127.0.0.1:{ports.etcd}", f"--cert-dir={folder / 'certificates'}",
        "--bind-address=127.0.0.1", "--advertise-address=127.0.0.1", f"--secure-port={ports.api}",
        f"--token-auth-file={write_tokens(folder / 'tokens.csv', token)}",
        f"--service-account-key-file={key}", f"--service-account-signing-key-file={key}",
        "--service-account-issuer=https://kubernetes.default.svc", "--authorization-mode=RBAC",
        "--service-cluster-ip-range=10.96.0.0/16", "--endpoint-reconciler-type=none",
        "--max-requests-inflight=3000", "--max-mutating-requests-inflight=1000",
        "--disable-admission-plugins=ServiceAccount,TaintNodesByCondition",
    ]  # fmt: skip


def kube_controller_manager(kubeconfig: Path, controllers: Iterable[str]) -> list[str]:
    return [
        f"--kubeconfig={kubeconfig}", f"--controllers={','.join(controllers)}", "--secure-port=0",
        "--leader-elect=false", "--kube-api-qps=2000", "--kube-api-burst=4000",
        "--concurrent-gc-syncs=5",
    ]  # fmt: skip


def kube_scheduler(folder: Path, kubeconfig: Path) -> list[str]:
    """Return the words of kube-scheduler, without limits on its requests."""
    config = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "clientConnection": {"kubeconfig": str(kubeconfig), "qps": 5000, "burst": 10000},
        "leaderElection": {"leaderElect": False},
    }
    path = folder / "kube-scheduler.json"
    path.write_text(json.dumps(config, indent=1) + "\n")
    return [f"--config={path}", "--secure-port=0"]


def kwok(kubeconfig: Path) -> list[str]:
    return [
        f"--kubeconfig={kubeconfig}", f"--config={STAGES}",
        f"--manage-nodes-with-annotation-selector={NODE_ANNOTATION}=fake",
        "--manage-all-nodes=false", "--node-ip=127.0.0.1", "--node-lease-duration-seconds=40",
    ]  # fmt: skip
