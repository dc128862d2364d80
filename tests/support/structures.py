"""Models of small output spaces for tests: everything is searched by trying it."""

from itertools import pairwise, product

import numpy as np
import scipy.sparse as sp


class Chain:
    """Tags of tokens, each a row of d numbers: weights of (tag, number), and of (tag, next tag). form: of features."""

    def __init__(self, n_tags, d, form="pair"):
        self.n_tags, self.d, self.form = n_tags, d, form
        self.size = n_tags * d + n_tags**2

    def outputs(self, x):
        return list(product(range(self.n_tags), repeat=len(x)))

    def features(self, x, y):
        indices = [k * self.d + j for k in y for j in range(self.d)]
        indices += [self.n_tags * self.d + a * self.n_tags + b for a, b in pairwise(y)]
        values = [*np.ravel(x).tolist(), *[1.0] * (len(y) - 1)]
        if self.form == "pair":
            return indices, np.array(values)
        row = sp.coo_matrix((values, ([0] * len(indices), indices)), shape=(1, self.size))
        if self.form == "row":
            return row  # with entries that stand twice
        summed = row.tocsr()
        summed.sum_duplicates()
        if self.form == "flat":
            return sp.coo_array(summed.toarray()[0])
        return dict(zip(summed.indices.tolist(), summed.data.tolist(), strict=True))

    def loss(self, y, y_hat):
        return sum(a != b for a, b in zip(y, y_hat, strict=True))

    def decode(self, x, w, cost_with=None):
        def value(y):
            indices, values = Chain.features(Chain(self.n_tags, self.d), x, y)
            return w[indices] @ values + (0 if cost_with is None else self.loss(cost_with, y))

        return max(self.outputs(x), key=value)

    def problem(self):
        """As the reference takes it."""

        def f(x, y):
            dense = np.zeros(self.size)
            np.add.at(dense, *Chain.features(Chain(self.n_tags, self.d), x, y))
            return dense

        return self.outputs, f, self.loss


class Classes:
    """One of k classes of a row of d numbers; the first of equal ones."""

    def __init__(self, k, d):
        self.k, self.d, self.size = k, d, k * d

    def decode(self, x, w, cost_with=None):
        scores = w.reshape(self.k, self.d) @ x
        return int(np.argmax(scores if cost_with is None else scores + (np.arange(self.k) != cost_with)))

    def features(self, x, y):
        return np.arange(y * self.d, (y + 1) * self.d), x

    def loss(self, y, y_hat):
        return int(y != y_hat)


class Growing:
    """Classes of bags of words; a pair of class and word is numbered when it is first learned from."""

    def __init__(self, classes):
        self.classes, self.numbers = classes, {}

    @property
    def size(self):
        return len(self.numbers)

    def decode(self, x, w, cost_with=None):
        def score(y):
            known = [self.numbers[y, word] for word in x if (y, word) in self.numbers]
            return sum(w[i] for i in known if i < len(w)) + (cost_with is not None and y != cost_with)

        return max(self.classes, key=score)

    def features(self, x, y):
        return [self.numbers.setdefault((y, word), len(self.numbers)) for word in x], np.ones(len(x))

    def loss(self, y, y_hat):
        return float(y != y_hat)


def tagged(rng, n, n_tags, d, *, whole):
    """Sequences of 1 to 4 rows of numbers, and tags that a noisy rule gives."""
    X = [
        rng.integers(-2, 3, (rng.integers(1, 5), d)) if whole else rng.standard_normal((rng.integers(1, 5), d))
        for _ in range(n)
    ]
    rule = rng.standard_normal((d, n_tags))
    return X, [tuple(np.argmax(x @ rule + rng.standard_normal((len(x), n_tags)), axis=1).tolist()) for x in X]
