"""`fit`: iterative parameter mixing over the shards of a Dask cluster."""

import json
from contextlib import nullcontext
from numbers import Integral
from typing import Any

from perceptrons.distributed import linear_shards, sequence_shards
from perceptrons.distributed.clients import check_installed, cluster_errors, connected
from perceptrons.distributed.linear_shards import Begun
from perceptrons.distributed.mixed_fit import MixedFit, Watch
from perceptrons.distributed.mixing_theorem import bound_of_run
from perceptrons.distributed.shards import Shards
from perceptrons.engine.streaming.resuming import MIXINGS, Mixing, check_mixed_place
from perceptrons.engine.training.base import has_learned
from perceptrons.engine.training.epochs import AT_REST, Outcome
from perceptrons.engine.training.interrupts import Uninterrupted
from perceptrons.engine.training.unchanged import unchanged_on_error
from perceptrons.linear import Perceptron
from perceptrons.modelfile.checkpoint import Checkpoint
from perceptrons.sequence import SequencePerceptron

KINDS: dict[type, Any] = {Perceptron: linear_shards, SequencePerceptron: sequence_shards}


def fit(
    estimator: Any, X: Any, y: Any = None, client: Any = None, mixing: Mixing = "mistakes", *,
    shards: int | None = None, epochs: int | None = None, sample_weight: Any = None, classes: Any = None,
    lengths: Any = None, checkpoint: Any = None, watch: Any = None, **reading: Any,
) -> Any:  # fmt: skip
    """Train on a Dask cluster: every epoch each shard makes a pass from the common weights, and the results are mixed.

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
    kind = _kind(estimator)
    if checkpoint is not None and estimator.early_stopping:
        raise ValueError(
            "early_stopping cannot be combined with a checkpoint, which does not hold the best epoch: "
            "leave one of them out."
        )
    kind.check(estimator)
    with connected(client) as client, cluster_errors():
        check_installed(client)
        Run(estimator, kind, client, mixing, None if epochs is None else int(epochs), checkpoint, watch).run(
            X, y, shards, sample_weight=sample_weight, classes=classes, lengths=lengths, reading=reading
        )
    if epochs is None:
        estimator._warn_unless_finished()
    return estimator


def _kind(estimator: Any) -> Any:
    """The module that begins a model of this class."""
    if type(estimator) in KINDS:
        return KINDS[type(estimator)]
    raise TypeError(
        f"Only a Perceptron or a SequencePerceptron can be trained on a cluster, not {type(estimator).__name__}: the "
        "weights of other models cannot be averaged."
    )


class Run:
    """One call of `fit`."""

    def __init__(
        self, estimator: Any, kind: Any, client: Any, mixing: str, epochs: int | None, checkpoint: Checkpoint | None,
        watch: Watch | None,
    ) -> None:  # fmt: skip
        self.estimator, self.kind, self.client, self.mixing = estimator, kind, client, mixing
        self.epochs, self.checkpoint, self.watch = epochs, checkpoint, watch
        self.outcome = Outcome()

    def run(self, X: Any, y: Any, shards: int | None, **more: Any) -> None:
        with nullcontext() if self.checkpoint is None else self.checkpoint.alone():
            self._run(X, y, shards, **more)

    def _run(self, X: Any, y: Any, shards: int | None, **more: Any) -> None:
        model = self.estimator
        with unchanged_on_error(model):
            place = None if self.checkpoint is None else self.checkpoint.begin(model)
            warm = place is not None or (model.warm_start and has_learned(model))
            if not warm:
                model._forget()
            if place is not None:
                if "orders" not in place:
                    what = "this is a checkpoint of a run on one machine: resume it there, or start again"
                    raise ValueError(f"{place['path']}: {what}.")
                check_mixed_place(place)
                shards = place["shards"] if shards is None else shards
            data, begun = self.kind.begun(self.client, model, X, y, shards, warm=warm, **more)
            try:
                before: dict[str, Any] = {"history": [], "orders": None}
                if place is not None:
                    before = self._go_on(place, len(data), begun.about)
                data.prepare(begun.common, begun.mappings)
            except BaseException:
                data.forget()
                raise
        try:
            self._train(data, begun, place, before)
        finally:
            data.forget()

    def _train(self, data: Shards, begun: Begun, place: dict[str, Any] | None, before: dict[str, Any]) -> None:
        model = self.estimator
        mixed = MixedFit(model, data, begun, self.mixing, self.outcome, before, self.checkpoint, self.watch)
        plan = model._plan()._replace(max_iter=max(1, self._rest(len(before["history"]))))
        plan = plan if self.epochs is None else plan._replace(tol=None)
        over = place is not None and place["done"]
        if over and (model.stop_reason_ in AT_REST or self._rest(len(before["history"])) < 1):
            self._describe(len(data))
        else:
            try:
                model._run(mixed, data.n, None, bool(begun.held_out), plan=plan, orders=False, outcome=self.outcome)
            finally:
                with Uninterrupted():
                    self._end(mixed)
        if isinstance(model, Perceptron):  # the theorem is about examples, of which a sequence has very many rivals
            model.mixing_bound_ = bound_of_run(model, data, begun.weighted)

    def _describe(self, shards: int) -> None:
        self.estimator.n_shards_, self.estimator.mixing_, self.estimator.mixing_bound_ = shards, self.mixing, None

    def _rest(self, done: int) -> int:
        return int(self.epochs or self.estimator.max_iter) - done

    def _go_on(self, place: dict[str, Any], shards: int, about: Any) -> dict[str, Any]:
        path = place["path"]
        for name, now in (("shards", shards), ("mixing", self.mixing)):
            if place[name] != now:
                raise ValueError(
                    f"{path}: this run was started with {name}={place[name]!r}, but it is now {now!r}: use the same "
                    "value, or start again."
                )
        if place.get("about") != json.loads(json.dumps(about)):
            raise ValueError(f"{path}: this run was started with other data: give the same data, or start again.")
        return {"history": [dict(row) for row in self.estimator.history_], "orders": place["orders"]}

    def _end(self, mixed: MixedFit) -> None:
        model, reason = self.estimator, self.outcome.stop_reason
        mixed.give_up()
        history = mixed.earlier + self.outcome.history
        model._tell(Outcome(history, reason, self.outcome.returned_to))
        self._describe(len(mixed.data))
        if hasattr(model, "source_") and history:  # as after fit_stream
            model.progress_ = [(history[0]["examples"], history[0]["mistakes"])]
        if self.checkpoint is not None and history:
            mixed.save(self.outcome, done=reason in (*AT_REST, "max_iter", "tol"), ended=True)
