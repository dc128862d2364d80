"""`fit_stream`: epochs over blocks that are read while it learns, with a cache, marks of progress and checkpoints."""

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
from perceptrons.engine.streaming.cache import ArrayFile, Cache, sound
from perceptrons.engine.streaming.resuming import Keeper, check_place, difference
from perceptrons.engine.streaming.threads import ahead
from perceptrons.engine.training.base import restore_attributes
from perceptrons.engine.training.calibration import calibrate_held_out
from perceptrons.engine.training.epochs import AT_REST, Counts, Outcome
from perceptrons.engine.training.interrupts import Uninterrupted, interruptible
from perceptrons.engine.training.learner import LinearLearner, LinearTrainee
from perceptrons.engine.training.matrices import widened
from perceptrons.engine.training.memory import MOST_SCORES
from perceptrons.engine.training.one_pass import PIECE, at_rest, piece_size, pieces
from perceptrons.engine.training.parameters import method_of

Watch = Callable[[dict[str, Any]], None]


def fit_stream(
    model: Any, reader: Iterable[Any], epochs: Any, classes: Any, cache: Any, checkpoint: Keeper | None,
    watch: Watch | None,
) -> None:  # fmt: skip
    """`Perceptron.fit_stream`, where the parameters are described."""
    asked = model.max_iter if epochs is None else epochs
    if not isinstance(asked, Integral) or isinstance(asked, bool) or asked < 1:
        told = f"epochs={epochs!r}, max_iter={model.max_iter!r}" if epochs is None else f"epochs={epochs!r}"
        raise ValueError(f"{told}: give a whole number of at least 1, or None for `max_iter` and `tol`.")
    if model.early_stopping and checkpoint is not None:
        raise ValueError("early_stopping cannot be combined with a checkpoint: leave one of them out.")
    if model.probability is not None and checkpoint is not None:
        raise ValueError(
            "probability cannot be combined with a checkpoint, which does not hold the held-out examples. Calibrate "
            "afterwards, with perceptrons.selection.calibrate."
        )
    if checkpoint is not None and not hasattr(checkpoint, "begin"):
        raise TypeError(f"checkpoint={checkpoint!r}: give a perceptrons.Checkpoint(path).")
    StreamFit(model, reader, None if epochs is None else int(epochs), classes, cache, checkpoint, watch).run()


class StreamFit(LinearTrainee):
    """One call of `fit_stream`, as the loop in `epochs.py` trains it.

    place is where the run has come to, which a checkpoint keeps: epoch and blocks, those learned of it; order, of the
    blocks; marks; wrong, was an example answered wrongly by weights that did not change?
    """

    def __init__(
        self,
        model: Any,
        reader: Iterable[Any],
        epochs: int | None,
        classes: Any,
        cache: Any,
        checkpoint: Keeper | None,
        watch: Watch | None,
    ):
        self.model, self.reader, self.epochs, self.classes, self.watch = model, reader, epochs, classes, watch
        self.checkpoint = checkpoint
        self.place: dict[str, Any] = {
            "epoch": 0, "blocks": 0, "order": None, "marks": [], "done": False, "wrong": False, "average": None,
        }  # fmt: skip
        self.about = json.loads(json.dumps(reader.fingerprint())) if hasattr(reader, "fingerprint") else None
        self.cached = self.most > 1 and cache is not False
        self.kept = Path(cache) if cache not in (None, False) else None
        if self.kept is not None and self.about is None:
            raise ValueError("Only files can be cached: read them with perceptrons.data.stream.")
        self.cache: Cache | None = None
        self.held_out: Cache | None = None  # rows for early stopping, met in the first epoch
        self.read = False  # does the reader know its files, or is all that is known in the checkpoint?
        self.within = self.resumed = False  # a block, an epoch that was learned in part
        self.complete = False  # was the epoch learned to its end?
        self.outcome = Outcome()

    @property
    def most(self) -> int:
        """Epochs at most."""
        return int(self.model.max_iter if self.epochs is None else self.epochs)

    @property
    def learner(self) -> LinearLearner:  # type: ignore[override]  # it begins with the first block
        learner: LinearLearner = self.model._learner
        return learner

    @property
    def row(self) -> dict[str, Any]:
        return self.outcome.history[-1]

    # ---- the run

    def run(self) -> None:
        with nullcontext() if self.checkpoint is None else self.checkpoint.alone():
            self._run()

    def _run(self) -> None:
        before = dict(vars(self.model))
        resumed = None if self.checkpoint is None else self.checkpoint.begin(self.model)
        try:
            over = False
            if resumed is not None:
                over = self._go_on(resumed)
            elif not self.model.warm_start:
                self.model._forget()
            if not over:
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
        plan = self.model._plan()
        done = self.place["epoch"] - self.resumed
        plan = plan._replace(max_iter=self.most - done, tol=plan.tol if self.epochs is None else None)
        self.model._run(
            self, None, None, bool(self.model.early_stopping), plan=plan, orders=False, outcome=self.outcome,
            resumed=self.resumed,
        )  # fmt: skip
        for row in self.outcome.history:  # learned, but given up for an earlier epoch
            if row["epoch"] > self.outcome.returned_to:
                self.learner.mistakes -= row["mistakes"]
                self.learner.updates -= row["updates"]
        if self.model.probability is not None:
            self._calibrate()

    def _end(self) -> None:
        for cache in (self.cache, self.held_out):
            if cache is not None:
                cache.file.close()
        if not self.outcome.history:
            return
        self.learner.changed()
        self._describe()
        if self.checkpoint is not None and self.outcome.stop_reason != "failed" and not self.within:
            self.place["done"] = self.outcome.stop_reason in (*AT_REST, "max_iter", "tol")
            self.checkpoint.write(self.model, self._where())

    # ---- an epoch

    def visit(self, order: np.ndarray) -> Iterator[Counts]:
        if not self.resumed:
            self.place |= {"epoch": self.place["epoch"] + 1, "blocks": 0, "order": None, "wrong": False}
        self.resumed = self.complete = False
        self.began = time.perf_counter() - self.row["seconds"]
        with closing(self._blocks()) as blocks:
            while True:
                with interruptible():
                    block = next(blocks, None)
                if block is None:
                    break
                yield from self._learn(block)
                self._tell(Counts(), mark=False)
                if self.checkpoint is not None and self.checkpoint.due():
                    self._write()
        self.complete = True

    def _learn(self, block: TrainingBlock) -> Iterator[Counts]:
        """Learn from a block; counts are given at its end, and before it only of very large ones."""
        place, row, first = self.place, self.row, self.place["epoch"] == 1
        X = block.X if first else widened(block.X, self.learner.n_features)
        kind = "checked" if block.checked else "new"
        examples, method = self.model._meet_block(X, block.target, self.classes, block.weight, kind)
        learner, self.within = self.learner, True
        goes_on = first and learner.epochs > 0  # a fitted model learns from new examples, as by partial_fit
        method = method.in_epoch(learner.epochs + (not goes_on))
        rows = self._rows_to_learn(block, len(examples.y))
        order = shuffled(len(rows), learner.rng) if self.model.shuffle else np.arange(len(rows))
        order = order if len(rows) == len(examples.y) else rows[order]
        size = piece_size(examples, learner.weights, PIECE, method.batch)
        parts = pieces(order, size)
        if first and method.batch > 0:
            parts = _cut_at_marks(parts, row["examples"], method.batch)
        seen = Counts()  # what the row does not have yet
        for part, counts in learner.learning_block(examples, method, parts, are_new=goes_on):
            seen = seen.plus(counts)
            if method.zero_score == "correct" and not row["updates"] + seen.updates:
                place["wrong"] = (
                    place["wrong"] or learner.weighted_mistakes(examples, part, "last", method.zero_score) > 0
                )
            n_seen = row["examples"] + seen.examples
            if first and n_seen.bit_length() > (n_seen - len(part)).bit_length():
                place["marks"].append((n_seen, row["mistakes"] + seen.mistakes))
                self._tell(seen, mark=True)
            if seen.examples >= size and len(order) > size:
                yield seen
                seen = Counts()
        place["blocks"] += 1
        self.within = False
        yield seen

    def _rows_to_learn(self, block: TrainingBlock, n: int) -> np.ndarray:
        """All rows of a block but those that are held out, which are set aside when they are met first."""
        if not self.model.early_stopping and self.model.probability is None:
            return np.arange(n)
        aside = held_out_rows(block.X, block.target, self.model.validation_fraction, self.learner.seed)
        if self.place["epoch"] == 1 and aside.any():
            if self.held_out is None:
                self.held_out = Cache(ArrayFile.create(None))
            self.held_out.append(block.part(aside))
        return np.flatnonzero(~aside)

    def end_epoch(self) -> None:
        if not self.row["examples"]:
            again = ": it can be read only once, so several epochs need a cache" * (self.place["epoch"] > 1)
            raise ValueError(f"There are no examples in the stream{again}.")
        learner = self.learner
        if len(learner.classes) == 1 and learner.form == "single":
            only = learner.classes.tolist()[0]
            raise ValueError(f"The stream has only one class, {only!r}: a classifier needs at least two.")
        learner.epochs += self.complete
        learner.changed()

    def accuracy(self) -> float:
        """Of the rows that were set aside."""
        if self.held_out is None:
            raise ValueError("No examples are held out: give more, or use early_stopping=False and probability=None.")
        wrong = total = 0.0
        learner = self.learner
        for block in self.held_out.reading(np.arange(self.held_out.n_blocks)):
            weight, _ = block.target.weights(block.weight, self.model.class_weight, stream=True)
            weight = np.ones(len(block.target.codes)) if weight is None else weight
            total += weight.sum()
            known = np.isin(block.target.classes, learner.classes)[block.target.codes]  # of others none was learned
            wrong += weight[~known].sum()
            if block.target.several or known.any():
                rows = np.arange(len(known)) if block.target.several else np.flatnonzero(known)
                part = block.part(rows)
                X = widened(part.X, learner.n_features)
                examples, method = self.model._meet_block(X, part.target.used(), None, part.weight, "checked")
                wrong += learner.weighted_mistakes(
                    examples, np.arange(len(rows)), self.model.combine, method.zero_score
                )
        return 1.0 - wrong / total

    def _calibrate(self) -> None:
        """Make probabilities of the scores, by the rows that were set aside; at most MOST_SCORES of them."""
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
        calibrate_held_out(model, *(np.concatenate(one) for one in zip(*parts, strict=True)))

    def settled(self, row: dict[str, Any]) -> str:
        method = method_of(self.model, self.learner, self.learner.classes, stream=True)
        return at_rest(row, method, lambda: self.place["wrong"])

    def change(self) -> float:
        """As elsewhere; but weights move in memory as long as features and classes come, until the first epoch ends."""
        if self.place["epoch"] < 1 + self.resumed:
            return np.inf
        change = super().change()
        assert self.average is not None
        if self.resumed and self.place["average"] is not None:
            self.average.means = self.place["average"]  # of the end of the last epoch, not of now
        elif self.checkpoint is not None:
            self.place["average"] = self.average.means
        return change

    # ---- where blocks come from

    def _blocks(self) -> Generator[TrainingBlock, None, None]:
        place = self.place
        if place["epoch"] == 1 or self.cache is None:
            if self.cache is not None and self.cache.n_blocks:
                return self.cache.reading(np.arange(place["blocks"], self.cache.n_blocks))  # kept from another run
            return self._first_reading(skipped=place["blocks"])
        if place["order"] is None:
            n, rng = self.cache.n_blocks, self.learner.rng
            place["order"] = (rng.permutation(n) if self.model.shuffle else np.arange(n)).tolist()
        order = np.array(place["order"], np.intp)
        if len(order) != self.cache.n_blocks:
            what = f"The stream has {self.cache.n_blocks} blocks, but {len(order)} were learned before the checkpoint."
            raise ValueError(what)
        return self.cache.reading(order[place["blocks"] :])

    def _first_reading(self, skipped: int) -> Generator[TrainingBlock, None, None]:
        """The reader's blocks, but the first ones that were learned before a checkpoint; into the cache go all."""
        self.read = True
        form = self.learner.form if hasattr(self.model, "_learner") else ""
        blocks = blocks_of(self.reader, form)
        if self.cache is not None:
            blocks = self.cache.writing(blocks)
            if self.about is not None:  # of any other source the next block may be made where the last one is
                blocks = ahead(blocks)
        number = 0
        with closing(blocks):
            for number, block in enumerate(blocks, 1):
                if number > skipped:
                    yield block
        if number < skipped:
            raise ValueError(f"The stream has {number} blocks, but {skipped} were learned before the checkpoint.")
        if self.cache is not None and self.kept is not None:
            self.cache.keep(self.about, *self.reader.learned_state())  # type: ignore[attr-defined]

    def _open_cache(self) -> None:
        if self.kept is not None and self.cached:
            found = Cache.reopen(self.kept, self.about)
            if found is not None:
                self.cache, learned, arrays = found
                with sound(self.cache.file.name):
                    self.reader.restore(learned, arrays)  # type: ignore[attr-defined]
                n, columns = self.reader.n_features, self.reader.columns  # type: ignore[attr-defined]
                self.cache.widths = range(n if columns is not None and columns.bits else 0, n + 1)
                self.read = True
                return
        if self.cached:
            self.cache = Cache(ArrayFile.create(self.kept))
            if self.place["epoch"] > 1 or (self.place["epoch"] == 1 and not self.resumed):
                for _ in self._first_reading(skipped=0):
                    pass

    # ---- resuming, and telling

    def _go_on(self, place: dict[str, Any]) -> bool:
        """Go to a place of an earlier run; True if there is nothing left to do."""
        if "blocks" not in place:
            raise ValueError(
                f"{place['path']}: this is a checkpoint of a run on a cluster: resume it there, or start again."
            )
        if place.get("about") != self.about:
            try:
                what = difference(place.get("about"), self.about)
            except (LookupError, TypeError, ValueError, AttributeError):
                what = "does not record the files of the run"
            raise ValueError(f"{place['path']}: {what}: give the same data and options, or start again.")
        self.outcome.history = [dict(row) for row in self.model.history_]
        check_place(place, self.outcome.history)
        self.place |= {name: place[name] for name in ("epoch", "blocks", "order", "done")}
        self.place["wrong"] = bool(place.get("wrong"))  # which checkpoints did not always hold
        self.place["marks"] = [tuple(mark) for mark in place["marks"]]
        self.place["average"] = place.get("average")
        self.resumed = bool(place["blocks"]) and not place.get("complete", place["done"])
        if self.resumed:
            self.row["seconds"] = self.row["seconds"] or 0.0
        over = self.model.stop_reason_ in (*AT_REST, "tol") or self.place["epoch"] >= self.most
        if self.place["done"] and over:
            self.outcome.stop_reason = self.model.stop_reason_
            return True
        return False

    def _write(self) -> None:
        assert self.checkpoint is not None
        self._describe()
        self.model.stop_reason_ = None
        self.checkpoint.write(self.model, self._where())

    def _where(self) -> dict[str, Any]:
        return self.place | {"about": self.about, "complete": self.complete}

    def _tell(self, more: Counts, mark: bool) -> None:
        """more: what was learned beyond the row."""
        if self.watch is not None:
            self.learner.changed()  # within a block too: the watcher may look at the weights
            row = self.row
            now = {name: row[name] + getattr(more, name) for name in ("examples", "mistakes", "updates")}
            what = {"epoch": row["epoch"], **now, "seconds": time.perf_counter() - self.began}
            self.watch(what | {"blocks": self.place["blocks"], "decisions": self.learner.decisions, "mark": mark})

    def _describe(self) -> None:
        model = self.model
        model._tell(self.outcome)
        model.progress_ = list(self.place["marks"])
        first = self.outcome.history[0]
        if model.progress_[-1:] != [(first["examples"], first["mistakes"])]:
            model.progress_.append((first["examples"], first["mistakes"]))
        model.n_features_in_ = model._learner.n_features
        if self.about is not None and self.read:
            model.source_, model.columns_ = self.reader.recipe(), self.reader.columns  # type: ignore[attr-defined]


def _cut_at_marks(parts: Iterable[np.ndarray], seen: int, batch: int) -> Iterator[np.ndarray]:
    """The parts, cut where 1, 2, 4, 8, ... examples have been seen, or at the end of the batch that holds the mark."""
    for part in parts:
        begin = 0
        while begin < len(part):
            mark = 1 << (seen + begin).bit_length()
            end = min(len(part), -(-(mark - seen) // batch) * batch)
            yield part[begin:end]
            begin = end
        seen += len(part)
