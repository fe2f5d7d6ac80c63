"""Ports of a control plane, which nobody else takes while it lasts, restarts included."""

import random
import socket
from dataclasses import dataclass, field

HOST = "127.0.0.1"
RANGE = range(20_000, 32_000)
"""Below the ports that the kernel gives to clients, or a client could sit on the API server's."""


@dataclass(frozen=True, slots=True)
class Ports:
    """Where etcd and the API server listen, on the loopback address."""

    etcd: int
    etcd_peers: int
    api: int
    _claims: tuple[socket.socket, ...] = field(default=(), repr=False)

    def release(self) -> None:
        """Let others have them."""
        for one in self._claims:
            one.close()


def free_ports() -> Ports:
    """Return three ports that nobody listens on, and keep others that ask here from having them."""
    claims = [claim(), claim(), claim()]
    etcd, peers, api = (one.getsockname()[1] for one in claims)
    return Ports(etcd, peers, api, tuple(claims))


def claim() -> socket.socket:
    """Return a socket that is bound and does not listen.

    Who binds with SO_REUSEADDR, as servers do, may listen there all the same; who comes to claim
    the port binds without it, and is refused.
    """
    for port in random.SystemRandom().sample(RANGE, len(RANGE)):
        one = socket.socket()
        try:
            one.bind((HOST, port))
        except OSError:
            one.close()
            continue
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        return one
    raise OSError(f"every port from {RANGE.start} to {RANGE.stop} of {HOST} is taken")
