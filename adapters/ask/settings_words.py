"""Settings as people write them on a command line: ``tiers.packing=spread``."""

from collections.abc import Sequence
from typing import Any

import yaml

from ...models import InputError
from ..configuration import Settings
from ..strict import parsed


def changes_of(written: Sequence[str]) -> dict[str, Any]:
    """Return what the settings change, as fields of Config.

    Raises
    ------
    InputError
        For what is no setting, or has a value that cannot be.
    """
    data: dict[str, Any] = {}
    for text in written:
        path, equal, value = text.partition("=")
        if not equal or not path:
            raise InputError(f"--set: {text!r}: write SETTING=VALUE, such as tiers.packing=spread")
        *above, last = path.split(".")
        at = data
        for key in above:
            inner = at.setdefault(key, {})
            if not isinstance(inner, dict):
                raise InputError(f"--set: {path} and {key} are set at once; set one of them")
            at = inner
        try:
            at[last] = yaml.safe_load(value)
        except yaml.YAMLError:
            raise InputError(f"--set: {text!r}: {value!r} is no YAML value") from None
    return parsed(data, Settings, "--set").changes()
