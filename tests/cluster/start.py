"""A local cluster to try things on: `python -m cluster.start`, or `make cluster`."""

import argparse
import sys
from pathlib import Path

from cluster.installing import install
from cluster.lasting import until_interrupted
from cluster.objects import placed_node
from cluster.plane import ControlPlane
from cluster.waiting import PlaneError, until

CONTROLLERS = ("*",)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make cluster", description=__doc__)
    parser.add_argument("--nodes", type=int, default=8, help="pretend nodes (default: %(default)s)")
    parser.add_argument("--gpus", type=int, default=8, help="GPUs on each (default: %(default)s)")
    return parser.parse_args()


def main() -> int:
    """Start it, say how to reach it, and end it with Ctrl-C. Its data is gone then."""
    asked = arguments()
    return until_interrupted("plane-", lambda folder: _run(folder, asked.nodes, asked.gpus))


def _run(folder: Path, nodes: int, gpus: int) -> None:
    plane = ControlPlane(folder, controllers=CONTROLLERS)
    try:
        plane.start("kube-controller-manager", "kube-scheduler", "kwok")
        with plane.client() as client:
            client.create_all(placed_node(i, gpus) for i in range(nodes))
            install(plane, client)
        print(f"{nodes} nodes with {gpus} nvidia.com/gpu each; kube-scheduler runs, too.")
        print(f"\n    export KUBECONFIG={plane.kubeconfig}\n    apportion run\n")
        print(
            "The second line starts the scheduler, in another terminal. Ctrl-C ends the cluster.",
            flush=True,
        )
        until(lambda: _ended(plane), "a part ends", float("inf"))
    finally:
        plane.stop()


def _ended(plane: ControlPlane) -> bool:
    for part in plane.parts.values():
        if not part.is_running:
            raise PlaneError(f"{part.name} has ended\n{part.tail()}")
    return False


if __name__ == "__main__":
    sys.exit(main())
