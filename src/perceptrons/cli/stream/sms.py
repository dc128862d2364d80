"""The text example that comes with the package: messages to learn from, and the last ones to test on."""

import gzip
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

SHARE = 0.7  # of the messages, in the order of the file, to learn from
EPOCHS = 5
NAME = "SMS Spam Collection (T. A. Almeida, J. M. Gómez Hidalgo; CC BY 4.0)"


class Parts(NamedTuple):
    """Two files of text, and how many messages each has."""

    train: Path
    test: Path
    n_train: int
    n_test: int


@contextmanager
def sms() -> Iterator[Parts]:
    """The first messages and the last, each as a file that goes away in the end."""
    from perceptrons import data

    packed = Path(data.__file__).parent / "examples" / "sms-spam.tsv.gz"
    lines = gzip.decompress(packed.read_bytes()).splitlines(keepends=True)
    n = round(SHARE * len(lines))
    with tempfile.TemporaryDirectory(prefix="perceptrons-") as folder:
        parts = Parts(Path(folder) / "first.tsv", Path(folder) / "last.tsv", n, len(lines) - n)
        parts.train.write_bytes(b"".join(lines[:n]))
        parts.test.write_bytes(b"".join(lines[n:]))
        yield parts
