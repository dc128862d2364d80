"""Built-in example data: scikit-learn's handwritten digits, and text messages that come with the package."""

from pathlib import Path

import numpy as np

from perceptrons.data.splitting import Split
from perceptrons.data.table import Table

DIGITS = "Handwritten digits of 8 by 8 pixels (from scikit-learn)"
SIDE = 8  # pixels
SMS = Path(__file__).parent / "examples" / "sms-spam.tsv.gz"
SMS_NAME = "SMS Spam Collection (T. A. Almeida, J. M. Gómez Hidalgo; CC BY 4.0)"
SMS_SHARE = 0.7  # of the messages, in the order of the file, to learn from


def digits() -> Table:
    """1,797 pictures of 8 by 8 pixels, and which digit each shows; they come with scikit-learn."""
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    names = [f"row {row}, column {column}" for row in range(1, SIDE + 1) for column in range(1, SIDE + 1)]
    return Table(X, y, names, "digit", Path("digits"))


def split_messages(table: Table) -> Split:
    """Return the first messages are for training, the last for the test."""
    total = table.X.shape[0]
    n = round(SMS_SHARE * total)
    description = f"The first {n:,} messages for training, the last {total - n:,} for testing"
    return Split(table.part(np.arange(n)), table.part(np.arange(n, total)), description)
