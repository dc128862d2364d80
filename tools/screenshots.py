"""Makes the three reports of docs/report.md from real data and photographs them in Chromium, wide and narrow.

PERCEPTRONS_DATA=folder python tools/screenshots.py [--pages FOLDER]
The folder has mnist/ and sms-spam/ as benchmarks/datasets.py reads them. --pages keeps models and pages there.
"""

import argparse
import gzip
import os
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks.datasets import load  # noqa: E402 (from the repository, not from the package)
from perceptrons.cli import main  # noqa: E402
from tests.support.browser import browser  # noqa: E402

WHERE = ROOT / "docs" / "screenshots"
DESK, PHONE = 1100, 360  # CSS pixels across
PARTS = {"mnist": "mistakes", "sms": "mistakes", "plane": "boundary"}  # the section that says most about each
LARGEST = 250_000  # bytes of a picture


def mnist(folder: Path) -> None:
    """60,000 digits to learn from, 10,000 to report on."""
    split = load("mnist")
    np.savez(folder / "digits-train.npz", X=split.X_train, y=split.y_train)
    np.savez(folder / "digits-test.npz", X=split.X_test, y=split.y_test)
    command("train", "digits-train.npz", "--test", "digits-test.npz", "--max-iter", "10", "-o", "mnist.perceptron")
    command("report", "mnist.perceptron", "digits-test.npz", "-o", "mnist.html")


def sms(folder: Path) -> None:
    """The first 4,000 messages to learn from, the last 1,574 to report on, as text files."""
    packed = Path(os.environ["PERCEPTRONS_DATA"]) / "sms-spam" / "SMSSpamCollection.gz"
    lines = gzip.decompress(packed.read_bytes()).splitlines(keepends=True)
    (folder / "messages-train.txt").write_bytes(b"".join(lines[:4000]))
    (folder / "messages-test.txt").write_bytes(b"".join(lines[4000:]))
    how = ("--format", "text", "--words", "1-2", "--epochs", "5")
    command("train", "messages-train.txt", *how, "-o", "sms.perceptron")
    command("report", "sms.perceptron", "messages-test.txt", "-o", "sms.html")


def plane(folder: Path) -> None:
    """Three generated clouds of two features."""
    rng = np.random.default_rng(4)
    kinds, centres = np.array(["low", "right", "high"]), np.array([[0.0, 0.0], [3.0, 2.2], [0.3, 3.4]])
    codes = rng.integers(0, 3, 600)
    rows = centres[codes] + 0.85 * rng.standard_normal((600, 2))
    lines = [f"{a:.3f},{b:.3f},{kind}\n" for (a, b), kind in zip(rows, kinds[codes], strict=True)]
    (folder / "clouds-train.csv").write_text("width,height,kind\n" + "".join(lines[:400]))
    (folder / "clouds-test.csv").write_text("width,height,kind\n" + "".join(lines[400:]))
    command("train", "clouds-train.csv", "--test", "clouds-test.csv", "-o", "plane.perceptron")
    command("report", "plane.perceptron", "clouds-test.csv", "-o", "plane.html")


def command(*words: str) -> None:
    """Run `perceptrons` and say how long it took."""
    begin = time.perf_counter()
    code = main([*words, "--quiet"])
    print(f"perceptrons {' '.join(words)}: {time.perf_counter() - begin:.1f} s")
    if code:
        sys.exit(code)


def compressed(path: Path) -> None:
    """The same picture in a palette of 128 colours."""
    from PIL import Image

    Image.open(path).convert("RGB").quantize(128, Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE).save(
        path, optimize=True
    )
    size = path.stat().st_size
    print(f"{path.relative_to(ROOT)}: {size:,} bytes")
    if size > LARGEST:
        sys.exit(f"{path} is larger than {LARGEST:,} bytes: photograph less.")


def make(folder: Path) -> None:
    WHERE.mkdir(exist_ok=True)
    before = Path.cwd()
    os.chdir(folder)  # so that the pages name files and not folders of this machine
    try:
        for part in (mnist, sms, plane):
            part(folder)
    finally:
        os.chdir(before)
    with browser() as chromium:
        for name, part in PARTS.items():
            print(f"{name}.html: {(folder / f'{name}.html').stat().st_size:,} bytes")
            shots = (
                ("desktop", DESK, "body", 900),
                (part, DESK, f"section[aria-labelledby={part}]", 1000),
                ("phone", PHONE, "body", 1000),
                (f"phone-{part}", PHONE, f"section[aria-labelledby={part}]", 1000),
            )
            for what, width, selector, height in shots:
                path = WHERE / f"report-{name}-{what}.png"
                page = chromium.open(folder / f"{name}.html", width)
                if page.complaints or page.requests != [page.address]:
                    sys.exit(f"{name}.html: {page.complaints} {page.requests}")
                page.photograph(path, selector, height)
                page.close()
                compressed(path)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pages", type=Path, help="keep models and pages in this folder")
    asked = parser.parse_args()
    if asked.pages is not None:
        asked.pages.mkdir(parents=True, exist_ok=True)
        make(asked.pages.resolve())
    else:
        with tempfile.TemporaryDirectory(prefix="perceptrons-") as folder:
            make(Path(folder))
