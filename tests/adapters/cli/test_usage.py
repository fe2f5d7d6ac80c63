"""A wrong command line is told in plain words, with the option's name."""

import pytest

from apportion.adapters.cli.app import UNUSABLE, run


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["plan", "x", "--seed", "x"], "--seed: must be a whole number"),
        (["plan", "x", "--moves", "-1"], "--moves: must be at least 0"),
        (["plan", "x", "--settle", "0"], "--settle: must be at least 1"),
        (
            ["plan", "x", "-o", "pdf"],
            "--output: 'pdf' is not one of 'table', 'json', 'yaml', 'html'",
        ),
        (["plan", "x", "--queues-from", "kai"], "--queues-from: 'kai' is not one of"),
        (["plan", "x", "--ouput", "json"], "No such option: --ouput (Possible options: --output)"),
        (["schema"], "Missing argument 'DOCUMENT"),
    ],
)
def test_it_names_the_option_and_what_it_takes(
    args: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code = run(args)

    said = capsys.readouterr().err
    assert code == UNUSABLE
    assert said.startswith(f"apportion: {says}"), said
    assert said.endswith("(apportion --help says more)\n")
