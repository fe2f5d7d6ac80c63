"""``apportion version``."""

EXAMPLES = """
\b
Example:
  apportion version
"""


def version() -> None:
    """Print the version.

    Also those of Python and of the solver, which a bug report should carry.
    """
    import platform
    from importlib.metadata import PackageNotFoundError
    from importlib.metadata import version as of

    from ... import __version__

    try:
        solver = of("ortools")
    except PackageNotFoundError:
        solver = "missing"
    print(f"apportion {__version__} (Python {platform.python_version()}, OR-Tools {solver})")
