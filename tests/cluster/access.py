"""Who may talk to the control plane: the admin's token, the key for tokens, kubeconfig files."""

import base64
import json
import secrets
from dataclasses import dataclass
from pathlib import Path

ADMIN = "admin"


@dataclass(frozen=True, slots=True)
class Access:
    """Where the API server is and who asks: all that a client needs."""

    url: str
    ca_file: Path
    token: str

    def write_kubeconfig(self, path: Path) -> Path:
        """Write a kubeconfig for this caller (JSON, which is YAML); nobody else may read it."""
        name = "apportion-test"
        cluster = {"server": self.url, "certificate-authority": str(self.ca_file)}
        content = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": name, "cluster": cluster}],
            "users": [{"name": name, "user": {"token": self.token}}],
            "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
            "current-context": name,
        }
        path.touch(mode=0o600)
        path.write_text(json.dumps(content, indent=1) + "\n")
        return path


def write_tokens(path: Path, token: str) -> Path:
    """Write the API server's token file: one administrator."""
    path.touch(mode=0o600)
    path.write_text(f'{token},{ADMIN},{ADMIN},"system:masters"\n')
    return path


def write_key(path: Path) -> Path:
    """Write a fresh P-256 key, with which the API server signs tokens of ServiceAccounts.

    RFC 5915: version 1, the private number, the name of the curve; the public half follows from
    them. Written by hand, since Python's own library has no such keys.
    """
    # Fewer than the order of the curve: the top bit is clear.
    number = bytes([secrets.randbelow(128), *secrets.token_bytes(31)])
    prime256v1 = bytes.fromhex("a00a06082a8648ce3d030107")
    body = bytes.fromhex("0201010420") + number + prime256v1
    der = bytes([0x30, len(body)]) + body
    lines = [
        "-----BEGIN EC PRIVATE KEY-----",
        base64.b64encode(der).decode(),
        "-----END EC PRIVATE KEY-----",
    ]
    path.touch(mode=0o600)
    path.write_text("\n".join(lines) + "\n")
    return path
