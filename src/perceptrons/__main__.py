"""`python -m perceptrons`: the command, also where its program is not on the PATH."""

import sys

from perceptrons.cli import main

if __name__ == "__main__":
    sys.exit(main())
