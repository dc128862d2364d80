"""Runs the command line with `python -m perceptrons`, also if the program is not on the PATH."""

import sys

from perceptrons.cli import main

if __name__ == "__main__":
    sys.exit(main())
