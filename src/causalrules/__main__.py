"""`python -m causalrules` is the command line."""

import sys


def main() -> None:
    """Run the command line. Ctrl-C ends it quietly, even while modules are still being imported."""
    try:
        from causalrules.cli import main as run

        run()
    except KeyboardInterrupt:
        sys.exit("Interrupted: nothing was found yet")


if __name__ == "__main__":
    main()
