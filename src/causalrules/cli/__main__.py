"""`python -m causalrules.cli` is the command line too."""

from causalrules.cli import main

if __name__ == "__main__":
    main()
