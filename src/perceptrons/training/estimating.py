"""What every estimator does around learning: checks that cannot fail halfway, one example as a row, how it went."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from perceptrons.rows import Rows
from perceptrons.training.epochs import Outcome, Plan, Trainee, run_epochs
from perceptrons.training.inputs import Growth, as_learned, as_rows, check_sound, dict_row, plain_row
from perceptrons.training.interrupts import Uninterrupted
from perceptrons.training.labels import merge
from perceptrons.training.reading import LabelledReading, Reading
from perceptrons.training.targets import Target, numbered, read_target

MIXED = ("n_shards_", "mixing_", "mixing_bound_")  # how a model was trained on a cluster
TUNED = "recipe_"  # how perceptrons.selection found its settings and tested it


class Training(Reading, ABC):
    """The steps of every estimator: when to stop, how it went, which parameters were checked."""

    combine: str
    max_iter: int
    tol: float | None
    shuffle: bool
    n_iter_no_change: int
    max_seconds: float | None
    verbose: bool | int
    random_state: Any

    def _plan(self) -> Plan:
        return Plan(
            max_iter=self.max_iter,
            tol=self.tol if self.combine in ("average", "vote") else None,
            shuffle=bool(self.shuffle),
            n_iter_no_change=self.n_iter_no_change,
            max_seconds=self.max_seconds,
            verbose=bool(self.verbose),
        )

    def _run(
        self, trainee: Trainee, n: int | None, train: np.ndarray | None, held_out: bool, *, plan: Plan | None = None,
        orders: bool = True, outcome: Outcome | None = None, resumed: bool = False,
    ) -> Outcome:  # fmt: skip
        """Train, and whatever happens, say in the end how it went.

        n: how many examples there are; None for a stream, whose learner begins with the first block and counts what it
        does. orders: by the model's generator, otherwise the trainee has its own. outcome: what is filled as training
        goes. resumed: in the middle of the epoch of its last row.
        """
        outcome = outcome or Outcome()
        begun = hasattr(self, "_learner")
        try:
            run_epochs(
                trainee,
                plan or self._plan(),
                rng=self._learner.rng if orders else None,
                epochs_before=self._learner.epochs if begun else 0,
                n=n,
                train=train,
                held_out=held_out,
                outcome=outcome,
                watch=self.__dict__.get("_watch"),
                row=outcome.history[-1] if resumed else None,
            )
        except BaseException as error:
            outcome.stop_reason = "interrupted" if isinstance(error, KeyboardInterrupt) else "failed"
            raise
        finally:
            with Uninterrupted():
                if outcome.history and not outcome.history[-1]["examples"]:
                    outcome.history.pop()  # of an epoch that was given up before anything was learned
                if n is not None:
                    self._learner.trained(outcome)
                self._tell(outcome)
        return outcome

    @contextmanager
    def _watched(self, watch: Callable[[dict[str, Any]], None]) -> Iterator[None]:
        """While the block fits the model, tell `watch` the row of every epoch; the model then predicts as it would if
        it had stopped there."""

        def after(row: dict[str, Any]) -> None:
            if hasattr(self._learner, "changed"):
                self._learner.changed()
            watch(row)

        self.__dict__["_watch"] = after
        try:
            yield
        finally:
            self.__dict__.pop("_watch", None)

    def _tell(self, outcome: Outcome | None) -> None:
        """Set the attributes that say how training went; of a model that only met blocks they say nothing yet."""
        for name in (*MIXED, TUNED):  # perceptrons.distributed and perceptrons.selection set them anew
            self.__dict__.pop(name, None)
        self.history_ = [] if outcome is None else outcome.history
        self.n_iter_ = len(self.history_)
        self.stop_reason_ = None if outcome is None else outcome.stop_reason
        self.converged_ = self.stop_reason_ == "converged"

    def _forget(self) -> None:
        """Be as before the first example."""
        for name in [name for name in self.__dict__ if name.endswith("_") or name in ("_learner", "_columns")]:
            del self.__dict__[name]

    def _read_from(self, source: Any, columns: Any) -> None:
        """Remember how the files were read that it learned from, and which columns the features have there."""
        self.source_, self.columns_ = source, columns

    def _forget_files(self) -> None:
        """Forget how files were read: now it learns from something else."""
        for name in ("source_", "columns_", "progress_"):
            self.__dict__.pop(name, None)

    def _seed(self) -> int:
        """random_state as a whole number; drawn once where it is not one."""
        if isinstance(self.random_state, Integral):
            return int(self.random_state)
        return int(check_random_state(self.random_state).randint(2**31))

    def _check_again(self) -> None:
        """Check parameters that learning or predicting one example uses, if they are not those checked last."""
        now = self._choices_now()
        if self.__dict__.get("_checked") != now:
            self._check_choices()
            self.__dict__["_checked"] = now

    @abstractmethod
    def _choices_now(self) -> Any:
        """The parameters that learning and predicting one example depends on."""

    @abstractmethod
    def _check_choices(self) -> None:
        """Raise ValueError for parameters that make no sense."""


class Estimating(Training, LabelledReading):
    """The steps of fit, partial_fit and learn_one of an estimator for labelled rows."""

    class_weight: Any
    columns_: Any  # of a model that learned from files

    def _growth(self) -> Growth:
        return Growth()

    def _refuse_balanced(self) -> None:
        if self.class_weight == "balanced":
            raise ValueError(
                "class_weight='balanced' needs all data at once and is not supported for partial_fit and learn_one: "
                "count the examples of each class and give the weights as a dict, "
                "{'rarest': 1, 'other': n_rarest / n_other}."
            )

    def _among(self, target: Target, classes: Any) -> Target:
        """The labels of a block, numbered among all classes known by now. classes: as partial_fit was told."""
        return numbered(target, classes, self._learner.classes if hasattr(self, "_learner") else None)

    def _one_target(self, y: Any) -> Target:
        """The label or labels of one example, which the model can go on with; at no cost if the class is known."""
        if "_learner" not in self.__dict__:
            return read_target([y], 1)
        learner = self._learner
        plain = type(y) in (str, int, bool) or isinstance(y, np.integer)
        code = learner.code(y) if learner.form == "single" and plain else None
        if code is None:
            target = read_target([y], 1, learner.form)
            self._check_can_go_on(target)
            return target.among(merge(learner.classes, target.classes))
        target = Target("single", learner.classes, np.array([code], np.int32))
        self._check_can_go_on(target)
        return target

    @abstractmethod
    def _check_can_go_on(self, target: Target) -> None:
        """Raise ValueError if parameters or labels are now such that this model cannot go on learning."""

    def _one_row(self, x: Any, learning: bool = False) -> tuple[Rows, list[str]]:
        """One example as rows, and the feature names in it that the model does not know.

        learning: a model that learned from files gets to know the names itself.
        """
        learner = self.__dict__.get("_learner")
        own = getattr(x, "dtype", None)
        dtype = np.dtype(learner.dtype if learner else np.float32 if own == np.float32 else np.float64)
        if isinstance(x, Mapping | str | bytes) and getattr(self, "columns_", None) is not None:
            X = as_learned(self, [x], learning).astype(dtype, copy=False)
            check_sound(X, self._growth())
            return as_rows(X), []
        if not isinstance(x, Mapping):
            n_features = None if learner is None else learner.n_features
            return plain_row(x, n_features, dtype, self._growth()), []
        if "_columns" not in self.__dict__ and learner is not None:
            raise ValueError(
                "The model was trained on columns without names, so a dict of features says nothing to it: "
                "give a row of numbers, or train on a frame or on dicts."
            )
        return dict_row(x, self.__dict__.get("_columns", {}), dtype, self._growth())

    def _name_features(self, x: Any, new: list[str]) -> None:
        """Make room for the features of a dict that came for the first time, then name them."""
        if getattr(self, "columns_", None) is not None:
            if self.columns_.n_columns > self._learner.n_features:  # names of a model that learned from files
                self._learner.meet_features(self.columns_.n_columns)
                self.n_features_in_ = self.columns_.n_columns
        elif isinstance(x, Mapping):
            names = self.__dict__.get("_columns", {})
            n_features = len(names) + len(new)
            self._learner.meet_features(n_features)
            names.update((name, place) for place, name in enumerate(new, len(names)))
            self._columns, self.n_features_in_ = names, n_features


@contextmanager
def unchanged_on_error(
    estimator: BaseEstimator, unless: Callable[[], bool] = lambda: False, before: dict[str, Any] | None = None
) -> Iterator[None]:
    """If the block fails, the estimator has the attributes it had (those of `before`), unless it has learned."""
    before = dict(estimator.__dict__) if before is None else before
    try:
        yield
    except BaseException:  # Ctrl-C too
        if not unless():
            estimator.__dict__.clear()
            estimator.__dict__.update(before)
        raise
