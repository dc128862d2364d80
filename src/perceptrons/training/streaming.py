"""`fit_stream`: epochs over blocks that are read while it learns, with a cache, marks of progress and checkpoints."""

import json
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import AbstractContextManager, closing, nullcontext
from numbers import Integral
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from perceptrons.passes.orders import shuffled
from perceptrons.training.arrayfile import ArrayFile, sound
from perceptrons.training.blocks import Block, Cache, blocks_of, widened
from perceptrons.training.choices import method_of
from perceptrons.training.epochs import AT_REST, Outcome, new_row
from perceptrons.training.interrupts import Uninterrupted
from perceptrons.training.learning import PIECE, at_rest, piece_size, pieces
from perceptrons.training.places import check_place, difference
from perceptrons.training.threads import ahead

Watch = Callable[[dict[str, Any]], None]


class Keeper(Protocol):
    """Where checkpoints go: `perceptrons.Checkpoint`."""

    def alone(self) -> AbstractContextManager[None]:
        """While the block runs, no other run may write checkpoints there."""

    def begin(self, model: Any) -> dict[str, Any] | None:
        """If there is a checkpoint to go on from, make the model what it was, and return the place."""

    def due(self) -> bool:
        """Is it time for another?"""

    def write(self, model: Any, place: dict[str, Any]) -> None:
        """Write the model and how far it has come; whole or not at all."""


class Streaming:
    """The estimator's `fit_stream`."""

    early_stopping: bool

    def fit_stream(self, reader, epochs=1, *, classes=None, cache=None, checkpoint=None, watch=None):
        """Learn from blocks of examples, as many as there are: from files larger than memory, from pipes.

        In the first epoch blocks are learned in the order they come, while the next ones are read; later epochs read
        a compact cache, blocks in random order. With `shuffle` the rows of a block are visited in random order. With
        shuffle=False the weights are those of `fit` on all rows at once, for as many epochs with tol=None, if the
        first block has all classes or they are named. `tol` and `max_iter` do not count here.

        Parameters
        ----------
        reader : perceptrons.data.stream(...), or an iterable of (X, y) or (X, y, weight)
            Later blocks may have more columns.
        epochs : int, default=1
            Passes over the data at most; a pass that asks for no update is the last.
        classes : array, optional
            All classes that may come. Otherwise a class that a later block brings is learned from there on.
        cache : path, False or None, default=None
            For several epochs, what was read is kept in a binary file: a temporary one (None), one that later fits
            from the same files use again (a path), or none (False: the files are read anew for every epoch).
        checkpoint : perceptrons.Checkpoint, optional
            Where the state is saved now and then, so that a run that was killed can go on.
        watch : function, optional
            Is called with a dict after every block, and at 1, 2, 4, 8, ... examples with mark=True: epoch, blocks,
            examples, mistakes, updates of the epoch so far, seconds; decisions is the number of binary problems that
            an example is in, else 1.

        Returns
        -------
        self
            `progress_` has (examples, mistakes) at 1, 2, 4, 8, ... examples of the first epoch and at its end: every
            example was predicted before it was learned from, so that this is an honest test (spec 10). With batches
            the marks are at the ends of batches; one-vs-rest, one-vs-one and with several labels the mistakes are
            those of all the binary problems.

        Examples
        --------
        >>> from perceptrons import Perceptron
        >>> blocks = [([[0.0], [1.0]], ["no", "yes"]), ([[0.2], [0.9]], ["no", "yes"])]
        >>> model = Perceptron(shuffle=False).fit_stream(blocks, epochs=3)
        >>> model.predict([[0.95]]).tolist(), model.progress_
        (['yes'], [(1, 1), (2, 2), (4, 4)])
        """
        if not isinstance(epochs, Integral) or isinstance(epochs, bool) or epochs < 1:
            raise ValueError(f"epochs={epochs!r}: give a whole number of at least 1.")
        if self.early_stopping:
            raise ValueError("early_stopping holds examples out, and a stream has no end to hold them out from.")
        if checkpoint is not None and not hasattr(checkpoint, "begin"):
            raise TypeError(f"checkpoint={checkpoint!r}: give a perceptrons.Checkpoint(path).")
        StreamFit(self, reader, int(epochs), classes, cache, checkpoint, watch).run()
        return self


class StreamFit:
    """One call of `fit_stream`."""

    def __init__(
        self,
        model: Any,
        reader: Iterable[Any],
        epochs: int,
        classes: Any,
        cache: Any,
        checkpoint: Keeper | None,
        watch: Watch | None,
    ):
        self.model, self.reader, self.epochs, self.classes, self.watch = model, reader, epochs, classes, watch
        self.checkpoint, self.began = checkpoint, time.perf_counter()
        self.place: dict[str, Any] = {
            "epoch": 1, "blocks": 0, "order": None, "marks": [], "row": new_row(1), "done": False, "wrong": False,
        }  # fmt: skip
        self.about = json.loads(json.dumps(reader.fingerprint())) if hasattr(reader, "fingerprint") else None
        self.cached = epochs > 1 and cache is not False
        self.kept = Path(cache) if cache not in (None, False) else None
        if self.kept is not None and self.about is None:
            raise ValueError("A cache can be kept only of files: read them by perceptrons.data.stream.")
        self.cache: Cache | None = None
        self.read = False  # does the reader know its files, or is all that is known in the checkpoint?
        self.within = False  # a block: learned in part, so that nothing could go on from here
        self.outcome = Outcome()

    # ---- the loop

    def run(self) -> None:
        with nullcontext() if self.checkpoint is None else self.checkpoint.alone():
            self._run()

    def _run(self) -> None:
        before = dict(self.model.__dict__)
        resumed = None if self.checkpoint is None else self.checkpoint.begin(self.model)
        try:
            if resumed is not None:
                self._go_on(resumed)
            elif not self.model.warm_start:
                self.model._forget()
            if not self.outcome.stop_reason:
                self._open_cache()
            while not self.outcome.stop_reason:
                self._epoch()
        except BaseException as error:
            if not self.outcome.history:  # nothing was learned: the model is what it was
                self.model.__dict__.clear()
                self.model.__dict__.update(before)
                self._close()
                raise
            self.outcome.stop_reason = "interrupted" if isinstance(error, KeyboardInterrupt) else "failed"
            raise
        finally:
            with Uninterrupted():
                self._end()

    def _epoch(self) -> None:
        place, row, model = self.place, self.place["row"], self.model
        began = time.perf_counter() - row["seconds"]
        with closing(self._blocks()) as blocks:
            for block in blocks:
                with Uninterrupted():
                    self._learn(block, began)
                    place["blocks"] += 1
                    self.within = False
                    row["seconds"] = time.perf_counter() - began
                    self._tell(mark=False)
                    if self.checkpoint is not None and self.checkpoint.due():
                        self._write()
                if model.max_seconds is not None and time.perf_counter() - self.began >= model.max_seconds:
                    self.outcome.stop_reason = "max_seconds"
                    break
        if not row["examples"]:
            again = ": it can be read only once, and for several epochs needs the cache" if place["epoch"] > 1 else ""
            raise ValueError(f"There is no example in the stream{again}.")
        with Uninterrupted():
            self._end_epoch(began)

    def _learn(self, block: Block, began: float) -> None:
        place, row = self.place, self.place["row"]
        X = block.X if place["epoch"] == 1 else widened(block.X, self.model._learner.n_features)
        kind = "checked" if block.checked else "new"
        examples, method = self.model._meet_block(X, block.target, self.classes, block.weight, kind)
        if not place["blocks"]:
            self.outcome.history.append(row)
        self.within = True
        learner = self.model._learner
        n = len(examples.y)
        order = shuffled(n, learner.rng) if self.model.shuffle else np.arange(n)
        parts = pieces(order, piece_size(examples, learner.weights, PIECE, method.batch))
        if place["epoch"] == 1 and method.batch > 0:
            parts = _cut_at_marks(parts, row["examples"], method.batch)
        for part, counts in learner.learning_block(examples, method, parts):
            row["examples"] += len(part)
            row["mistakes"] += counts.mistakes
            row["updates"] += counts.updates
            row["loss"] += counts.loss
            if method.zero_score == "correct" and not row["updates"]:
                place["wrong"] = place["wrong"] or learner.wrong(examples, part, "last", method.zero_score) > 0
            if place["epoch"] == 1 and row["examples"].bit_length() > (row["examples"] - len(part)).bit_length():
                place["marks"].append((row["examples"], row["mistakes"]))
                row["seconds"] = time.perf_counter() - began
                self._tell(mark=True)

    def _end_epoch(self, began: float) -> None:
        place, row, learner = self.place, self.place["row"], self.model._learner
        if len(learner.classes) == 1 and learner.form == "single":
            only = learner.classes.tolist()[0]
            raise ValueError(f"The stream has only one class, {only!r}: a classifier needs at least two.")
        with np.errstate(over="ignore"):
            row["norm"] = learner.weights.norm()
        row["seconds"] = time.perf_counter() - began
        if self.outcome.stop_reason:
            return  # out of time, within the epoch
        learner.epochs += 1
        method = method_of(self.model, learner.classes, stream=True)
        self.outcome.stop_reason = at_rest(row, method, lambda: place["wrong"])
        if self.outcome.stop_reason:
            return
        if place["epoch"] == self.epochs:
            self.outcome.stop_reason = "max_iter"
        else:
            self._next_epoch()

    def _next_epoch(self) -> None:
        new = {"epoch": self.place["epoch"] + 1, "blocks": 0, "order": None, "done": False, "wrong": False}
        self.place |= new | {"row": new_row(self.model._learner.epochs + 1)}

    # ---- where blocks come from

    def _blocks(self) -> Generator[Block, None, None]:
        place = self.place
        if place["epoch"] == 1 or self.cache is None:
            if self.cache is not None and self.cache.n_blocks:
                return self.cache.reading(np.arange(place["blocks"], self.cache.n_blocks))  # kept from another run
            return self._first_reading(skipped=place["blocks"])
        if place["order"] is None:
            n, rng = self.cache.n_blocks, self.model._learner.rng
            place["order"] = (rng.permutation(n) if self.model.shuffle else np.arange(n)).tolist()
        order = np.array(place["order"], np.intp)
        if len(order) != self.cache.n_blocks:
            what = f"The stream has {self.cache.n_blocks} blocks, but {len(order)} were learned before the checkpoint."
            raise ValueError(what)
        return self.cache.reading(order[place["blocks"] :])

    def _first_reading(self, skipped: int) -> Generator[Block, None, None]:
        """The reader's blocks, but the first ones that were learned before a checkpoint; into the cache go all."""
        self.read = True
        form = self.model._learner.form if hasattr(self.model, "_learner") else ""
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
        self._keep_cache()

    def _open_cache(self) -> None:
        if self.kept is not None and self.cached:
            found = Cache.reopen(self.kept, self.about)
            if found is not None:
                self.cache, learned, arrays = found
                with sound(self.cache.file.name):
                    self.reader.know(learned, arrays)  # type: ignore[attr-defined]
                n, columns = self.reader.n_features, self.reader.columns  # type: ignore[attr-defined]
                self.cache.widths = range(n if columns is not None and columns.bits else 0, n + 1)
                self.read = True
                return
        if self.cached:
            self.cache = Cache(ArrayFile.create(self.kept))
            if self.place["epoch"] > 1:
                for _ in self._first_reading(skipped=0):
                    pass

    def _keep_cache(self) -> None:
        if self.cache is not None and self.kept is not None:
            self.cache.keep(self.about, *self.reader.known())  # type: ignore[attr-defined]

    # ---- going on, and telling

    def _go_on(self, place: dict[str, Any]) -> None:
        if "blocks" not in place:
            raise ValueError(
                f"{place['path']}: is a checkpoint of a run on a cluster: resume it there, or start again."
            )
        if place.get("about") != self.about:
            try:
                what = difference(place.get("about"), self.about)
            except (LookupError, TypeError, ValueError, AttributeError):
                what = "does not say which files it was begun with"
            raise ValueError(f"{place['path']}: {what}: give what it was begun with, or begin anew.")
        self.outcome.history = [dict(row) for row in self.model.history_]
        check_place(place, self.outcome.history)
        self.place |= {name: place[name] for name in ("epoch", "blocks", "order", "done")}
        self.place["wrong"] = bool(place.get("wrong"))  # which checkpoints did not always hold
        self.place["marks"] = [tuple(mark) for mark in place["marks"]]
        if place["blocks"]:
            self.place["row"] = self.outcome.history[-1]  # the same one, so that both go on
            self.place["row"]["seconds"] = self.place["row"]["seconds"] or 0.0
        else:
            self.place["row"] = new_row(self.model._learner.epochs + 1)
        if self.place["done"] and (self.model.stop_reason_ in AT_REST or self.place["epoch"] >= self.epochs):
            self.outcome.stop_reason = self.model.stop_reason_
        elif self.place["done"]:  # more epochs are asked for now
            self._next_epoch()

    def _write(self) -> None:
        assert self.checkpoint is not None
        self._describe(None)
        self.checkpoint.write(self.model, self.place | {"about": self.about})

    def _tell(self, mark: bool) -> None:
        if self.watch is not None:
            row = self.place["row"]
            what = {name: row[name] for name in ("epoch", "examples", "mistakes", "updates", "seconds")}
            decisions = self.model._learner.decisions
            self.watch(what | {"blocks": self.place["blocks"], "decisions": decisions, "mark": mark})

    def _describe(self, outcome: Outcome | None) -> None:
        model = self.model
        model._tell(self.outcome)
        if outcome is None:
            model.stop_reason_ = None
        model.progress_ = list(self.place["marks"])
        first = self.outcome.history[0]
        if model.progress_[-1:] != [(first["examples"], first["mistakes"])]:
            model.progress_.append((first["examples"], first["mistakes"]))
        model.n_features_in_ = model._learner.n_features
        if self.about is not None and self.read:
            model.source_ = self.reader.recipe()  # type: ignore[attr-defined]
            model.columns_ = self.reader.columns  # type: ignore[attr-defined]

    def _close(self) -> None:
        if self.cache is not None:
            self.cache.file.close()

    def _end(self) -> None:
        self._close()
        if not self.outcome.history:
            return
        self.model._learner.changed()
        self._describe(self.outcome)
        if self.checkpoint is not None and self.outcome.stop_reason != "failed" and not self.within:
            self.place["done"] = self.outcome.stop_reason in (*AT_REST, "max_iter")
            self.checkpoint.write(self.model, self.place | {"about": self.about})


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
