"""``apportion schema``: the JSON Schemas of the documents."""

import json
import sys
from enum import StrEnum
from typing import Annotated

import typer

EXAMPLES = """
\b
Examples:
  apportion schema plan
  apportion schema scenario > /tmp/scenario.schema.json
"""


class Document(StrEnum):
    """A document that programs or people write."""

    SNAPSHOT = "snapshot"
    PLAN = "plan"
    SCENARIO = "scenario"
    CONFIGURATION = "configuration"
    EXPLANATION = "explanation"
    WHATIF = "whatif"
    CAPACITY = "capacity"
    DRAINING = "draining"


def schema(
    document: Annotated[Document, typer.Argument(metavar="DOCUMENT", help="Which one.")],
) -> int:
    """Print the JSON Schema of a document: snapshot, plan, scenario, configuration, or an answer.

    Answers are explanation, whatif, capacity and draining. The schemas are made from what reads
    and writes the documents; docs/formats.md says what the fields mean.
    """
    from ..schemas.documents import schema_of

    sys.stdout.write(json.dumps(schema_of(document.value), indent=2) + "\n")
    return 0
