"""The perceptron for sequences of labels (spec 8): tries all labellings, keeps every w, takes the mean for the average.

A labelling y of tokens x_1..x_n has f(x, y), one flat vector: how often each label met each feature, followed each
label, came first, came last. Labels have names here; `classes` lists them, and ties go by their places in it.
"""

from dataclasses import dataclass
from itertools import pairwise, product

import numpy as np


def size(n_labels, n_features):
    """The length of a flat vector: emissions (K, d), transitions (K, K), start (K,), stop (K,), one after the other."""
    return n_labels * n_features + n_labels * n_labels + 2 * n_labels


def split(w, n_labels, n_features):
    """A flat vector as (coef, transitions, start, stop)."""
    coef, transitions, start, stop = np.split(w, np.cumsum([n_labels * n_features, n_labels * n_labels, n_labels]))
    return coef.reshape(n_labels, n_features), transitions.reshape(n_labels, n_labels), start, stop


def flat(coef, transitions, start, stop):
    """The opposite of `split`."""
    return np.concatenate([np.ravel(part) for part in (coef, transitions, start, stop)])


def features(x, y, n_labels, *, transitions=True, start_stop=True):
    """f(x, y), flat. x: array (n, d), one row a token; y: n numbers of labels."""
    f = np.zeros(size(n_labels, x.shape[1]))
    of_label, of_pair, of_first, of_last = split(f, n_labels, x.shape[1])  # views
    for row, label in zip(x, y, strict=True):
        of_label[label] += row
    if transitions:
        for label, following in pairwise(y):
            of_pair[label, following] += 1
    if start_stop and len(y):
        of_first[y[0]] += 1
        of_last[y[-1]] += 1
    return f


def permitted(names, allowed):
    """May this labelling, given by the names of its labels, stand?

    allowed : None; "bio"; "bioes"; or a dict {label: labels that may follow it}; its key None: labels that may be first
    """
    names = list(names)
    if allowed is None or not names:
        return True
    if isinstance(allowed, dict):
        if None in allowed and names[0] not in allowed[None]:
            return False
        return all(b in allowed[a] for a, b in pairwise(names) if a in allowed)
    goes_on = {"bio": ("I-",), "bioes": ("I-", "E-")}[allowed]
    for t, name in enumerate(names):
        before = names[t - 1] if t > 0 else ""
        after = names[t + 1] if t + 1 < len(names) else ""
        if name.startswith(goes_on) and before not in ("B-" + name[2:], "I-" + name[2:]):
            return False
        if allowed == "bioes" and name.startswith(("B-", "I-")) and after not in ("I-" + name[2:], "E-" + name[2:]):
            return False
    return True


def labellings(n, classes, allowed=None):
    """All permitted labellings of n tokens, as tuples of label numbers, in dictionary order."""
    every = product(range(len(classes)), repeat=n)
    return [y for y in every if permitted([classes[k] for k in y], allowed)]


def demand(y, other, margin, hamming):
    """D(y'): by how much the truth y must lead y'."""
    if tuple(y) == tuple(other):
        return 0.0
    return margin + (sum(a != b for a, b in zip(y, other, strict=True)) if hamming else 0)


class Candidates:
    """All labellings of one sequence, with their feature vectors as rows of F."""

    def __init__(self, x, classes, allowed=None, **parts):
        self.y = labellings(len(x), classes, allowed)
        self.F = np.array([features(x, y, len(classes), **parts) for y in self.y])

    def best(self, w, D=0.0):
        """The place of the highest w·f + D; of equal ones the first."""
        return int(np.argmax(self.F @ w + D))


def best_path(x, w, classes, allowed=None, *, truth=None, margin=0.0, hamming=False, **parts):
    """The labelling of highest w·f(x, y), plus D where the truth is given, and that sum. Label names in and out."""
    all_of_it = Candidates(x, classes, allowed, **parts)
    D = np.zeros(len(all_of_it.y))
    if truth is not None:
        truth = [classes.index(name) for name in truth]
        D = np.array([demand(truth, y, margin, hamming) for y in all_of_it.y])
    k = all_of_it.best(w, D)
    return [classes[code] for code in all_of_it.y[k]], float(all_of_it.F[k] @ w + D[k])


def long_path(x, w, classes, allowed=None, *, truth=None, margin=0.0, hamming=False):
    """As `best_path`, for sequences that have too many labellings to try them all; allowed is None or a dict.

    V[t][k, m] is the best that tokens t.. can add if token t has label k, m saying whether it or one before differs
    from the truth. Token by token the first label that reaches the best is taken: the first in dictionary order.
    """
    n, K = len(x), len(classes)
    coef, transitions, start, stop = split(w, K, x.shape[1])
    truth = [-1] * n if truth is None else [classes.index(name) for name in truth]
    may = np.array([[permitted([a, b], {**(allowed or {}), None: [a]}) for b in classes] for a in classes])
    first = np.array([permitted([a], allowed) for a in classes])
    own = x @ coef.T + hamming * (np.arange(K) != np.reshape(truth, (-1, 1)))
    V = np.zeros((n, K, 2))
    for t in reversed(range(n)):
        for k, m in product(range(K), range(2)):
            if t == n - 1:
                V[t, k, m] = own[t, k] + stop[k] + m * margin
            else:
                differs = [int(m or b != truth[t + 1]) for b in range(K)]
                after = np.where(may[k], transitions[k] + V[t + 1, range(K), differs], -np.inf)
                V[t, k, m] = own[t, k] + after.max()
    y, m, score = [], 0, 0.0
    for t in range(n):
        differs = [int(m or k != truth[t]) for k in range(K)]
        before = np.where(first, start, -np.inf) if t == 0 else np.where(may[y[-1]], transitions[y[-1]], -np.inf)
        reached = before + V[t, range(K), differs]
        score = reached.max() if t == 0 else score
        y.append(int(np.argmax(reached)))
        m = differs[y[-1]]
    return [classes[k] for k in y], float(score)


def max_marginals(x, w, classes, allowed=None, **parts):
    """(n, K): the score of the best permitted labelling that gives token t label k; -inf where there is none."""
    all_of_it = Candidates(x, classes, allowed, **parts)
    best = np.full((len(x), len(classes)), -np.inf)
    for y, score in zip(all_of_it.y, all_of_it.F @ w, strict=True):
        for t, k in enumerate(y):
            best[t, k] = max(best[t, k], score)
    return best


def lead(x, w, classes, allowed=None, **parts):
    """How far the best permitted labelling leads the second best one; infinity if there is only one."""
    scores = np.sort(Candidates(x, classes, allowed, **parts).F @ w)
    return float(scores[-1] - scores[-2]) if len(scores) > 1 else np.inf


@dataclass
class Run:
    """What training leaves behind.

    Attributes
    ----------
    classes, n_features : names of the labels, columns of x.
    w : the last weights, flat; `split` takes them apart.
    path : the weights after every example, empty ones counted.
    mistakes, updates, losses, examples, norms : lists, a number per epoch.
    closest : the least difference between two scores that a decision was made by. Where all that two labellings do
        not share weighs 0, there was nothing to round, and they are left out.
    """

    classes: list
    n_features: int
    w: np.ndarray
    path: list
    mistakes: list
    updates: list
    losses: list
    examples: list
    norms: list
    closest: float = np.inf

    @property
    def average(self):
        return np.mean(self.path, axis=0) if self.path else self.w

    def parts(self, combine):
        return split(self.w if combine == "last" else self.average, len(self.classes), self.n_features)

    def widened(self, classes, n_features, places):
        """The same run for more labels and features, whose weights were 0 all along; places: new columns of the old."""
        rows, d = [classes.index(name) for name in self.classes], n_features

        def wide(w):
            coef, transitions, start, stop = split(w, len(self.classes), self.n_features)
            new = np.zeros(size(len(classes), d))
            new_coef, new_transitions, new_start, new_stop = split(new, len(classes), d)
            new_coef[np.ix_(rows, places)] = coef
            new_transitions[np.ix_(rows, rows)] = transitions
            new_start[rows], new_stop[rows] = start, stop
            return new

        counts = self.mistakes, self.updates, self.losses, self.examples, self.norms
        return Run(classes, d, wide(self.w), [wide(w) for w in self.path], *counts, self.closest)


def beginning(classes, n_features):
    """A run that has seen nothing."""
    return Run(list(classes), n_features, np.zeros(size(len(classes), n_features)), [], [], [], [], [], [])


def train(
    X, Y, orders, run, *, step="constant", eta=1.0, C=1.0, margin=None, hamming=False, allowed=None, stop=False, **parts
):
    """Learn from sequences.   y_hat = argmax_y' w·f(x, y') + D(y');   if y_hat != y:  w += tau (f(x, y) - f(x, y_hat))

    Parameters
    ----------
    X : list of arrays (n_i, d), one row a token; n_i may be 0.
    Y : list of lists of label names.
    orders : iterable of index sequences, one per epoch.
    run : `beginning`, or a run to go on from; changed, and returned.
    step : "constant": tau = eta. "pa1": if loss > 0, tau = min(C, loss / |f(x, y) - f(x, y_hat)|^2).
        loss = w·f(x, y_hat) + D(y_hat) - w·f(x, y)
    margin, hamming : D(y') = margin + (the number of tokens where y' differs, if hamming), for y' != y. margin None: 0
        for "constant", 1 for "pa1".
    allowed : see `permitted`.
    stop : if True, an epoch without an update is the last one (spec 5a).
    parts : transitions=, start_stop=: False leaves those features out.
    """
    margin = {"constant": 0.0, "pa1": 1.0}[step] if margin is None else margin
    kept = {}
    for order in orders:
        mistakes = updates = examples = 0
        losses = 0.0
        for i in order:
            y = tuple(run.classes.index(name) for name in Y[i])
            if i not in kept:
                candidates = Candidates(X[i], run.classes, allowed, **parts)
                D = np.array([demand(y, other, margin, hamming) for other in candidates.y])
                kept[i] = candidates, D, candidates.y.index(y)
            candidates, D, truth = kept[i]
            guess, plain = candidates.best(run.w, D), candidates.best(run.w)
            run.closest = min(run.closest, gap(candidates.F, run.w, D, guess), gap(candidates.F, run.w, 0 * D, plain))
            mistakes += plain != truth
            change = candidates.F[truth] - candidates.F[guess]
            loss = float(D[guess] - change @ run.w)
            if guess != truth and (step == "constant" or loss > 0):
                losses += loss
                if step == "constant" or change.any():  # a step as long as the loss needs goes nowhere otherwise
                    tau = eta if step == "constant" else min(C, loss / (change @ change))
                    run.w = run.w + tau * change
                    updates += 1
            run.path.append(run.w)
            examples += 1
        run.mistakes.append(mistakes)
        run.updates.append(updates)
        run.losses.append(losses)
        run.examples.append(examples)
        run.norms.append(float(np.sqrt(run.w @ run.w)))
        if stop and mistakes == updates == 0:
            break
    return run


def gap(F, w, D, best):
    """By how much the best leads the next; those that it leads by sums of zeros are not asked."""
    touched = (D[best] != D) | ((F[best] != F) & (w != 0)).any(axis=1)
    s = F @ w + D
    return np.min(s[best] - s[touched], initial=np.inf)


def attributes(token):
    """What a token says, as pairs (attribute, value): a list of strings, or a dict."""
    if not isinstance(token, dict):
        return [(name, 1.0) for name in token]
    found = []
    for name, value in token.items():
        if isinstance(value, dict):
            found += [(f"{name}={inner}", number) for inner, number in attributes(value)]
        elif isinstance(value, str):
            found.append((f"{name}={value}", 1.0))
        elif isinstance(value, bool):
            found += [(name, 1.0)] if value else []
        elif isinstance(value, list | tuple | set | frozenset):
            found += [(f"{name}={item}", 1.0) for item in value]
        else:
            found.append((name, float(value)))
    return found


def matrices(sentences, names=None):
    """Arrays (n_i, d) of the tokens' values, and the names of the columns: sorted; or as given, then without others."""
    told = [[attributes(token) for token in sentence] for sentence in sentences]
    if names is None:
        names = sorted({name for sentence in told for token in sentence for name, _ in token})
    X = []
    for sentence in told:
        x = np.zeros((len(sentence), len(names)))
        for row, token in zip(x, sentence, strict=True):
            for name, value in token:
                if name in names:
                    row[names.index(name)] += value
        X.append(x)
    return X, names
