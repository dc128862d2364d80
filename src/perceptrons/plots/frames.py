"""The frames of a film: the model after every update, or after some of them, and what made the update."""

from typing import NamedTuple

import numpy as np

from perceptrons.plots.updates import Updates


class Frame(NamedTuple):
    """The model after some updates."""

    update: int
    mistakes: int  # made until then
    w: np.ndarray  # (rows, 2)
    b: np.ndarray  # (rows,)
    example: np.ndarray | None  # the example that made the last update, (2,)
    true: int  # its class; -1 at the start
    predicted: int  # and the answer before the update

    def text(self, updates: int, names: list[str]) -> str:
        """What happened, on one line."""
        if self.example is None:
            return f"start, before any of the {updates:,} updates"
        what = (
            f"{names[self.true]} was taken for {names[self.predicted]}"
            if self.true != self.predicted
            else f"{names[self.true]} was right, but too close"
        )
        return f"update {self.update:,} of {updates:,}: {what}"


def frames_of(updates: Updates, positive_at_zero: bool, most: int) -> list[Frame]:
    """The versions to show; mistakes are counted over all of them, by what each example was answered before it."""
    n = len(updates)
    shown = set(np.unique(np.linspace(0, n, most).round().astype(int)).tolist()) if n >= most else set(range(n + 1))
    frames, mistakes, predicted = [], 0, -1
    before: tuple[np.ndarray, np.ndarray] | None = None
    for version in updates:
        example = None
        if before is not None:
            example = updates.support[version.example].astype(np.float64)
            s = before[0] @ updates.support[version.example] + before[1]
            if len(s) == 1:
                predicted = int(s[0] >= 0) if positive_at_zero else int(s[0] > 0)
                wrong = predicted != version.true or s[0] == 0  # an update at 0: it was counted as a mistake
                predicted = 1 - version.true if wrong else predicted
            else:
                predicted = int(s.argmax())
            mistakes += predicted != version.true
        before = (version.w.copy(), version.b.copy())
        if version.k in shown:
            frames.append(Frame(version.k, int(mistakes), *before, example, version.true, predicted))
    return frames
