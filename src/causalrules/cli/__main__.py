"""`python -m causalrules.cli` also runs the command line."""

from causalrules.cli import main

if __name__ == "__main__":
    main()
