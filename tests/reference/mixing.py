"""Learning on shards, mixed after every epoch (McDonald, Hall and Mann 2010), keeping every weight vector.

The passes over a shard are those of `large.py`, `wrappers.py` and `sequence.py`. Everything here goes by explicit
orders: `orders[n][i]` says in which order shard i visits its own examples, numbered from 0, in epoch n.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from . import sequence
from .large import train_binary, train_joint
from .wrappers import one_vs_one, one_vs_rest, several_labels


class Pass(NamedTuple):
    """What one pass over a shard came to; problems that are learned on their own have an entry each.

    ends: the weights at the end. paths: lists of (weights, share), one after every visit.
    """

    ends: list
    paths: list
    mistakes: int
    updates: int
    loss: float


@dataclass
class Mixed:
    """What training leaves behind.

    Attributes
    ----------
    starts : list of arrays, one a problem: W_0.
    mixes : list, an epoch each, of such lists: W_n.
    averages : likewise: A_n, the mean over `paths` as it was then, each entry counted by its share.
    paths : list, one a problem, of (weights, share) after every visit, epoch by epoch and shard by shard.
    mu, mistakes, updates, losses : lists, an epoch each, of lists, a shard each.
    """

    starts: list
    paths: list
    mixes: list = field(default_factory=list)
    averages: list = field(default_factory=list)
    mu: list = field(default_factory=list)
    mistakes: list = field(default_factory=list)
    updates: list = field(default_factory=list)
    losses: list = field(default_factory=list)

    @property
    def last(self):
        """All problems, one below the other."""
        return np.concatenate(self.mixes[-1] if self.mixes else self.starts)

    @property
    def average(self):
        return np.concatenate(self.averages[-1] if self.averages else self.starts)

    @property
    def weighted_updates(self):
        """What the theorem bounds: the sum over epochs and shards of mu k."""
        return sum(m * k for mu, updates in zip(self.mu, self.updates, strict=True) for m, k in zip(mu, updates))  # noqa: B905

    @property
    def epochs_with_updates(self):
        return sum(any(updates) for updates in self.updates)


def shares_of(updates, mixing):
    """mu: how much every shard counts; by its updates, or all alike."""
    if mixing == "mistakes" and sum(updates) > 0:
        return [k / sum(updates) for k in updates]
    if mixing in ("mistakes", "uniform"):
        return [1 / len(updates)] * len(updates)
    raise ValueError(f"mixing={mixing!r}")


def mean_of(path, start):
    """The mean of the weights on the path, each counted by its share; the start if there are none."""
    if not path:
        return start
    return np.average([w for w, _ in path], axis=0, weights=[share for _, share in path])


def mix(learn, starts, orders, mixing="mistakes", stop=True):
    """Every epoch all shards learn from W, and W becomes the sum of mu_i W_i.

    Parameters
    ----------
    learn : function (i, weights, order) -> Pass: what shard i learns in one pass from these weights (a list, an array
        a problem), in this order.
    starts : list of arrays, one a problem.
    orders : list, an epoch each, of lists, a shard each, of index sequences.
    mixing : "mistakes" or "uniform".
    stop : if True, an epoch without a mistake or update on any shard is the last one.

    Returns
    -------
    Mixed
    """
    W = [np.array(start, dtype=float) for start in starts]
    mixed = Mixed(W, [[] for _ in W])
    for order in orders:
        passes = [learn(i, W, own) for i, own in enumerate(order)]
        mu = shares_of([each.updates for each in passes], mixing)
        W = [
            sum(m * np.asarray(each.ends[p], float) for m, each in zip(mu, passes, strict=True)) for p in range(len(W))
        ]
        for p, path in enumerate(mixed.paths):
            path += [visit for each in passes for visit in each.paths[p]]
        mixed.mixes.append(W)
        mixed.averages.append([mean_of(path, start) for path, start in zip(mixed.paths, starts, strict=True)])
        mixed.mu.append(mu)
        mixed.mistakes.append([each.mistakes for each in passes])
        mixed.updates.append([each.updates for each in passes])
        mixed.losses.append([each.loss for each in passes])
        if stop and not any(mixed.mistakes[-1]) and not any(mixed.updates[-1]):
            break
    return mixed


def rows(w, b):
    """Weights and bias side by side: (1, d + 1), or (K, d + 1) for several classes at once."""
    return np.column_stack([np.atleast_2d(w), np.atleast_1d(b)])


def linear(shards, orders, n_classes, *, scheme="joint", mixing="mistakes", start=None, stop=True, **options):
    """Mix perceptrons; every problem has `rows`.

    Parameters
    ----------
    shards : list of (X, y, weights), one a shard; y has class numbers 0..K-1, or for "labels" an indicator (n, L);
        weights may be None.
    n_classes : K, or L.
    scheme : "joint", which for two classes is the rule with one row; "ovr", "ovo"; "labels": one problem a label.
    start : list of `rows`, a problem each; zeros unless given.
    options : of `large.train_binary` or `large.train_joint`; eta, margin, cost, penalty, alpha, ...

    Returns
    -------
    Mixed
    """
    width = shards[0][0].shape[1] + 1
    joint = scheme == "joint" and n_classes > 2
    problems = {"joint": 1, "labels": n_classes, "ovr": 1 if n_classes == 2 else n_classes}
    problems |= {"ovo": n_classes * (n_classes - 1) // 2}
    if start is None:
        start = [np.zeros((n_classes if joint else 1, width)) for _ in range(problems[scheme])]

    def learn(i, W, order):
        X, y, weights = shards[i]
        given = {"weights": weights, **options}
        if joint:
            runs = [train_joint(X, y, [order], n_classes, theta=W[0][:, :-1], b=W[0][:, -1], **given)]
        elif scheme == "joint":
            signs = 2 * np.asarray(y) - 1
            runs = [train_binary(X, signs, [order], w=W[0][0, :-1], b=W[0][0, -1], **given)]
        else:
            given |= {"w": [M[0, :-1] for M in W], "b": [M[0, -1] for M in W]}
            if scheme == "labels":
                runs = several_labels(X, y, [order], **given).runs
            else:
                runs = {"ovr": one_vs_rest, "ovo": one_vs_one}[scheme](X, y, [order], n_classes, **given).runs
        paths = [[(rows(w, b), share) for w, b, share in run.path] for run in runs]
        counts = (sum(getattr(run, name)[0] for run in runs) for name in ("mistakes", "updates", "losses"))
        return Pass([rows(run.w, run.b) for run in runs], paths, *counts)

    return mix(learn, start, orders, mixing, stop)


def chains(shards, orders, classes, n_features, *, mixing="mistakes", stop=True, **options):
    """Mix perceptrons for sequences.

    Parameters
    ----------
    shards : list of (X, Y), one a shard: X a list of arrays (n_i, d), Y a list of lists of label names.
    classes, n_features : as in `sequence.beginning`.
    options : of `sequence.train`.

    Returns
    -------
    run : `sequence.Run`: the last mix, the path over all shards, and the sums of their counts, epoch by epoch
    mixed : Mixed
    """
    closest = []

    def learn(i, W, order):
        run = sequence.beginning(classes, n_features)
        run.w = W[0]
        run = sequence.train(*shards[i], [order], run, **options)
        closest.append(run.closest)
        return Pass([run.w], [[(w, 1.0) for w in run.path]], run.mistakes[0], run.updates[0], run.losses[0])

    mixed = mix(learn, [sequence.beginning(classes, n_features).w], orders, mixing, stop)
    counts = [[sum(shard) for shard in told] for told in (mixed.mistakes, mixed.updates, mixed.losses)]
    examples = [sum(len(own) for own in order) for order in orders[: len(mixed.mixes)]]
    norms = [float(np.sqrt(W @ W)) for (W,) in mixed.mixes]
    path = [w for w, _ in mixed.paths[0]]
    run = sequence.Run(list(classes), n_features, mixed.last, path, *counts, examples, norms, min(closest))
    return run, mixed
