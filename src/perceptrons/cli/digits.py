"""The data of a first run: scikit-learn's handwritten digits, and weights drawn as pictures of them."""

from pathlib import Path
from typing import TYPE_CHECKING

from perceptrons.cli.weights import rows_of

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from perceptrons import Perceptron
    from perceptrons.data import Table

SIDE = 8
SHADES = " ░▒▓█"
DRAWN = (0, 3, 4, 6, 7, 2, 9, 5, 8, 1)  # the digits whose weights look most like them first
GAP = 3


def digits() -> "Table":
    """1,797 pictures of 8 by 8 pixels, and which digit each shows; they come with scikit-learn."""
    from sklearn.datasets import load_digits

    from perceptrons.data import Table

    X, y = load_digits(return_X_y=True)
    names = [f"row {row}, column {column}" for row in range(1, SIDE + 1) for column in range(1, SIDE + 1)]
    return Table(X, y, names, "digit", Path("digits"))


def pictures(model: "Perceptron", console: "Console") -> "Text | None":
    """The weights of some classes as pictures, side by side; None where there are no shades, or no weights a class."""
    import numpy as np
    from rich.text import Text

    rows = rows_of(model)
    if console.options.ascii_only or rows[0].thing != "class":
        return None
    shown = sorted(DRAWN[: max(1, (console.width + GAP) // (2 * SIDE + GAP))])
    text = Text((" " * GAP).join(f"{k:<{2 * SIDE}}" for k in shown).rstrip(), style="dim")
    weights = np.array([row.weights for row in rows]).reshape(-1, SIDE, SIDE)
    strength = weights / np.maximum(np.abs(weights).max(axis=(1, 2), keepdims=True), 1e-300)
    for row in range(SIDE):
        text.append("\n")
        for k in shown:
            for share in strength[k, row]:
                mark = SHADES[int(np.ceil(4 * share))] if share > 0.1 else "·" if share < -0.1 else " "
                text.append(mark * 2, style="green" if share > 0 else "red")
            text.append(" " * GAP * (k != shown[-1]))
    return text
