"""``apportion ui``: says where it is, answers there, and ends with Ctrl-C."""

import signal
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from reports import parsed

ROOT = Path(__file__).resolve().parents[3]
PATIENCE_S = 120


@pytest.mark.slow
def test_it_serves_until_it_is_interrupted() -> None:
    command = [sys.executable, "-m", "apportion", "ui", "-f", "examples/small"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as served:
        assert served.stdout is not None
        address = served.stdout.readline().strip()
        with urllib.request.urlopen(address, timeout=PATIENCE_S) as answer:
            page = parsed(answer.read().decode())
        served.send_signal(signal.SIGINT)

        assert served.wait(PATIENCE_S) == 0

    assert address.startswith("http://127.0.0.1:")
    assert "research/train" in page.find("promised").text
    assert page.find("ask").all("form")


def test_without_a_cluster_it_says_what_is_missing(cli: Any) -> None:
    result = cli("ui")

    assert result.code == 2
    assert "name the cluster that is meant: -f FILE" in result.err
