"""`python -m causalrules` is the command line."""

from causalrules.cli import main

if __name__ == "__main__":
    main()
