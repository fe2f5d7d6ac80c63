"""``apportion crds``: the definitions of Volcano's kinds, to be created where they are missing."""

from typing import Annotated

import typer

EXAMPLES = """
\b
Examples:
  apportion crds | kubectl create -f -
  apportion crds --only podgroup,queue > /tmp/crds.yaml
"""


def crds(
    only: Annotated[
        str,
        typer.Option(
            metavar="NAME,...",
            help="Some of them: podgroup, queue, job, hypernode, numatopology (default all).",
        ),
    ] = "",
) -> None:
    """Print the definitions (CRDs) of Volcano's kinds that are read, as YAML.

    They are Volcano's own groups, so leave those that a cluster has from Volcano as they are:
    "kubectl create" does, as it says AlreadyExists for these and creates the others.
    """
    from ..crds import NAMES, definitions

    names = [name.strip() for name in only.split(",") if name.strip()]
    print(definitions(list(dict.fromkeys(names)) or NAMES), end="")
