"""Holm's correction: p-values of several comparisons at once, each made so much larger that no luck is sold."""

from collections.abc import Sequence


def holm(p_values: Sequence[float]) -> list[float]:
    """The p-values corrected for being several (Holm 1979): below 0.05, all of them are wrong in 5% of cases at most.

    The smallest is multiplied by their number, the next by one less, and so on; none ends below one that was smaller.

    When to use it: one learner against several others. When not: a single comparison, planned before the data came.

    Examples
    --------
    >>> from perceptrons.selection import holm
    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    n, corrected, largest = len(p_values), [0.0] * len(p_values), 0.0
    for rank, place in enumerate(sorted(range(n), key=lambda place: p_values[place])):
        largest = max(largest, min(1.0, (n - rank) * p_values[place]))
        corrected[place] = largest
    return corrected
