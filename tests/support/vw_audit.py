"""What Vowpal Wabbit itself makes of lines: its --audit, in a process of its own, as it prints where Python does not.

python -m tests.support.vw_audit > tests/data/vw_audit.txt    (with vowpalwabbit 9.10.0; to record it anew)
"""

import subprocess
import sys
from pathlib import Path

from tests.conftest import ROOT

LINES = [
    "1 |user age:2.5 anna |item price:0.5 red |user_more vip",
    "-1 | plain:2 |item red red:3 |user anna",
    "1 |é accent:2 |user 17 :4 |x a*b:2 c:0 is:red",
]
ASKED = (
    "-q ui", "-q iu", "-q uu", "-q ui -q iu -q ui", "-q :x", "-q x: -q :x", "-q ::", "-q :: -q iu", "-q iu -q ::",
    "--cubic uui", "--cubic iui", "--cubic uuu", "--cubic uix", "--cubic u::", "--cubic :u:", "--cubic :::",
    "-q ui --cubic xuu", "-q u\\xC3", "-q \\x20:",
)  # fmt: skip
RUN = """
import sys, vowpalwabbit
for asked in sys.argv[2:]:
    print(f"> {asked}", flush=True)
    more = ["--audit", "-t", "--quiet", "--noconstant", "-b", "12", "-d", sys.argv[1]]
    workspace = vowpalwabbit.Workspace(arg_list=[*asked.split(), *more])
    workspace.run_parser()
    workspace.finish()
"""


def audit(path, asked):
    """The text that VW prints for a file, with each of these arguments."""
    done = subprocess.run([sys.executable, "-c", RUN, str(path), *asked], capture_output=True, check=True)
    return done.stdout.decode()


def read_audit(text):
    """By arguments, for every line of the file the features (name, column, value)."""
    found = {}
    for line in text.splitlines():
        if line.startswith("> "):
            rows = found[line[2:]] = []
        elif line.startswith("\t"):
            rows.append([])
            for word in line.split("\t")[1:]:
                name, column, value, _ = word.rsplit(":", 3)
                rows[-1].append((name, int(column), float(value)))
    return found


if __name__ == "__main__":
    path = Path(ROOT / "lines.vw")
    path.write_text("".join(f"{line}\n" for line in LINES))
    try:
        print(audit(path, ASKED), end="")
    finally:
        path.unlink()
