"""The ``odradek`` command."""


def main() -> None:
    """Entry point."""
