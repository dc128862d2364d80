"""A model being served, and what one change of the log does to it: the same in every copy, after every restart.

`State.learn_all` depends on the model and the changes alone, and not on how the changes are grouped. So whoever learns
the same changes in the same order has the same model, bit for bit: the two copies of a server (`DoubleBuffer`), a
server that starts again, a follower.
"""

import copy
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from threading import Condition
from typing import Any, NamedTuple

from msgspec import Struct

from perceptrons.engine.training.base import has_learned, learner_of
from perceptrons.engine.training.one_pass import MIN_CLASSES_FOR_BLOCKS
from perceptrons.inspection.evaluation import probabilities, several_labels, winners
from perceptrons.linear import Perceptron
from perceptrons.serve import example_kinds as examples_of
from perceptrons.serve.example_kinds import UnfitError
from perceptrons.serve.schemas import Prediction

MAX_BLOCK = 4096  # examples that are learned in one block where it makes no difference
LABELS = (str, int, bool)


class Change(
    Struct,
    kw_only=True,
    omit_defaults=True,
    rename={"key": "k", "digest": "d", "examples": "x", "labels": "y", "predictions": "p"},
):
    """One request to learn, and the predictions of the model before it learned.

    In the log the names are short, as there are many changes.
    """

    key: str | None = None
    digest: str = ""  # digest of a request that had a key
    examples: list[Any]
    labels: list[Any]
    predictions: list[Any]


class State:
    """A model and the number of examples that it has learned while it was served: its version."""

    def __init__(self, model: Any, version: int = 0):
        self.model, self.version = model, version
        self.n_readers = 0  # threads that read it now: see `DoubleBuffer.reading`

    def copied(self) -> "State":
        return State(copy.deepcopy(self.model), self.version)

    @property
    def kind(self) -> str | None:
        """The kind of the examples; None if the model has seen nothing."""
        return examples_of.input_kind(self.model)

    @property
    def can_learn(self) -> bool:
        """True if the model can learn from single blocks."""
        return self.kind != "pipeline" and hasattr(self.model, "partial_fit")

    # ---- learning

    def read(self, examples: list[Any], labels: list[Any] | None) -> tuple[list[Any], list[Any]]:
        """Return examples and labels as `learn` takes them. Raise UnfitError if the model cannot take them."""
        kind = self.kind
        if labels is None:
            if kind is None and isinstance(examples[0], dict) and examples_of.TOKENS in examples[0]:
                kind = "tokens"
            examples, labels = examples_of.split_labels(examples, self.model, kind)
        if len(labels) != len(examples):
            raise UnfitError(f"There are {len(examples):,} examples, but {len(labels):,} labels: give one label each.")
        kind = kind or examples_of.first_kind(examples[0])
        checked = [examples_of.checked_example(row, example, kind) for row, example in enumerate(examples)]
        has_lists = kind == "tokens" or several_labels(self.model)
        for row, label in enumerate(labels):
            if not has_lists and type(label) not in LABELS:
                raise UnfitError(f"Example {row}: a label must be a string or a whole number.")
            if has_lists and not (isinstance(label, list) and all(type(item) in LABELS for item in label)):
                raise UnfitError(f"Example {row}: the labels must be a list of strings or whole numbers.")
            if kind == "tokens" and len(label) != len(checked[row]):
                raise UnfitError(
                    f"Example {row} has {len(checked[row])} tokens, but {len(label)} labels: give one each."
                )
        return checked, labels

    def learn(self, examples: list[Any], labels: list[Any]) -> None:
        """Learn from examples that `read` has read. After an error the model may have learned from some of them."""
        kind = self.kind
        if kind is None:
            kind = examples_of.first_kind(examples[0])
            if kind == "tokens":
                self.model = examples_of.new_tagger(examples[0])
        examples_of.learn(self.model, examples, labels, kind)
        self.version += len(examples)

    def learn_all(self, changes: Iterable[Change]) -> None:
        """Learn from changes, to the bit as if from one after the other. After an error the model may be half-changed.

        Changes are learned in one block where that gives the same bits.
        """
        block, n = list[Change](), 0
        for change in changes:
            joins_block = self._joins_blocks(change)
            if block and (not joins_block or n >= MAX_BLOCK):
                self._learn_block(block)
                block, n = [], 0
            if joins_block:
                block.append(change)
                n += len(change.examples)
            else:
                self._learn_block([change])
        if block:
            self._learn_block(block)

    def _learn_block(self, changes: list[Change]) -> None:
        examples = [example for change in changes for example in change.examples]
        self.learn(examples, [label for change in changes for label in change.labels])

    def _joins_blocks(self, change: Change) -> bool:
        """Return whether learning this change in a block with others gives the bits of learning one after the other.

        It does not where matrix products, batches or pairs of classes are formed of the block, where the pocket is
        judged on it, where an L1 penalty is summed up over it, or where a class is new, which would take part in the
        predictions of the examples before it. New columns have the same average only if they start at 0.
        """
        model = self.model
        if type(model) is not Perceptron or self.kind in (None, "features") or model.batch_size != 1:
            return False
        if model.penalty in ("l1", "elasticnet"):
            return False
        learner = learner_of(model)
        if learner.form != "single" or not learner.spread or len(learner.classes) >= MIN_CLASSES_FOR_BLOCKS:
            return False
        if learner.weights.has_pocket or (learner.scheme == "ovo" and len(learner.classes) > 2):
            return False
        columns = getattr(model, "columns_", None)
        is_hashed = columns is not None and columns.bits is not None
        if learner.init != "zeros" and not is_hashed and self.kind != "numbers":
            return False
        return all(learner.code(label) is not None for label in set(change.labels))

    # ---- predicting

    def predict(
        self, examples: list[Any], scores: bool = False, probable: bool = False, top: int | None = None,
        new_columns: bool = False,
    ) -> list[Prediction]:  # fmt: skip
        """Return for each example the label, and what else is asked for.

        new_columns: sparse rows may have columns that are new to the model, which are left out.
        """
        kind = self.kind
        if kind is None or (kind != "pipeline" and not (has_learned(self.model) and len(self.model.classes_))):
            return [Prediction(None) for _ in examples]
        checked = [examples_of.checked_example(row, example, kind) for row, example in enumerate(examples)]
        if kind == "tokens":
            return self._tagged(checked, scores, top)
        return self._scored(examples_of.rows_of(self.model, checked, kind, new_columns), scores, probable, top)

    def _tagged(self, sentences: list[Any], scores: bool, top: int | None) -> list[Prediction]:
        if top is not None:
            raise UnfitError('"top" is not for taggers: ask for "scores", the lead of each label over the next best.')
        predictions = [Prediction(labels) for labels in self.model.predict(sentences)]
        if scores:
            for prediction, leads in zip(predictions, self.model.token_confidence(sentences), strict=True):
                prediction.scores = [float(lead) if abs(lead) < float("inf") else None for lead in leads]
        return predictions

    def _scored(self, X: Any, scores: bool, probable: bool, top: int | None) -> list[Prediction]:
        model = self.model
        if not has_learned(model):  # a pipeline
            return [Prediction(label) for label in model.predict(X).tolist()]
        points, classes = model.decision_function(X), model.classes_.tolist()
        won = winners(model, points)
        if several_labels(model):
            predictions = [Prediction([classes[k] for k in flags.nonzero()[0]]) for flags in won]
        else:
            predictions = [Prediction(classes[k]) for k in won.tolist()]
        rows = points.reshape(len(points), -1)
        names = [str(label) for label in classes[-rows.shape[1] :]]
        if scores:
            for prediction, row in zip(predictions, rows.tolist(), strict=True):
                prediction.scores = dict(zip(names, row, strict=True))
        if probable:
            shares = probabilities(model, points)
            if shares is None:
                raise UnfitError("The model is not calibrated, so its scores are not probabilities: ask for scores.")
            for prediction, row in zip(predictions, shares.tolist(), strict=True):
                prediction.probabilities = dict(zip(map(str, classes), row, strict=True))
        if top is not None:
            self._add_top(predictions, rows, classes, top)
        return predictions

    @staticmethod
    def _add_top(predictions: list[Prediction], rows: Any, classes: list[Any], top: int) -> None:
        if rows.shape[1] == 1 < len(classes):  # two classes have one score
            rows = rows * [[-1.0, 1.0]]
        best = (-rows).argsort(axis=1, kind="stable")[:, :top].tolist()
        for prediction, row, order in zip(predictions, rows.tolist(), best, strict=True):
            prediction.top = [(classes[k], row[k]) for k in order]

    def explain(self, example: Any) -> dict[str, Any]:
        """Return what the features of one example add to its scores."""
        kind = self.kind
        if not hasattr(self.model, "explain") or kind is None:
            raise UnfitError("This model cannot explain its predictions: leave explain out.")
        row = examples_of.checked_example(0, example, kind)
        if kind in ("sparse", "numbers"):
            row = examples_of.rows_of(self.model, [row], kind)[0]
        return dict(self.model.explain(row).to_dict())


class GrowthLimits(NamedTuple):
    """Limits on the size of the model. One that is larger already may stay so."""

    features: int = 2**24
    classes: int = 1000

    def check_labels(self, state: State, changes: list[Change]) -> None:
        """Raise UnfitError before the model makes room for more classes than it may have."""
        classes = set() if state.kind is None else {*state.model.classes_.tolist()}
        labels = (label if isinstance(label, list) else [label] for change in changes for label in change.labels)
        _check_growth("classes", len(classes.union(*labels)), len(classes), self.classes)

    def check(self, state: State, previous: State) -> None:
        """Raise UnfitError if the model has grown beyond its limits. previous: the same model before it learned."""
        model, old = state.model, None if previous.kind is None else previous.model
        n_features = 0 if old is None else int(old.n_features_in_)
        _check_growth("features", int(model.n_features_in_), n_features, self.features)
        _check_growth("classes", len(model.classes_), 0 if old is None else len(old.classes_), self.classes)


def _check_growth(noun: str, n: int, n_before: int, limit: int) -> None:
    if n > max(limit, n_before):
        raise UnfitError(f"The model would grow to {n:,} {noun}. At most {limit:,} are allowed (--max-{noun}).")


class RestoreError(RuntimeError):
    """The copy that learns may be half-changed, and could not be rebuilt: the writer must end."""


class DoubleBuffer:
    """Two copies of the model: readers use the front while the back learns, then they change places.

    So readers never wait. Whatever one copy has learned the other learns too, from the same changes, so both are the
    same to the bit. If a change is refused, cannot be logged, or runs out of memory, the copy that learned it is
    rebuilt from the other one. If even that fails, nobody may use that copy any more: `RestoreError`.
    Only `reading` and `version` may be used by several threads; the writer alone uses the rest.
    """

    def __init__(self, state: State):
        self._front, self.back = state.copied(), state
        self._readers_changed = Condition()

    @contextmanager
    def reading(self) -> Iterator[State]:
        """Yield the published model, which does not change while the block runs."""
        state: State | None = None
        try:
            with self._readers_changed:
                state = self._front
                state.n_readers += 1
            yield state
        finally:
            if state is not None:
                with self._readers_changed:
                    state.n_readers -= 1
                    self._readers_changed.notify_all()

    @property
    def version(self) -> int:
        """The number of examples that the published model has learned."""
        return self._front.version

    def restore(self, changes: Sequence[Change] = ()) -> None:
        """Rebuild the back from the front and these changes. RestoreError if that fails."""
        try:
            state = self._front.copied()
            state.learn_all(changes)
        except Exception as error:
            raise RestoreError("The model that learns could not be rebuilt.") from error
        self.back = state

    def catch_up(self, changes: Sequence[Change]) -> None:
        """Let the back learn what the front has learned; if it cannot, it becomes a copy of the front."""
        try:
            self.back.learn_all(changes)
        except Exception:
            self.restore()

    def publish(self) -> None:
        """Let readers have the back; the front becomes the back when its last reader has left."""
        with self._readers_changed:
            self._front, self.back = self.back, self._front
        with self._readers_changed:
            self._readers_changed.wait_for(lambda: not self.back.n_readers)

    def replace(self, state: State) -> None:
        self.back = state
        self.publish()
        self.restore()
