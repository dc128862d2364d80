"""`fit_stream`: epochs over blocks that are read while it learns, with a cache, progress and checkpoints."""

import json
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing, nullcontext
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np

from perceptrons.engine.passes.order import shuffled
from perceptrons.engine.streaming.blocks import TrainingBlock, blocks_of, held_out_rows
from perceptrons.engine.streaming.cache import ArrayFile, Cache, refusing_damage
from perceptrons.engine.streaming.resuming import CheckpointWriter, StreamPosition, check_place, difference
from perceptrons.engine.streaming.threads import prefetched
from perceptrons.engine.training.base import restore_attributes
from perceptrons.engine.training.calibration import calibrate_held_out
from perceptrons.engine.training.epochs import FINAL_STOP_REASONS, Counts, Outcome, pieces
from perceptrons.engine.training.interrupts import Uninterrupted, interruptible
from perceptrons.engine.training.learner import LinearLearner, LinearTrainee
from perceptrons.engine.training.matrices import widened
from perceptrons.engine.training.memory import MOST_SCORES
from perceptrons.engine.training.one_pass import PIECE_OPERATIONS, at_rest, piece_size
from perceptrons.engine.training.parameters import method_of

Watch = Callable[[dict[str, Any]], None]


def fit_stream(
    model: Any, reader: Iterable[Any], epochs: Any, classes: Any, cache: Any, checkpoint: CheckpointWriter | None,
    watch: Watch | None,
) -> None:  # fmt: skip
    """`Perceptron.fit_stream`, where the parameters are described."""
    n_epochs = model.max_iter if epochs is None else epochs
    if not isinstance(n_epochs, Integral) or isinstance(n_epochs, bool) or n_epochs < 1:
        values = f"epochs={epochs!r}, max_iter={model.max_iter!r}" if epochs is None else f"epochs={epochs!r}"
        raise ValueError(f"{values}: give a whole number of at least 1, or None for `max_iter` and `tol`.")
    if model.early_stopping and checkpoint is not None:
        raise ValueError("early_stopping cannot be combined with a checkpoint: leave one of them out.")
    if model.probability is not None and checkpoint is not None:
        raise ValueError(
            "probability cannot be combined with a checkpoint, which does not hold the held-out examples. Calibrate "
            "afterwards, with perceptrons.selection.calibrate."
        )
    if checkpoint is not None and not hasattr(checkpoint, "begin"):
        raise TypeError(f"checkpoint={checkpoint!r}: give a perceptrons.Checkpoint(path).")
    with nullcontext() if checkpoint is None else checkpoint.alone():
        StreamFit(model, reader, None if epochs is None else int(epochs), classes, cache, checkpoint, watch).run()


class StreamFit(LinearTrainee):
    """One call of `fit_stream`, as the loop in `epochs.py` trains it."""

    def __init__(
        self, model: Any, reader: Iterable[Any], epochs: int | None, classes: Any, cache: Any,
        checkpoint: CheckpointWriter | None, watch: Watch | None,
    ):  # fmt: skip
        self.model, self.reader, self.classes, self.checkpoint, self.watch = model, reader, classes, checkpoint, watch
        self.uses_tol = epochs is None
        self.max_epochs = int(model.max_iter if epochs is None else epochs)
        self.position = StreamPosition()
        self.about = json.loads(json.dumps(reader.fingerprint())) if hasattr(reader, "fingerprint") else None
        self.needs_cache = self.max_epochs > 1 and cache is not False
        self.cache_path = Path(cache) if cache not in (None, False) else None
        if self.cache_path is not None and self.about is None:
            raise ValueError("Only files can be cached: read them with perceptrons.data.stream.")
        self.cache: Cache | None = None
        self.held_out: Cache | None = None  # rows for early stopping, from the first epoch
        self.was_read = False  # has the reader read its files in this run?
        self.is_within_block = self.resumes_epoch = False
        self.is_complete = False  # was all of the epoch learned?
        self.outcome = Outcome()

    @property
    def learner(self) -> LinearLearner:  # type: ignore[override]  # it begins with the first block
        learner: LinearLearner = self.model._learner
        return learner

    @property
    def row(self) -> dict[str, Any]:
        return self.outcome.history[-1]

    # ---- the run

    def run(self) -> None:
        """Train from the beginning, or from the checkpoint. If nothing was learned, the model stays as it was."""
        before = dict(vars(self.model))
        place = None if self.checkpoint is None else self.checkpoint.begin(self.model)
        try:
            if place is None and not self.model.warm_start:
                self.model._forget()
            if place is None or not self._resume(place):
                self._open_cache()
                self._train()
        except BaseException:
            if not self.outcome.history:  # nothing was learned: the model is what it was
                restore_attributes(self.model, before)
            raise
        finally:
            with Uninterrupted():
                self._end()

    def _train(self) -> None:
        """Run the remaining epochs, and calibrate the scores if that is asked for."""
        plan = self.model._plan()
        n_complete = self.position.epoch - self.resumes_epoch
        plan = plan._replace(max_iter=self.max_epochs - n_complete, tol=plan.tol if self.uses_tol else None)
        self.model._run(
            self, None, None, bool(self.model.early_stopping), plan=plan, orders=False, outcome=self.outcome,
            resumed=self.resumes_epoch,
        )  # fmt: skip
        for row in self.outcome.history:  # learned, but an earlier epoch was better
            if row["epoch"] > self.outcome.returned_to:
                self.learner.mistakes -= row["mistakes"]
                self.learner.updates -= row["updates"]
        if self.model.probability is not None:
            self._calibrate()

    def _end(self) -> None:
        """Close the files, complete the attributes of the model, and write the last checkpoint."""
        for cache in (self.cache, self.held_out):
            if cache is not None:
                cache.file.close()
        if not self.outcome.history:
            return
        self.learner.changed()
        self._describe()
        if self.checkpoint is not None and self.outcome.stop_reason != "failed" and not self.is_within_block:
            self.position.is_done = self.outcome.stop_reason in (*FINAL_STOP_REASONS, "max_iter", "tol")
            self.checkpoint.write(self.model, self._saved_place())

    # ---- an epoch

    def visit(self, order: np.ndarray) -> Iterator[Counts]:
        """Learn from the blocks of one epoch, or from the rest of them. The stream has an order of its own."""
        if not self.resumes_epoch:
            position = self.position
            position.epoch, position.n_blocks, position.order = position.epoch + 1, 0, None
            position.has_mistakes = False
        self.resumes_epoch = self.is_complete = False
        self.began = time.perf_counter() - self.row["seconds"]
        with closing(self._blocks()) as blocks:
            while True:
                with interruptible():
                    block = next(blocks, None)
                if block is None:
                    break
                yield from self._learn(block)
                self._notify(Counts(), mark=False)
                if self.checkpoint is not None and self.checkpoint.due():
                    self._write()
        self.is_complete = True

    def _learn(self, block: TrainingBlock) -> Iterator[Counts]:
        """Learn from a block. Yield counts at its end, and earlier only for very large blocks."""
        position, row, is_first = self.position, self.row, self.position.epoch == 1
        X = block.X if is_first else widened(block.X, self.learner.n_features)
        kind = "checked" if block.is_checked else "new"
        examples, method = self.model._meet_block(X, block.target, self.classes, block.weight, kind)
        learner, self.is_within_block = self.learner, True
        are_new = is_first and learner.epochs > 0  # a fitted model learns from new examples, as by partial_fit
        method = method.in_epoch(learner.epochs + (not are_new))
        rows = self._rows_to_learn(block, len(examples.y))
        order = shuffled(len(rows), learner.rng) if self.model.shuffle else np.arange(len(rows))
        order = order if len(rows) == len(examples.y) else rows[order]
        size = piece_size(examples, learner.weights, PIECE_OPERATIONS, method.batch)
        parts = pieces(order, size)
        if is_first and method.batch > 0:
            parts = _cut_at_marks(parts, row["examples"], method.batch)
        uncounted = Counts()  # examples that the row does not count yet
        for part, counts in learner.learning_block(examples, method, parts, are_new=are_new):
            uncounted = uncounted.plus(counts)
            has_updates = row["updates"] + uncounted.updates > 0
            if method.zero_score == "correct" and not (has_updates or position.has_mistakes):
                n_mistakes = learner.weighted_mistakes(examples, part, "last", method.zero_score)
                position.has_mistakes = n_mistakes > 0
            n_examples = row["examples"] + uncounted.examples
            if is_first and n_examples.bit_length() > (n_examples - len(part)).bit_length():
                position.marks.append((n_examples, row["mistakes"] + uncounted.mistakes))
                self._notify(uncounted, mark=True)
            if uncounted.examples >= size and len(order) > size:
                yield uncounted
                uncounted = Counts()
        position.n_blocks += 1
        self.is_within_block = False
        yield uncounted

    def _rows_to_learn(self, block: TrainingBlock, n: int) -> np.ndarray:
        """Return all rows of a block except held-out ones, which the first epoch stores."""
        if not self.model.early_stopping and self.model.probability is None:
            return np.arange(n)
        is_held_out = held_out_rows(block.X, block.target, self.model.validation_fraction, self.learner.seed)
        if self.position.epoch == 1 and is_held_out.any():
            if self.held_out is None:
                self.held_out = Cache(ArrayFile.create(None))
            self.held_out.append(block.part(is_held_out))
        return np.flatnonzero(~is_held_out)

    def end_epoch(self) -> None:
        if not self.row["examples"]:
            hint = ": it can be read only once, so several epochs need a cache" * (self.position.epoch > 1)
            raise ValueError(f"There are no examples in the stream{hint}.")
        learner = self.learner
        if len(learner.classes) == 1 and learner.form == "single":
            only = learner.classes.tolist()[0]
            raise ValueError(f"The stream has only one class, {only!r}: a classifier needs at least two.")
        learner.epochs += self.is_complete
        learner.changed()

    def accuracy(self) -> float:
        """Return the accuracy on the held-out rows."""
        if self.held_out is None:
            raise ValueError("No examples are held out: give more, or use early_stopping=False and probability=None.")
        n_wrong = total = 0.0
        learner = self.learner
        for block in self.held_out.reading(np.arange(self.held_out.n_blocks)):
            weight, _ = block.target.weights(block.weight, self.model.class_weight, stream=True)
            weight = np.ones(len(block.target.codes)) if weight is None else weight
            total += weight.sum()
            is_known = np.isin(block.target.classes, learner.classes)[block.target.codes]  # was the label learned?
            n_wrong += weight[~is_known].sum()
            if block.target.several or is_known.any():
                rows = np.arange(len(is_known)) if block.target.several else np.flatnonzero(is_known)
                part = block.part(rows)
                X = widened(part.X, learner.n_features)
                examples, method = self.model._meet_block(X, part.target.used(), None, part.weight, "checked")
                n_wrong += learner.weighted_mistakes(
                    examples, np.arange(len(rows)), self.model.combine, method.zero_score
                )
        return 1.0 - n_wrong / total

    def _calibrate(self) -> None:
        """Calibrate the scores to probabilities on the held-out rows, with at most about MOST_SCORES scores."""
        if self.held_out is None:
            raise ValueError("No examples are held out for calibration: give more, or use probability=None.")
        model, learner, size, parts = self.model, self.learner, 0, list[Any]()
        for block in self.held_out.reading(np.arange(self.held_out.n_blocks)):
            X = widened(block.X, learner.n_features).astype(learner.dtype, copy=False)
            scores = learner.scores(X, model.combine, model.zero_score)
            weight = np.ones(len(scores)) if block.weight is None else np.asarray(block.weight, np.float64)
            parts.append((scores, block.target.among(learner.classes).truth, weight))
            if (size := size + scores.size) >= MOST_SCORES:
                break
        calibrate_held_out(model, *(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))

    def settled(self, row: dict[str, Any]) -> str:
        method = method_of(self.model, self.learner.spread, self.learner.classes, stream=True)
        return at_rest(row, method, lambda: self.position.has_mistakes)

    def change(self) -> float:
        """Return by how much the average changed; not before the first epoch ends, as features and classes come."""
        if self.position.epoch < 1 + self.resumes_epoch:
            return np.inf
        change = super().change()
        assert self.average is not None
        if self.resumes_epoch and self.position.average is not None:
            self.average.means = self.position.average  # that of the end of the last epoch, not the present one
        elif self.checkpoint is not None:
            self.position.average = self.average.means
        return change

    # ---- where blocks come from

    def _blocks(self) -> Generator[TrainingBlock, None, None]:
        position = self.position
        if position.epoch == 1 or self.cache is None:
            if self.cache is not None and self.cache.n_blocks:
                return self.cache.reading(np.arange(position.n_blocks, self.cache.n_blocks))  # kept from another run
            return self._first_reading(n_skipped=position.n_blocks)
        n = self.cache.n_blocks
        if position.order is None:
            position.order = (self.learner.rng.permutation(n) if self.model.shuffle else np.arange(n)).tolist()
        order = np.array(position.order, np.intp)
        if len(order) != n:
            raise ValueError(f"The stream has {n} blocks, but {len(order)} were learned before the checkpoint.")
        return self.cache.reading(order[position.n_blocks :])

    def _first_reading(self, n_skipped: int) -> Generator[TrainingBlock, None, None]:
        """Yield the reader's blocks except those learned before a checkpoint. All of them go into the cache."""
        self.was_read = True
        blocks = blocks_of(self.reader, self.learner.form if hasattr(self.model, "_learner") else "")
        if self.cache is not None:
            blocks = self.cache.writing(blocks)
            if self.about is not None:  # another source may put the next block where the last one is
                blocks = prefetched(blocks)
        number = 0
        with closing(blocks):
            for number, block in enumerate(blocks, 1):
                if number > n_skipped:
                    yield block
        if number < n_skipped:
            raise ValueError(f"The stream has {number} blocks, but {n_skipped} were learned before the checkpoint.")
        if self.cache is not None and self.cache_path is not None:
            self.cache.keep(self.about, *self.reader.learned_state())  # type: ignore[attr-defined]

    def _open_cache(self) -> None:
        """Open the cache if several epochs need one: a kept one, or a new one."""
        if not self.needs_cache:
            return
        reopened = None if self.cache_path is None else Cache.reopen(self.cache_path, self.about)
        if reopened is not None:
            self.cache, learned, arrays = reopened
            with refusing_damage(self.cache.file.name):
                self.reader.restore(learned, arrays)  # type: ignore[attr-defined]
            n, columns = self.reader.n_features, self.reader.columns  # type: ignore[attr-defined]
            self.cache.widths = range(n if columns is not None and columns.bits else 0, n + 1)
            self.was_read = True
            return
        self.cache = Cache(ArrayFile.create(self.cache_path))
        if self.position.epoch > 1 or (self.position.epoch == 1 and not self.resumes_epoch):
            for _ in self._first_reading(n_skipped=0):
                pass

    # ---- checkpoints and messages

    def _resume(self, place: dict[str, Any]) -> bool:
        """Continue from the place where an earlier run stopped. Return whether there is nothing left to do."""
        if "blocks" not in place:
            raise ValueError(
                f"{place['path']}: this is a checkpoint of a run on a cluster: resume it there, or start again."
            )
        if place.get("about") != self.about:
            try:
                reason = difference(place.get("about"), self.about)
            except (LookupError, TypeError, ValueError, AttributeError):
                reason = "does not record the files of the run"
            raise ValueError(f"{place['path']}: {reason}: give the same data and options, or start again.")
        self.outcome.history = [dict(row) for row in self.model.history_]
        check_place(place, self.outcome.history)
        self.position = StreamPosition.from_dict(place)
        self.resumes_epoch = bool(place["blocks"]) and not place.get("complete", place["done"])
        if self.resumes_epoch:
            self.row["seconds"] = self.row["seconds"] or 0.0
        is_over = self.model.stop_reason_ in (*FINAL_STOP_REASONS, "tol") or self.position.epoch >= self.max_epochs
        if self.position.is_done and is_over:
            self.outcome.stop_reason = self.model.stop_reason_
        return self.position.is_done and is_over

    def _write(self) -> None:
        """Write a checkpoint in the middle of training."""
        assert self.checkpoint is not None
        self._describe()
        self.model.stop_reason_ = None
        self.checkpoint.write(self.model, self._saved_place())

    def _saved_place(self) -> dict[str, Any]:
        return self.position.to_dict() | {"about": self.about, "complete": self.is_complete}

    def _notify(self, uncounted: Counts, mark: bool) -> None:
        """Call `watch`. uncounted: of examples that the row does not count yet."""
        if self.watch is not None:
            self.learner.changed()  # within a block too: `watch` may look at the weights
            row = self.row
            counts = {name: row[name] + getattr(uncounted, name) for name in ("examples", "mistakes", "updates")}
            state = {"epoch": row["epoch"], **counts, "seconds": time.perf_counter() - self.began}
            self.watch(state | {"blocks": self.position.n_blocks, "decisions": self.learner.decisions, "mark": mark})

    def _describe(self) -> None:
        """Set the attributes of the model that describe its training."""
        model = self.model
        model._tell(self.outcome)
        model.progress_ = list(self.position.marks)
        first = self.outcome.history[0]
        if model.progress_[-1:] != [(first["examples"], first["mistakes"])]:
            model.progress_.append((first["examples"], first["mistakes"]))
        model.n_features_in_ = model._learner.n_features
        if self.about is not None and self.was_read:
            model.source_, model.columns_ = self.reader.recipe(), self.reader.columns  # type: ignore[attr-defined]


def _cut_at_marks(parts: Iterable[np.ndarray], n_examples: int, batch: int) -> Iterator[np.ndarray]:
    """Yield the parts, cut after 1, 2, 4, 8, ... examples, or at the end of the batch that holds such a mark.

    n_examples: before the first part.
    """
    for part in parts:
        begin = 0
        while begin < len(part):
            mark = 1 << (n_examples + begin).bit_length()
            end = min(len(part), -(-(mark - n_examples) // batch) * batch)
            yield part[begin:end]
            begin = end
        n_examples += len(part)
