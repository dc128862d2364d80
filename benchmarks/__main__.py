"""`python -m benchmarks NAME [options]` runs one benchmark and writes its results beside it."""

import argparse
import importlib
import warnings

NAMES = (
    "linear", "online", "drift", "continued", "defaults", "margins", "imbalance", "calibration", "raw_tables",
    "single_pass", "wrappers", "penalty", "multilabel", "options", "separability",
    "freund_schapire", "kernels", "budgets", "tagging", "files", "distributed", "compare", "reasons", "tuning",
    "against", "exports", "startup", "serve",
)  # fmt: skip
ON_DEVICES = ("freund_schapire",)
WITH_COMMIT = ("against", "startup")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("name", choices=NAMES)
    parser.add_argument("--quick", action="store_true", help="small data, to see that it runs")
    parser.add_argument("--device", choices=("cpu", "cuda", "cupy"), default="cpu", help="cuda: by PyTorch; cupy: CuPy")
    parser.add_argument(
        "--commit", default="HEAD~1", help="for against and startup: the commit to compare with (default: HEAD~1)"
    )
    options = parser.parse_args()
    if options.device != "cpu" and options.name not in ON_DEVICES:
        parser.error(f"--device is for {', '.join(ON_DEVICES)}")
    where = {"device": options.device} if options.name in ON_DEVICES else {}
    where |= {"commit": options.commit} if options.name in WITH_COMMIT else {}
    warnings.simplefilter("ignore")  # peers warn that they did not converge: they are asked not to
    importlib.import_module(f"benchmarks.{options.name}").run(quick=options.quick, **where)


if __name__ == "__main__":
    main()
