"""``python -m apportion`` is the same as the ``apportion`` command."""

from .adapters.cli.app import main

if __name__ == "__main__":
    main()
