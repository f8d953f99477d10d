"""``python -m infra.cli`` is ``odradek``."""

from infra.cli import main

if __name__ == "__main__":
    main()
