"""Run every seeded fuzzer for a share of the time, and say in a line each what came of it.

    PERCEPTRONS_BOUNDSCHECK=1 python -m tools.fuzz --seconds 60 --seed 0

The exit code is 1 if something was found. What was found is printed before the lines, with the seed that does it again.
"""

import argparse
import os
import subprocess
import sys

from tools.compiled import cache_folder

FUZZERS = ("models", "matrices", "caches", "certificates", "files", "requests")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60.0, help="How long to try in all (default: 60).")
    parser.add_argument("--seed", type=int, default=0, help="The first seed of each (default: 0).")
    parser.add_argument("--cases", type=int, default=10**9, help="How many seeds of each (default: until it is time).")
    asked = parser.parse_args()
    options = ["--seconds", str(asked.seconds / len(FUZZERS)), "--seed", str(asked.seed), "--cases", str(asked.cases)]
    environment, lines, worst = {"NUMBA_CACHE_DIR": cache_folder()} | os.environ, [], 0
    for name in FUZZERS:
        command = [sys.executable, "-m", f"tools.fuzz_{name}", *options]
        done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=False)
        *findings, last = done.stdout.splitlines() or [f"ended with {done.returncode}"]
        print("".join(f"{name}: {line}\n" for line in findings), end="", flush=True)
        lines.append(f"{name}: {last}")
        worst = max(worst, min(abs(done.returncode), 1))
    print("\n".join(lines))
    return worst


if __name__ == "__main__":
    sys.exit(main())
