"""How good probabilities are: log loss, Brier score, calibration error, and the reliability curve behind it."""

import numpy as np

BINS = 10  # of equal width


class Reliability:
    """Probabilities against what was true, counted as they come, in constant memory.

    The curve is that of the second of two classes; of more classes, that of the most probable one.
    """

    def __init__(self) -> None:
        self.n = 0
        self._loss = self._squares = 0.0
        self.counts, self._sums, self._true = (np.zeros(BINS) for _ in range(3))

    def add(self, codes: np.ndarray, probabilities: np.ndarray) -> None:
        """codes: the number of each example's class. probabilities: (n, classes)."""
        n, n_classes = probabilities.shape
        own = probabilities[np.arange(n), codes]
        self.n += n
        self._loss -= float(np.log(np.clip(own, np.finfo(np.float64).eps, 1.0)).sum())
        off = probabilities.copy()
        off[np.arange(n), codes] -= 1
        self._squares += float((off * off).sum() / (2 if n_classes == 2 else 1))
        if n_classes == 2:
            told, true = probabilities[:, 1], codes == 1
        else:
            said = probabilities.argmax(axis=1)
            told, true = probabilities[np.arange(n), said], said == codes
        places = np.minimum((told * BINS).astype(np.intp), BINS - 1)
        self.counts += np.bincount(places, minlength=BINS)
        self._sums += np.bincount(places, told, minlength=BINS)
        self._true += np.bincount(places, true, minlength=BINS)

    @property
    def log_loss(self) -> float | None:
        """The mean of -log of the probability of the true class, as scikit-learn's `log_loss`."""
        return self._loss / self.n if self.n else None

    @property
    def brier_score(self) -> float | None:
        """The mean squared error: of the second of two classes, or summed over all, as scikit-learn's."""
        return self._squares / self.n if self.n else None

    @property
    def calibration_error(self) -> float | None:
        """The expected calibration error: how far the probabilities in a bin are from the share that was true."""
        return float(np.abs(self._sums - self._true).sum() / self.n) if self.n else None

    def curve(self) -> list[tuple[float, float, int]]:
        """Of every bin that is not empty: the mean probability, the share that was true, and how many examples."""
        return [
            (float(total / n), float(true / n), int(n))
            for total, true, n in zip(self._sums, self._true, self.counts, strict=True)
            if n
        ]
