"""Run the `phasefit` command with `python -m phasefit`."""

from phasefit.cli import main

if __name__ == "__main__":
    main()
