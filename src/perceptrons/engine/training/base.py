"""What the estimators share: `Estimator` is the base of all, `Classifier` of those that learn labels of rows."""

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from numbers import Integral
from typing import Any, Generic, TypeVar

import numpy as np
import scipy.sparse as sp
from sklearn import get_config
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils import check_random_state, estimator_html_repr

from perceptrons.engine.html import training_summary
from perceptrons.engine.rows import Rows
from perceptrons.engine.training.calibration import if_calibrated, predict_log_proba, predict_proba
from perceptrons.engine.training.epochs import Outcome, Plan, Trainee, Visiting, run_epochs, why_unfinished
from perceptrons.engine.training.inputs import (
    Growth,
    as_learned,
    as_rows,
    check_matrix,
    check_sound,
    dict_row,
    known_part,
    once_each,
    plain_row,
)  # fmt: skip
from perceptrons.engine.training.interrupts import Uninterrupted
from perceptrons.engine.training.labels import (
    Target,
    check_named,
    check_threshold,
    in_order,
    merge,
    numbered,
    read_classes,
    read_target,
)
from perceptrons.engine.training.matrices import sound_csr
from perceptrons.engine.training.protocols import Learner, RowLearner

MIXED = ("n_shards_", "mixing_", "mixing_bound_")  # how a model was trained on a cluster
TUNED = "recipe_"  # how perceptrons.selection found its settings and tested it

L = TypeVar("L", bound=Learner)
R = TypeVar("R", bound=RowLearner)


class Estimator(BaseEstimator, ABC, Generic[L]):
    """The base of all estimators: when to stop, the training history, checked parameters, and what is displayed.

    What was learned is in `_learner`, once there is a model (`learner.py`). Shown weights cannot be written.
    """

    combine: str
    max_iter: int
    tol: float | None
    shuffle: bool
    early_stopping: bool
    n_iter_no_change: int
    max_seconds: float | None
    verbose: bool | int
    random_state: Any
    history_: list[dict[str, Any]]
    n_features_in_: int
    _learner: L
    _checked: Any = None  # the parameters that were checked last
    _watch: Callable[[dict[str, Any]], None] | None = None  # is told the row of every epoch
    _visiting: Visiting | None = None  # looks at every visit: epochs.py

    # ---- training

    def _plan(self) -> Plan:
        return Plan(
            max_iter=self.max_iter,
            tol=self.tol if self.combine in ("average", "recent", "vote") else None,
            shuffle=bool(self.shuffle),
            n_iter_no_change=self.n_iter_no_change,
            max_seconds=self.max_seconds,
            verbose=bool(self.verbose),
        )

    def _run(
        self, trainee: Trainee, n: int | None, train: np.ndarray | None, held_out: bool, *, plan: Plan | None = None,
        orders: bool = True, outcome: Outcome | None = None, resumed: bool = False,
    ) -> Outcome:  # fmt: skip
        """Train, and in any case record the training history at the end.

        n: how many examples there are; None for a stream, whose learner begins with the first block and counts what it
        does. orders: by the model's generator, otherwise the trainee has its own. outcome: what is filled as training
        goes. resumed: in the middle of the epoch of its last row.
        """
        outcome = outcome or Outcome()
        has_learner = hasattr(self, "_learner")
        try:
            run_epochs(
                trainee,
                plan or self._plan(),
                rng=self._learner.rng if orders else None,
                epochs_before=self._learner.epochs if has_learner else 0,
                n=n,
                train=train,
                held_out=held_out,
                outcome=outcome,
                watch=self._watch,
                row=outcome.history[-1] if resumed else None,
                visiting=self._visiting,
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

    def _warn_unless_finished(self, stacklevel: int = 3) -> None:
        """As scikit-learn does: warn if training ended with max_iter although `tol` was to end it. Called last, so that
        the model is whole where warnings are errors."""
        if self.tol is None or self.stop_reason_ != "max_iter" or self._watch or self._visiting or not self.max_iter:
            return  # who watches the epochs judges by them
        message = f"{type(self).__name__} stopped at max_iter={self.max_iter} before it converged: "
        warnings.warn(message + why_unfinished(self._plan()), ConvergenceWarning, stacklevel=stacklevel)

    def _tell(self, outcome: Outcome | None) -> None:
        """Set the attributes with the training history; they are empty if the model has only seen blocks of data."""
        self._drop(*MIXED, TUNED)  # perceptrons.distributed and perceptrons.selection set them again
        self.history_ = [] if outcome is None else outcome.history
        self.n_iter_ = len(self.history_)
        self.stop_reason_ = None if outcome is None else outcome.stop_reason
        self.converged_ = self.stop_reason_ == "converged"

    def _drop(self, *names: str) -> None:
        """Delete those of these attributes that there are."""
        for name in set(names) & vars(self).keys():
            delattr(self, name)

    def _forget(self) -> None:
        """Delete everything that was learned."""
        self._drop("_learner", "_columns", "_fast", *(name for name in vars(self) if name.endswith("_")))

    def _forget_files(self) -> None:
        """Forget how files were read: now it learns from something else."""
        self._drop("source_", "columns_", "progress_")

    def _seed(self) -> int:
        """Return random_state as a whole number, drawn if it is not one."""
        if isinstance(self.random_state, Integral):
            return int(self.random_state)
        return int(check_random_state(self.random_state).randint(2**31))

    def _refuse_early_stopping(self) -> None:
        """As scikit-learn: of a model that begins with a block. One that `fit` has stopped early may keep training."""
        if self.early_stopping and not hasattr(self, "_learner"):
            raise ValueError(
                "early_stopping=True needs all data at once and is not supported for partial_fit and learn_one: call "
                "set_params(early_stopping=False) first, or use fit."
            )

    def _check_again(self) -> None:
        """Check parameters that learning or predicting one example uses, if they are not those checked last."""
        now = self._choices_now()
        if self._checked != now:
            self._check_choices()
            self._checked = now

    @abstractmethod
    def _choices_now(self) -> Any:
        """Return the parameters that learning and predicting one example depends on."""

    @abstractmethod
    def _check_choices(self) -> None:
        """Raise ValueError for parameters that make no sense."""

    # ---- what a fitted model shows

    @property
    def n_updates_(self) -> int:
        return self._fitted().updates

    @property
    def n_mistakes_(self) -> int:
        return self._fitted().mistakes

    @property
    def t_(self) -> float:
        return self._fitted().t

    @property
    def mistakes_(self) -> np.ndarray:
        self._fitted()
        return np.array([row["mistakes"] for row in self.history_], dtype=np.int64)

    def _fitted(self) -> L:
        if not hasattr(self, "_learner"):
            raise NotFittedError(
                f"This {type(self).__name__} is not fitted yet: call fit, partial_fit or learn_one first."
            )
        return self._learner

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_learner")

    def __getstate__(self) -> dict[str, Any]:
        prepared = ("_method", "_checked", "_fast")  # made again where it is needed
        return {name: value for name, value in super().__getstate__().items() if name not in prepared}

    @property
    def _repr_html_(self) -> Callable[[], str]:
        """Show scikit-learn's view and the training history below it; as there, nothing where texts are displayed."""
        if get_config()["display"] != "diagram":
            raise AttributeError("_repr_html_ is only there if scikit-learn's display is 'diagram'.")
        return lambda: estimator_html_repr(self) + training_summary(self)

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle = {"text/plain": repr(self)}
        return bundle | ({"text/html": self._repr_html_()} if hasattr(self, "_repr_html_") else {})


@contextmanager
def unchanged_on_error(
    estimator: BaseEstimator, unless: Callable[[], bool] = lambda: False, attributes: dict[str, Any] | None = None
) -> Iterator[None]:
    """If the block fails, restore the attributes of the estimator (or those of `attributes`), unless it has learned."""
    attributes = dict(vars(estimator)) if attributes is None else attributes
    try:
        yield
    except BaseException:  # Ctrl-C too
        if not unless():
            restore_attributes(estimator, attributes)
        raise


def restore_attributes(estimator: BaseEstimator, attributes: dict[str, Any]) -> None:
    """Give an estimator the attributes that it had before, and no others."""
    vars(estimator).clear()
    vars(estimator).update(attributes)


def learner_of(model: Estimator[L]) -> L:
    """Return the learner of a fitted estimator: what it has learned. Raise NotFittedError if it is not fitted."""
    return model._fitted()


def set_learner(model: Estimator[L], learner: L) -> None:
    """Make an estimator a fitted one that has learned this, for instance when it is read from a file."""
    model._learner = learner


def seed_of(model: Estimator[L]) -> int:
    """Return the parameter random_state as a whole number; it is drawn if it is a generator or None."""
    return model._seed()


@contextmanager
def watched(model: Estimator[L], watch: Callable[[dict[str, Any]], None]) -> Iterator[None]:
    """While the block fits the model, call `watch` with the row of every epoch.

    The model then predicts as it would if it had stopped there.
    """

    def after_epoch(row: dict[str, Any]) -> None:
        changed = getattr(learner_of(model), "changed", None)
        if changed is not None:
            changed()
        watch(row)

    model._watch = after_epoch
    try:
        yield
    finally:
        model._drop("_watch")


@contextmanager
def recorded(model: Estimator[L], recorder: Visiting) -> Iterator[None]:
    """While the block fits the model, let `recorder` make its visits (`epochs.py`)."""
    model._visiting = recorder
    try:
        yield
    finally:
        model._drop("_visiting")


def has_learned(model: object) -> bool:
    """Return whether this is one of our estimators, and fitted."""
    return isinstance(model, Estimator) and hasattr(model, "_learner")


class Classifier(ClassifierMixin, Estimator[R]):
    """The steps of fit, partial_fit and learn_one of an estimator for labelled rows, and what it shows."""

    class_weight: Any
    classes: Any
    decision_function: Any
    _by_scores: Any  # (X, method, function): what the function makes of the scores of X, which the method asks for
    _columns: dict[str, int]  # of a model that knows the names of its features
    columns_: Any  # of a model that learned from files

    # ---- the small steps of learning

    def _growth(self) -> Growth:
        return Growth()

    def _refuse_balanced(self) -> None:
        if self.class_weight == "balanced":
            raise ValueError(
                "class_weight='balanced' needs all data at once and is not supported for partial_fit and learn_one: "
                "count the examples of each class and give the weights as a dict, "
                "{'rarest': 1, 'other': n_rarest / n_other}."
            )

    def _check_form(self, target: Target) -> None:
        """Raise ValueError for labels of a form that the estimator does not learn."""

    def _read_labels(self, y: Any, n: int, is_warm: bool) -> Target:
        """Return the labels of a training set, numbered among all known classes."""
        target = read_target(y, n, self._learner.form if is_warm else "")
        self._check_form(target)
        target = in_order(target, self.classes)
        if is_warm:
            self._check_can_go_on(target)
            target = target.among(merge(self._learner.classes, target.classes))
        if len(target.classes) < 2 and not target.several:
            only = target.classes.tolist()[0]
            raise ValueError(f"y has only one class, {only!r}: a classifier needs at least two.")
        return target

    def _read_block_labels(self, y: Any, n: int, classes: Any) -> Target:
        """Return the labels of a block, numbered among all known classes. classes: as given to `partial_fit`."""
        known = self._learner.classes if hasattr(self, "_learner") else None
        target = read_target(y, n, "" if known is None else self._learner.form)
        self._check_form(target)
        target = in_order(target, self.classes)
        if known is not None:
            self._check_can_go_on(target)
        if classes is not None and self.classes is not None:  # which has put them in order
            check_named(read_classes(classes), target.classes)
            classes = None
        return numbered(target, classes, known)

    def _one_target(self, y: Any) -> Target:
        """Return the labels of one example; at no cost for one label of a known class."""
        if not hasattr(self, "_learner"):
            return in_order(read_target([y], 1), self.classes)
        learner = self._learner
        plain = type(y) in (str, int, bool) or isinstance(y, np.integer)
        code = learner.code(y) if learner.form == "single" and plain else None
        if code is None:
            target = in_order(read_target([y], 1, learner.form), self.classes)
            self._check_can_go_on(target)
            return target.among(merge(learner.classes, target.classes))
        target = Target("single", learner.classes, np.array([code], np.int32))
        self._check_can_go_on(target)
        return target

    @abstractmethod
    def _check_can_go_on(self, target: Target) -> None:
        """Raise ValueError if parameters or labels do not allow this model to keep training."""

    def _as_dict(self, x: Any) -> Any:
        """Return a row of a frame as a dict, unless the model was trained on columns without names: then x itself.

        By their position, the values of a pandas Series would be taken for other features where its index is in
        another order.
        """
        index = getattr(x, "index", None)
        is_unnamed = hasattr(self, "_learner") and not hasattr(self, "_columns") and not hasattr(self, "columns_")
        if is_unnamed or index is None or callable(index) or not hasattr(x, "tolist"):
            return x
        names = list(index)
        if not all(isinstance(name, str) for name in names):
            return x
        if len(set(names)) < len(names):
            raise ValueError(f"The index of the example names a feature twice: {', '.join(names)}.")
        return dict(zip(names, x.tolist(), strict=True))

    def _one_row(self, x: Any, learning: bool = False) -> tuple[Rows, list[str]]:
        """Return one example as rows, and the feature names in it that the model does not know.

        learning: a model that learned from files gets to know the names itself.
        """
        x = self._as_dict(x)
        learner = getattr(self, "_learner", None)
        given_dtype = getattr(x, "dtype", None)
        dtype = np.dtype(learner.dtype if learner else np.float32 if given_dtype == np.float32 else np.float64)
        if isinstance(x, Mapping | str | bytes) and getattr(self, "columns_", None) is not None:
            X = as_learned(self, [x], learning).astype(dtype, copy=False)
            check_sound(X, self._growth())
            return as_rows(X), []
        if not isinstance(x, Mapping):
            n_features = None if learner is None else learner.n_features
            return plain_row(x, n_features, dtype, self._growth()), []
        if not hasattr(self, "_columns") and learner is not None:
            raise ValueError(
                "The model was trained on columns without names, so it cannot use a dict of features: give a row of "
                "numbers, or train on a frame or on dicts."
            )
        return dict_row(x, getattr(self, "_columns", {}), dtype, self._growth())

    def _name_features(self, x: Any, new: list[str]) -> None:
        """Make room for the features of a dict that came for the first time, then name them."""
        if getattr(self, "columns_", None) is not None:
            if self.columns_.n_columns > self._learner.n_features:  # names of a model that learned from files
                self._learner.meet_features(self.columns_.n_columns)
                self.n_features_in_ = self.columns_.n_columns
        elif isinstance(x, Mapping):
            names = getattr(self, "_columns", {})
            n_features = len(names) + len(new)
            self._learner.meet_features(n_features)
            names.update((name, place) for place, name in enumerate(new, len(names)))
            self._columns, self.n_features_in_ = names, n_features

    # ---- what a fitted model shows

    @property
    def predict_proba(self) -> Callable[[Any], Any]:
        """Calibrated probabilities, `predict_proba(X)`: an array of shape (n, n_classes). Only there if calibrated."""
        return if_calibrated(self, predict_proba)

    @property
    def predict_log_proba(self) -> Callable[[Any], Any]:
        """The logarithms of `predict_proba(X)`."""
        return if_calibrated(self, predict_log_proba)

    @property
    def classes_(self) -> np.ndarray:
        return self._fitted().classes.copy()

    @property
    def threshold_(self) -> float | None:
        return self._fitted().threshold

    @threshold_.setter
    def threshold_(self, threshold: float | None) -> None:
        learner = self._fitted()
        learner.threshold = check_threshold(threshold, learner.classes, learner.form)

    @property
    def feature_names_in_(self) -> np.ndarray:
        if not hasattr(self, "_columns"):
            raise AttributeError("The model was trained on columns without names.")
        return np.array(list(self._columns), dtype=object)

    @feature_names_in_.setter
    def feature_names_in_(self, names: Any) -> None:
        self._columns = {name: place for place, name in enumerate(names)}

    @feature_names_in_.deleter
    def feature_names_in_(self) -> None:
        del self._columns

    def _example(self, x: Any) -> tuple[Any, list[str]]:
        """Return one example as rows, and the names in it that the model does not know."""
        if len(getattr(x, "shape", ())) == 2 and x.shape[0] != 1:
            raise ValueError(f"One example is one row, not {x.shape[0]}: explain them one by one.")
        if hasattr(x, "to_dict") and hasattr(x, "index") and np.ndim(x) == 1 and self._knows_names():
            x = x.to_dict()  # a row of a frame
        elif hasattr(x, "columns"):
            x = check_matrix(self, x, reset=False, dtype=self._fitted().dtype)
        elif sp.issparse(x):
            x = sound_csr(x, "The example", row=True)
            check_sound(x.astype(self._fitted().dtype), Growth())
        rows, unknown = self._one_row(x)
        return once_each(known_part(rows, unknown)), unknown

    def _knows_names(self) -> bool:
        return hasattr(self, "_columns") or getattr(self, "columns_", None) is not None

    def _winners(self, scores: np.ndarray) -> np.ndarray:
        """Return the numbers of the predicted classes by scores of `decision_function`; for several labels, flags."""
        return self._fitted().winners(scores, getattr(self, "zero_score", "mistake"))

    def _votes(self, X: Any) -> Any:
        """Return the scores of a model that votes."""
        self._fitted()
        if self.combine != "vote":
            raise ValueError(
                f"Only voted models have shares of votes: fit the model with combine='vote', not {self.combine!r}. "
                "For probabilities, use probability='sigmoid'."
            )
        return self.decision_function(X)
