"""``apportion unmask``: what was said of a masked snapshot, in the names of the cluster."""

import sys
from typing import Annotated

import typer

EXAMPLES = """
\b
Examples:
  apportion unmask plan.json --mask-key key.json
  apportion explain fqbf -f masked.json.gz | apportion unmask - --mask-key key.json
"""


def unmask(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="An answer, or a snapshot; - is standard input.")
    ],
    mask_key: Annotated[
        str, typer.Option("--mask-key", metavar="FILE", help="What --mask-key has written.")
    ],
) -> int:
    """Translate an answer about a masked snapshot back.

    JSON stays JSON; any other text is read word by word. Digests are still those of what is masked.
    """
    import json

    from ..masking.key_file import Unmasking, read_key

    back = Unmasking(read_key(mask_key))
    text = _text(file)
    try:
        document = json.loads(text)
    except ValueError:
        sys.stdout.write(back.text(text))
        return 0
    sys.stdout.write(json.dumps(back.document(document), indent=2) + "\n")
    return 0


def _text(file: str) -> str:
    from pathlib import Path

    from ...models import InputError
    from ..files import unpacked

    if file == "-":
        data = sys.stdin.buffer.read()
    else:
        try:
            data = Path(file).read_bytes()
        except OSError as e:
            raise InputError(f"{file}: cannot be read: {e.strerror or e}") from e
    try:
        return unpacked(data, file).decode()
    except UnicodeDecodeError as e:
        raise InputError(f"{file}: is no text: byte {e.start} is no UTF-8") from e
