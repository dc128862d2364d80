"""The quality of probabilities: log loss, Brier score, calibration error, and the reliability curve."""

import numpy as np

BINS = 10  # of equal width


class Reliability:
    """Compares probabilities with the true classes as they come, in constant memory.

    The curve is that of the second of two classes; of more classes, that of the most probable one.
    """

    def __init__(self) -> None:
        self.n = 0
        self._loss = self._squares = 0.0
        self.counts, self._sums, self._true = (np.zeros(BINS) for _ in range(3))

    def add(self, codes: np.ndarray, probabilities: np.ndarray) -> None:
        """Add examples. codes: the class number of each example. probabilities: (n, n_classes)."""
        n, n_classes = probabilities.shape
        of_truth = probabilities[np.arange(n), codes]
        self.n += n
        self._loss -= float(np.log(np.clip(of_truth, np.finfo(np.float64).eps, 1.0)).sum())
        errors = probabilities.copy()
        errors[np.arange(n), codes] -= 1
        self._squares += float((errors * errors).sum() / (2 if n_classes == 2 else 1))
        if n_classes == 2:
            probability, is_true = probabilities[:, 1], codes == 1
        else:
            predicted = probabilities.argmax(axis=1)
            probability, is_true = probabilities[np.arange(n), predicted], predicted == codes
        bins = np.minimum((probability * BINS).astype(np.intp), BINS - 1)
        self.counts += np.bincount(bins, minlength=BINS)
        self._sums += np.bincount(bins, probability, minlength=BINS)
        self._true += np.bincount(bins, is_true, minlength=BINS)

    @property
    def log_loss(self) -> float | None:
        """Return the mean of -log of the probability of the true class, as scikit-learn's `log_loss` does."""
        return self._loss / self.n if self.n else None

    @property
    def brier_score(self) -> float | None:
        """Return the mean squared error, as scikit-learn does: of the second of two classes, or summed over all."""
        return self._squares / self.n if self.n else None

    @property
    def calibration_error(self) -> float | None:
        """Return the expected calibration error: the mean distance of probabilities from the share that was true."""
        return float(np.abs(self._sums - self._true).sum() / self.n) if self.n else None

    def curve(self) -> list[tuple[float, float, int]]:
        """Return for each non-empty bin the mean probability, the share that was true, and the number of examples."""
        return [
            (float(total / n), float(true / n), int(n))
            for total, true, n in zip(self._sums, self._true, self.counts, strict=True)
            if n
        ]
