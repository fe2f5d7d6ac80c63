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
    from importlib.metadata import version as of

    print(
        f"apportion {of('apportion')} "
        f"(Python {platform.python_version()}, OR-Tools {of('ortools')})"
    )
