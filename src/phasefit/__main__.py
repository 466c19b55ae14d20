"""`python -m phasefit` is the command `phasefit`."""

from phasefit.cli import main

if __name__ == "__main__":
    main()
