"""The ``apportion`` command: finds the subcommand, turns what goes wrong into one sentence.

Exit codes: 0 done; 1 an expectation or a rule does not hold; 2 the input is unusable; 3 a bug.
Nothing heavy is imported here: help has to answer at once.
"""

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import typer

from ...models.errors import BugError, InputError
from . import (
    capacity,
    check,
    crds,
    drain,
    explain,
    plan,
    replay,
    rules,
    schema,
    snapshot,
    status,
    ui,
    unmask,
    version,
    whatif,
)  # fmt: skip
from . import run as run_command
from .source import DEFAULT

UNHOLDING, UNUSABLE, BUG, INTERRUPTED = 1, 2, 3, 130
_USAGE: Any = typer.BadParameter.__mro__[2]
"""What the command line raises for a wrong option: ClickException, wherever typer keeps it."""
READING = frozenset({"plan", "explain", "whatif", "capacity", "drain", "ui", "snapshot"})
"""Commands that read a live cluster where they are told to, and only then."""

ABOUT = """Plan batch work on Kubernetes: gangs, queues and fair shares, solved cycle by cycle.

Reads a cluster as kubectl prints it, decides what starts where, who makes room for whom and who
waits, verifies that by an independent checker, and says how far it is from the best plan possible.
"""
TOUR = """
\b
Try it:
  kubectl get nodes,pods,podgroups,queues -A -o yaml | apportion plan -
  apportion plan examples/small
  apportion check tests/scenarios/gang

\b
Each command has examples of its own: apportion plan --help
Pages: docs/cli.md (commands, scenario files), docs/configuration.md (settings).
"""


def app() -> typer.Typer:
    """Return the application."""
    made = typer.Typer(
        name="apportion",
        help=ABOUT,
        epilog=TOUR,
        add_completion=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        no_args_is_help=True,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    )

    @made.callback()
    def root() -> None: ...

    made.command(epilog=plan.EXAMPLES)(plan.plan)
    made.command(epilog=check.EXAMPLES)(check.check)
    made.command(epilog=explain.EXAMPLES)(explain.explain)
    made.command(epilog=whatif.EXAMPLES)(whatif.whatif)
    made.command(epilog=capacity.EXAMPLES)(capacity.capacity)
    made.command(epilog=drain.EXAMPLES)(drain.drain)
    made.command(epilog=ui.EXAMPLES)(ui.ui)
    made.command(epilog=rules.EXAMPLES)(rules.rules)
    made.command(epilog=run_command.EXAMPLES)(run_command.run)
    made.command(epilog=status.EXAMPLES)(status.status)
    made.command(epilog=replay.EXAMPLES)(replay.replay)
    made.command(epilog=snapshot.EXAMPLES)(snapshot.snapshot)
    made.command(epilog=schema.EXAMPLES)(schema.schema)
    made.command(epilog=unmask.EXAMPLES)(unmask.unmask)
    made.command(epilog=crds.EXAMPLES)(crds.crds)
    made.command(epilog=version.EXAMPLES)(version.version)
    return made


def run(argv: Sequence[str] | None = None) -> int:
    """Run a command line; return its exit code. Never raises."""
    args = list(sys.argv[1:] if argv is None else argv) or ["--help"]
    try:
        command = typer.main.get_command(app())
        code = command.main(args=spelled_out(args), prog_name="apportion", standalone_mode=False)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except typer.Exit as e:
        return e.exit_code
    except (KeyboardInterrupt, typer.Abort):
        return _say("interrupted", INTERRUPTED)
    except BrokenPipeError:
        _drop_output()
        return 0
    except InputError as e:
        return _say(str(e), UNUSABLE)
    except _USAGE as e:
        from .usage import worded

        return _say(worded(e.format_message()), UNUSABLE)
    except Exception as e:
        return _bug(e)


def spelled_out(args: Sequence[str]) -> list[str]:
    """Give ``--settle`` and ``--kubeconfig`` their defaults where nothing follows."""
    out: list[str] = []
    reads = bool(args) and args[0] in READING
    for i, arg in enumerate(args):
        if arg == "--":
            return [*out, *args[i:]]
        following = args[i + 1] if i + 1 < len(args) else ""
        out.append(arg)
        if arg == "--settle" and not following.isdigit():
            out.append(str(plan.CYCLES))
        if reads and arg == "--kubeconfig" and (not following or following.startswith("-")):
            out.append(DEFAULT)
    return out


def _say(message: str, code: int) -> int:
    from .words import plain

    with suppress(OSError, UnicodeError):
        print(f"apportion: {plain(message)}", file=sys.stderr, flush=True)
    return code


def _bug(error: Exception) -> int:
    if os.environ.get("APPORTION_DEBUG") == "1":
        import traceback

        traceback.print_exc()
    said = str(error) if isinstance(error, BugError) else f"{type(error).__name__}: {error}"
    return _say(f"this is a bug, please report it: {said}", BUG)


def _drop_output() -> None:
    """Let nothing complain about the closed pipe when Python flushes at its end."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def main() -> None:
    """Run the command line of this process."""
    sys.exit(run())
