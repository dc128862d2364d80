"""`python -m benchmarks NAME [options]` runs one benchmark and writes its results beside it."""

import argparse
import importlib
import warnings

NAMES = ("linear", "defaults", "single_pass", "wrappers", "shrink", "multilabel", "options", "separability")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("name", choices=NAMES)
    parser.add_argument("--quick", action="store_true", help="small data, to see that it runs")
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # peers warn that they did not converge: they are asked not to
    importlib.import_module(f"benchmarks.{options.name}").run(quick=options.quick)


if __name__ == "__main__":
    main()
