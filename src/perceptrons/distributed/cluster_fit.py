"""`fit`: iterative parameter mixing over the shards of a Dask cluster."""

import copy
import json
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import nullcontext
from functools import reduce
from numbers import Integral
from typing import Any

import numpy as np

from perceptrons.distributed import rows, sequences
from perceptrons.distributed.clients import (
    MAX_ATTEMPTS,
    check_installed,
    cluster_errors,
    connected,
    is_near,
)
from perceptrons.distributed.mixing import (
    PassNumber,
    PassReport,
    RandomState,
    add_changes,
    apply_scale,
    common_weights,
    learn_part,
    mix,
    mixing_weights,
    view,
)
from perceptrons.distributed.mixing_theorem import bound_of_run
from perceptrons.distributed.shards import PreparedModel, Shards
from perceptrons.engine.streaming.resuming import MIXINGS, Mixing, check_mixed_place
from perceptrons.engine.training.base import has_learned, learner_of, set_learner, unchanged_on_error
from perceptrons.engine.training.epochs import FINAL_STOP_REASONS, Counts, Outcome, Trainee, new_row
from perceptrons.engine.training.interrupts import Uninterrupted
from perceptrons.engine.training.weights import Weights
from perceptrons.linear import Perceptron
from perceptrons.modelfile.checkpoint import Checkpoint
from perceptrons.sequence import SequencePerceptron
from perceptrons.sequence.estimator import check_choices
from perceptrons.sequence.phrases import PhraseCounts

MAX_SUMMANDS = 8  # changes that one task adds up; more shards make a tree of tasks
CHECKS: dict[type, Any] = {Perceptron: rows.check_parameters, SequencePerceptron: check_choices}
PREPARE: dict[type, Any] = {Perceptron: rows.prepare, SequencePerceptron: sequences.prepare}

Watch = Callable[[dict[str, Any]], None]


def fit(
    estimator: Any, X: Any, y: Any = None, client: Any = None, mixing: Mixing = "mistakes", *,
    shards: int | None = None, epochs: int | None = None, sample_weight: Any = None, classes: Any = None,
    lengths: Any = None, checkpoint: Any = None, watch: Any = None, **reading: Any,
) -> Any:  # fmt: skip
    """Train on a Dask cluster: in every epoch, each shard makes a pass from the common weights; the results are mixed.

    When to use it: data that are on a cluster, or too many for one machine or one core. When not: data that one core
    passes over in a second or two; averaged weights then come cheaper from `fit`. docs/scaling.md says what it costs.

    Parameters
    ----------
    estimator : Perceptron or SequencePerceptron
        Any but combine="vote" or "pocket" and step="arow". Its max_iter, tol, early_stopping and max_seconds count as
        in `fit`; each shard holds out examples of its own, and they are scored where they are.
    X, y : dask arrays; dask dataframe and series; local arrays; or X file names, which the workers read
        Partitions and files stay where they are; local arrays are dealt to the shards at random. For a
        SequencePerceptron: a dask bag of (tokens, labels), files of tokens in columns, or X and y as in its `fit`.
    client : distributed.Client, optional
        Of any cluster. None: the current one, otherwise a local cluster which ends with the call.
    mixing : {"mistakes", "uniform"}, default="mistakes"
        Shards count by the updates they made in the epoch, which keeps the bound on the number of epochs that one
        machine has; or all the same.
    shards : int, optional
        The result depends on it, on the seed and on nothing else of the cluster. None: as many as the cluster has
        threads, at most as many as there are partitions or files. A shard of several partitions takes one after
        another, and need not fit in memory.
    epochs : int, optional
        Make at most this many epochs, and ignore `max_iter` and `tol`; as in `fit_stream`.
    sample_weight, classes, lengths : as in `fit`, `fit_stream` and `SequencePerceptron.fit`
    checkpoint : perceptrons.Checkpoint, optional
        Where the mixed weights are saved now and then, and when the scheduler is lost; a later run, also on another
        cluster, resumes from there.
    watch : function, optional
        Is called several times a second with a dict: epoch, shards, done (shards that have ended their pass), seconds;
        at the end of an epoch also examples, mistakes and updates, one number per shard; if bad records of files
        were skipped, also skipped (how many) and complaints (some of them); if columns of tables were left out,
        notices.
    **reading
        For files: as `perceptrons.data.stream` takes them; for files of tokens: label, the number of the label's column
        (-1, the last), and as `perceptrons.data.conll.read_conll` takes them.

    Returns
    -------
    estimator
        Fitted. Rows of `history_` also have a dict "shards": examples, mistakes, updates, seconds and weights (the
        shares in the mix), each a list with one number per shard. `mixing_bound_` has the theorem's bound on the epochs
        beside those made, if the run converged and the theorem covers it, else None. `n_shards_`, `mixing_`.

    Raises
    ------
    ClusterError
        The scheduler or data on workers were lost, or there was no worker for 600 seconds. The estimator has the last
        mixed weights.

    Warns
    -----
    ClusterWarning
        The cluster has no workers: at once, every 10 seconds while `fit` waits for one, and when it resumes.

    Examples
    --------
    >>> import distributed, numpy as np, perceptrons
    >>> from perceptrons.distributed import fit
    >>> X, y = np.array([[0.0, 1.0], [1.0, 3.0], [2.0, 1.0], [3.0, 2.0]]), ["up", "up", "down", "down"]
    >>> with distributed.Client(processes=False, n_workers=2, dashboard_address="127.0.0.1:0") as client:
    ...     model = fit(perceptrons.Perceptron(), X, y, client, shards=2)
    >>> model.stop_reason_, model.score(X, y), [len(row["shards"]["mistakes"]) for row in model.history_][:2]
    ('converged', 1.0, [2, 2])
    """
    if mixing not in MIXINGS:
        raise ValueError(f"mixing={mixing!r}: choose 'mistakes' or 'uniform'.")
    if epochs is not None and (not isinstance(epochs, Integral) or isinstance(epochs, bool) or epochs < 1):
        raise ValueError(f"epochs={epochs!r}: give a whole number of at least 1, or None.")
    if checkpoint is not None and not isinstance(checkpoint, Checkpoint):
        raise TypeError(f"checkpoint={checkpoint!r}: give a perceptrons.Checkpoint(path).")
    if watch is not None and not callable(watch):
        raise TypeError(f"watch={watch!r}: give a function that takes a dict.")
    if type(estimator) not in CHECKS:
        raise TypeError(
            f"Only a Perceptron or a SequencePerceptron can be trained on a cluster, not {type(estimator).__name__}: "
            "the weights of other models cannot be averaged."
        )
    if checkpoint is not None and estimator.early_stopping:
        raise ValueError(
            "early_stopping cannot be combined with a checkpoint, which does not hold the best epoch: "
            "leave one of them out."
        )
    CHECKS[type(estimator)](estimator)
    with connected(client) as client, cluster_errors():
        check_installed(client)
        with nullcontext() if checkpoint is None else checkpoint.alone():
            with unchanged_on_error(estimator):
                place = None if checkpoint is None else _resumed_place(checkpoint, estimator)
                is_warm = place is not None or (estimator.warm_start and has_learned(estimator))
                if not is_warm:
                    estimator._forget()
                if place is not None and shards is None:
                    shards = place["shards"]
                data, prepared = PREPARE[type(estimator)](
                    client, estimator, X, y, shards, is_warm=is_warm, sample_weight=sample_weight, classes=classes,
                    lengths=lengths, reading=reading,
                )  # fmt: skip
                with data.forgotten_on_error():
                    if place is not None:
                        _check_same_run(place, len(data), mixing, prepared.fingerprint)
                    data.prepare(prepared.setup, prepared.mappings)
            try:
                MixedFit(estimator, data, prepared, place, mixing, epochs, checkpoint, watch).run()
            finally:
                data.forget()
    if epochs is None:
        estimator._warn_unless_finished()
    return estimator


def _resumed_place(checkpoint: Checkpoint, estimator: Any) -> dict[str, Any] | None:
    """Restore the model of the run to resume, and return where it stopped; None if there is nothing to resume."""
    place = checkpoint.begin(estimator)
    if place is not None:
        if "orders" not in place:
            what = "this is a checkpoint of a run on one machine: resume it there, or start again"
            raise ValueError(f"{place['path']}: {what}.")
        check_mixed_place(place)
    return place


def _check_same_run(place: dict[str, Any], shards: int, mixing: str, fingerprint: Any) -> None:
    """Raise ValueError if a checkpoint was made with other options, or other data."""
    path = place["path"]
    for name, now in (("shards", shards), ("mixing", mixing)):
        if place[name] != now:
            raise ValueError(
                f"{path}: this run was started with {name}={place[name]!r}, but it is now {now!r}: use the same "
                "value, or start again."
            )
    if place.get("about") != json.loads(json.dumps(fingerprint)):
        raise ValueError(f"{path}: this run was started with other data: give the same data, or start again.")


class MixedFit(Trainee):
    """The model on this machine and its shards on the workers, as the loop in `training/epochs.py` trains them.

    place: where the run that this one resumes stopped, as its checkpoint has it.
    """

    def __init__(
        self, estimator: Any, data: Shards, prepared: PreparedModel, place: dict[str, Any] | None, mixing: Mixing,
        epochs: int | None, checkpoint: Checkpoint | None, watch: Watch | None,
    ):  # fmt: skip
        self.estimator, self.data, self.prepared, self.client = estimator, data, prepared, data.client
        self.mixing, self.epochs, self.checkpoint, self.watch = mixing, epochs, checkpoint, watch
        self.learner, self.outcome = learner_of(estimator), Outcome()
        self.earlier = [] if place is None else [dict(row) for row in estimator.history_]  # of the resumed run
        self.is_over = place is not None and place["done"]
        self.is_lone = len(data) == 1  # one shard, whose pass is that of one machine
        learner = self.learner
        self.random_states: list[RandomState] = [learner.rng.bit_generator.state] + [
            np.random.default_rng([learner.seed, shard, learner.epochs]).bit_generator.state
            for shard in range(1, len(data))
        ]
        if place is not None and place["orders"]:
            self.random_states = place["orders"]
        if not self.is_lone:
            apply_scale(learner.weights)
        self._passes: list[Any] = []  # futures
        self._sums: list[Any] = []  # futures of the changes that this machine adds up

    # ---- the run

    def run(self) -> None:
        """Train until a stopping rule applies, and describe the run in the attributes of the estimator."""
        model = self.estimator
        epochs_left = int(self.epochs or model.max_iter) - len(self.earlier)
        plan = model._plan()._replace(max_iter=max(1, epochs_left))
        plan = plan if self.epochs is None else plan._replace(tol=None)
        if not (self.is_over and (model.stop_reason_ in FINAL_STOP_REASONS or epochs_left < 1)):
            holds_out = bool(model.early_stopping)
            try:
                model._run(self, self.data.n, None, holds_out, plan=plan, orders=False, outcome=self.outcome)
            finally:
                with Uninterrupted():
                    self._end()
        self._describe_run()
        if isinstance(model, Perceptron):  # the theorem does not cover sequences, which have very many rivals
            model.mixing_bound_ = bound_of_run(model, self.data, self.prepared.has_weights)

    def _end(self) -> None:
        """Release the workers, record the history, and save the last checkpoint."""
        model, reason = self.estimator, self.outcome.stop_reason
        for future in self._sums:
            future.release()
        self._passes, self._sums = [], []
        history = self.earlier + self.outcome.history
        model._tell(Outcome(history, reason, self.outcome.returned_to))
        self._describe_run()
        if hasattr(model, "source_") and history:  # as after fit_stream
            model.progress_ = [(history[0]["examples"], history[0]["mistakes"])]
        if self.checkpoint is not None and history:
            self._save(self.outcome, is_done=reason in (*FINAL_STOP_REASONS, "max_iter", "tol"), is_counted=True)

    def _describe_run(self) -> None:
        model = self.estimator
        model.n_shards_, model.mixing_, model.mixing_bound_ = len(self.data), self.mixing, None

    # ---- an epoch

    def begin_epoch(self, epoch: int) -> None:
        self._epoch = epoch

    def visit(self, order: np.ndarray) -> Iterator[Counts]:
        """Make one pass over every shard, then mix. Meanwhile, empty counts let Ctrl-C and time limits work."""
        history = self.outcome.history
        if self.checkpoint is not None and len(history) > 1 and self.checkpoint.due():
            self._save(Outcome(history[:-1]), is_done=False)
        began = time.perf_counter()
        for attempts_left in reversed(range(MAX_ATTEMPTS)):
            try:
                self._submit()
                submitted = time.perf_counter()
                for results in self.data.workers.gathering(self._sums, direct=is_near(self.client)):
                    if results is None:
                        n_finished = sum(future.status == "finished" for future in self._passes)
                        self._notify(n_finished, time.perf_counter() - submitted)
                        yield Counts()
                break
            except CancelledError as error:
                self.data.restore(error, attempts_left)
        self._sums = []
        reports = self._take(results)
        self.random_states = [report.random_state for report in reports]
        self.learner.rng.bit_generator.state = self.random_states[0]
        counts = ("examples", "mistakes", "updates")
        history[-1]["shards"] = {
            **{name: [getattr(report.counts, name) for report in reports] for name in counts},
            "seconds": [report.seconds for report in reports],
            "weights": mixing_weights(reports, self.mixing == "uniform"),
        }
        seconds = time.perf_counter() - began
        yield reduce(Counts.plus, [report.counts for report in reports])
        self._notify(len(self.data), seconds)

    def _submit(self) -> None:
        """Submit the passes over all shards, and the sums of their changes if there are many.

        A shard has a task per block, which starts from the end of the one before. All first blocks are one message to
        the scheduler, then all second ones.
        """
        weights = self.learner.weights
        start: Any = weights if self.is_lone else common_weights(weights)
        size = sum(part.nbytes for part in view(weights)[1:5]) if self.is_lone else start.nbytes
        start = self.data.workers.send(start, size, len(self.data))
        number = PassNumber(self._epoch, is_first=len(self.earlier) + len(self.outcome.history) == 1)
        ordered, passes = [], list[Any]()
        for parts, state in zip(self.data.parts, self.random_states, strict=True):
            if self.prepared.setup.shuffle and not number.is_first and len(parts) > 1:
                rng = np.random.default_rng()
                rng.bit_generator.state = state
                parts, state = [parts[k] for k in rng.permutation(len(parts))], rng.bit_generator.state
            ordered.append(parts)
            passes.append(state)
        for k in range(max(map(len, ordered))):
            shards = [shard for shard, parts in enumerate(ordered) if len(parts) > k]
            own = ((ordered[shard][k], passes[shard], len(ordered[shard]) == k + 1) for shard in shards)
            same = ([value] * len(shards) for value in (number, start, self.mixing == "uniform"))
            tasks = self.client.map(learn_part, *zip(*own, strict=True), *same, pure=False)
            for shard, task in zip(shards, tasks, strict=True):
                passes[shard] = task
        self._passes = passes
        while len(passes) > MAX_SUMMANDS:
            groups = [passes[i : i + MAX_SUMMANDS] for i in range(0, len(passes), MAX_SUMMANDS)]
            passes = self.client.map(add_changes, groups, pure=False)
        self._sums = passes

    def _take(self, results: list[Any]) -> Sequence[PassReport]:
        """Make the results the common weights, and return the reports of all shards."""
        weights = self.learner.weights
        with Uninterrupted():
            if self.is_lone:
                if isinstance(weights, Weights):  # in place: the average of an epoch ago knows these arrays
                    for name, array in results[0].weights.arrays.items():
                        np.copyto(weights.arrays[name], array)
                else:
                    weights.restore(results[0].weights.snapshot())
                reports = [results[0].report]
            else:
                change = add_changes(results)
                mix(weights, change)
                reports = list(change.reports)
            self.learner.changed()
        return reports

    # ---- questions of the loop

    def accuracy(self) -> float:
        return self.judge(new_row(0))

    def judge(self, row: dict[str, Any]) -> float:
        """Return the early-stopping score on the held-out examples, computed on the workers, and add it to `row`."""
        from dask.utils import M

        weights = copy.deepcopy(self.learner.weights)
        w, rest = self.learner.predicting(self.estimator.combine)
        if isinstance(weights, Weights):
            now = view(weights)
            now.w[:], now.rest[:] = w.T, rest
            weights.arrays["state"]["scale"] = 1.0
        else:
            weights.w, weights.arcs = w, rest
        scores = [part for part in self.data.ask(M.accuracy, common_weights(weights)) if part[1]]
        mean = sum(fraction * n for fraction, n, *_ in scores) / sum(n for _, n, *_ in scores)
        row["validation_accuracy"] = scores[0][0] if len(scores) == 1 else mean
        if len(scores[0]) == 2:
            return row["validation_accuracy"]
        row["validation_phrase_f1"] = PhraseCounts(*[int(sum(column)) for column in zip(*scores, strict=True)][2:]).f1
        return row["validation_phrase_f1"]

    def change(self) -> float:
        return self.prepared.fit.change()

    def norm(self) -> float:
        return float(self.learner.weights.norm())

    def settled(self, row: dict[str, Any]) -> str:
        from dask.utils import M

        reason = self.prepared.fit.settled(row)
        if reason == "converged" and getattr(self.estimator, "zero_score", None) == "correct":
            return "stuck" if any(self.data.ask(M.has_mistakes, common_weights(self.learner.weights))) else reason
        return reason

    # ---- messages and checkpoints

    def _notify(self, n_finished: int, seconds: float) -> None:
        if self.watch is not None:
            row = self.outcome.history[-1]
            shards = row.get("shards", {})
            counts = {name: shards[name] for name in ("examples", "mistakes", "updates") if name in shards}
            state = {"epoch": row["epoch"], "shards": len(self.data), "done": n_finished, "seconds": seconds}
            self.watch(state | counts | self.prepared.messages)

    def _save(self, outcome: Outcome, is_done: bool, is_counted: bool = False) -> None:
        """Write a checkpoint of the model as it is after these epochs. is_counted: its counters include them."""
        assert self.checkpoint is not None
        model = copy.copy(self.estimator)
        set_learner(model, copy.copy(self.learner))
        if not is_counted:
            learner_of(model).trained(outcome)
        model._tell(Outcome(self.earlier + outcome.history, outcome.stop_reason, outcome.returned_to))
        self.checkpoint.write(model, {
            "shards": len(self.data), "mixing": self.mixing, "orders": self.random_states, "done": is_done,
            "about": json.loads(json.dumps(self.prepared.fingerprint)),
        })  # fmt: skip
