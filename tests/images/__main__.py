"""Draw the pictures anew: `python -m tests.images`, or some of them by name. Look at what changed before you commit."""

import sys

from tests.images import FOLDER, PICTURES, difference, drawn, kept

(FOLDER / "inside").mkdir(exist_ok=True)
for name in sys.argv[1:] or PICTURES:
    new = drawn(name)
    known = (FOLDER / "inside" / f"{name}.png").exists()
    by = [difference(*pair) for pair in zip(new, kept(name), strict=True)] if known else []
    if not known or any(by):
        print(f"{name}: " + (f"changed by {by[0]:.2f}, inside {by[1]:.2f}" if known else "new"))
        (FOLDER / f"{name}.png").write_bytes(new[0])
        (FOLDER / "inside" / f"{name}.png").write_bytes(new[1])
