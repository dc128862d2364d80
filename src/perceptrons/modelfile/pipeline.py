"""A fitted pipeline as a header and arrays: every step by the table in `known_steps.py` and `nested_steps.py`.

A step is {"class", "params", "output", "fitted"}: parameters that are not the default, what `set_output` was told, and
what the step has learned, or null for one that is only a template. A model of this library
is what its own file would hold.
"""

import re
import warnings
from importlib import import_module
from inspect import signature
from typing import Any

import numpy as np
import sklearn
from sklearn.exceptions import NotFittedError

from perceptrons.modelfile import kernel, linear, sequence
from perceptrons.modelfile.contents import demand
from perceptrons.modelfile.known_steps import COMMON, LIMITS, Step, is_output
from perceptrons.modelfile.nested_steps import KNOWN, children
from perceptrons.modelfile.plain_values import ABSENT, UnwritableError, read_value, same, written

OUTPUT = "_sklearn_output_config"  # what set_output was told: templates have it too
ROOTS = ("Pipeline", "CalibratedClassifierCV")
MODELS: dict[str, Any] = {kind.ESTIMATOR.__name__: kind for kind in (linear, kernel, sequence)}
DEEPEST = 24  # steps inside steps
Where = tuple[str, ...]


class OtherVersionError(ValueError):
    """The file was written with a version of scikit-learn that has what the installed one does not."""


def check_goes_on(model: Any) -> None:
    """Whatever is wrong with a step is found when it is written."""


def contents(model: Any) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The header and the arrays. Raises TypeError for what cannot be saved, and NotFittedError."""
    writer = Writer()
    header = {"class": type(model).__name__, "sklearn": sklearn.__version__}
    return header | {"pipeline": writer.node(model, (), True)}, writer.arrays


def read(header: dict[str, Any], arrays: dict[str, np.ndarray]) -> Any:
    """The pipeline again, or an error of those that `load` expects of an unsound file."""
    version, told = header["sklearn"], header["pipeline"]
    demand(isinstance(version, str) and re.fullmatch(r"\d+\.\d+[\w.]{0,20}", version) is not None, "a version")
    demand(told["class"] == header["class"] and told["class"] in ROOTS, "a pipeline, or a calibrated model")
    model = Reader(arrays, version).node(told, fitted=True)
    if _minor(version) != _minor(sklearn.__version__):
        warnings.warn(
            f"This {header['class']} was saved with scikit-learn {version}, but scikit-learn {sklearn.__version__} "
            "is installed. Check its predictions, then save it again, or install the version it was saved with.",
            stacklevel=4,
        )
    return model


def _minor(version: str) -> list[str]:
    return version.split(".")[:2]


def found(name: str) -> tuple[Step, Any]:
    """How a class of this name is written, and the class itself."""
    step = KNOWN[name]
    return step, getattr(import_module(step.module), name)


def checked_params(estimator: Any, step: Step) -> None:
    """Raise an error for parameters that no sound file has."""
    step.check(estimator)
    for name, check in (LIMITS | step.limits).items():
        if hasattr(estimator, name) and not check(value := getattr(estimator, name), estimator):
            raise ValueError(f"{name}={repr(value)[:60]} cannot be in a model file")


def checked_state(estimator: Any, step: Step, state: dict[str, Any]) -> None:
    """Raise ValueError for something learned that no sound file has."""
    for name, check in (step.fitted | COMMON).items():
        value = state.get(name, ABSENT)
        seen = "none" if value is ABSENT else " ".join(repr(value).split())[:60]
        demand(check(value, estimator), f"a sound {name}, not {seen}")


def in_words(where: Where, estimator: Any) -> str:
    """Where an estimator is: step 'prepare', step 'scale'."""
    return ", ".join(part for part in where if part) or f"the {type(estimator).__name__}"


class Writer:
    """Estimators as JSON; their arrays are collected."""

    def __init__(self) -> None:
        self.arrays: dict[str, np.ndarray] = {}

    def node(self, estimator: Any, where: Where, fitted: bool) -> dict[str, Any]:
        """An estimator, with what it has learned or without."""
        name, here = type(estimator).__name__, in_words(where, estimator)
        if len(where) > DEEPEST:
            raise ValueError(f"{here}: steps are nested more than {DEEPEST} deep.")
        if name in MODELS and type(estimator) is MODELS[name].ESTIMATOR:
            return self._model(estimator, where, fitted)
        inner = len(where) > 0 and not where[-1].startswith("step")  # of a step, such as its names of columns
        if name not in KNOWN or type(estimator) is not found(name)[1] or (KNOWN[name].part and not inner):
            full = f"{type(estimator).__module__}.{name}" if name in KNOWN else name
            raise TypeError(f"{here} is a {full}, which cannot be saved safely: use one of {usable()}.")
        step, fitted = KNOWN[name], fitted or name == "FrozenEstimator"
        try:
            checked_params(estimator, step)
        except ValueError as error:
            raise type(error)(f"{here} ({name}): {error}") from error
        learned = step.learned(estimator) if fitted else ()
        told = {"class": name, "params": self._params(estimator, step, where, learned), "fitted": None}
        if OUTPUT in vars(estimator):
            told["output"] = self._value(estimator, OUTPUT, getattr(estimator, OUTPUT), where, None)
        if fitted:
            told["fitted"] = self._fitted(estimator, step, where)
        return told

    def _model(self, model: Any, where: Where, fitted: bool) -> dict[str, Any]:
        """A model of this library, as in its own file."""
        name, here = type(model).__name__, in_words(where, model)
        kind = MODELS[name]
        try:
            (kind.check_goes_on if fitted else kind.check_choices)(model)
            header, arrays = kind.contents(model) if fitted else ({}, {})
        except (TypeError, ValueError) as error:
            raise type(error)(f"{here} ({name}): {error}") from error
        if not fitted:
            return {"class": name, "params": self._params(model, Step(""), where, ()), "fitted": None}
        prefix = f"model {len(self.arrays)}."
        self.arrays |= {prefix + key: array for key, array in arrays.items()}
        return {"class": name, "params": {}, "fitted": {"model": header, "arrays": prefix}}

    def _params(self, estimator: Any, step: Step, where: Where, learned: tuple[str, ...]) -> dict[str, Any]:
        """The parameters that are not the default."""
        params = estimator.get_params(deep=False) if hasattr(estimator, "get_params") else {}
        usual, told = defaults(type(estimator)), {}
        for name, value in params.items():
            if not same(value, usual.get(name, ABSENT)):
                told[name] = self._value(estimator, name, value, where, name in learned if name in step.holds else None)
        return told

    def _fitted(self, estimator: Any, step: Step, where: Where) -> dict[str, Any]:
        """What was learned, once it is sure that all of it is known and can be read again."""
        name, here = type(estimator).__name__, in_words(where, estimator)
        params = set(estimator.get_params(deep=False)) if hasattr(estimator, "get_params") else set()
        has = {key: value for key, value in vars(estimator).items() if key not in params and key != OUTPUT}
        state = has if step.take is None else step.take(estimator)
        state = {key: state[key] for key in state if key not in step.derived}
        state |= {key: has[key] for key in COMMON if key in has}
        for key, check in step.fitted.items():
            if key not in state and not check(ABSENT, estimator):
                raise NotFittedError(f"{here} ({name}) is not fitted: call fit before you save it.")
        told = {key: self._value(estimator, key, value, where, True) for key, value in sorted(state.items())}
        if step.build is None:
            unknown = sorted(has.keys() - step.fitted.keys() - COMMON.keys() - set(step.derived))
            if unknown:
                raise TypeError(
                    f"{here} ({name}) has the attribute {unknown[0]!r}, which this version of perceptrons does not "
                    f"know: remove it, or use another version than scikit-learn {sklearn.__version__}."
                )
            try:
                checked_state(estimator, step, state)
                self._check_derived(estimator, step, has, state)
            except ValueError as error:
                raise ValueError(f"{here} ({name}) cannot be saved: {error}.") from error
        return told

    def _check_derived(self, estimator: Any, step: Step, has: dict[str, Any], state: dict[str, Any]) -> None:
        """Raise ValueError if what `load` would compute of the rest is not what the estimator has."""
        if step.derive is None:
            return
        twin = object.__new__(type(estimator))
        twin.__dict__ |= {key: value for key, value in vars(estimator).items() if key not in step.derived} | state
        step.derive(twin)
        for key in step.derived:
            if key in has and key in vars(twin) and not callable(has[key]):
                demand(same(has[key], getattr(twin, key)), f"{key} by its parameters, which were changed after fit")

    def _value(self, estimator: Any, name: str, value: Any, where: Where, fitted: bool | None) -> Any:
        """A parameter or an attribute. fitted: of estimators in it; None if there may be none."""
        labels = {} if fitted is None else {id(child): label or name for label, child in children(value)}

        def node(child: Any) -> dict[str, Any]:
            return self.node(child, (*where, labels.get(id(child), name)), bool(fitted))

        try:
            return written(value, self.arrays, None if fitted is None else node)
        except UnwritableError as error:
            raise TypeError(
                f"{in_words(where, estimator)} ({type(estimator).__name__}): {name} holds {error}, which cannot be "
                "saved safely: use numbers, strings, None, or lists of them."
            ) from error


class Reader:
    """Estimators from JSON and arrays. version: of the scikit-learn that wrote them."""

    def __init__(self, arrays: dict[str, np.ndarray], version: str) -> None:
        self.arrays, self.version = arrays, version
        self.depth = 0
        self.fitted: dict[int, Any] = {}  # all that have learned, by their address: kept, so that it stays theirs

    def node(self, told: Any, fitted: bool = False) -> Any:
        """An estimator. fitted: must it have learned?"""
        name = told["class"]
        demand(isinstance(name, str) and (name in MODELS or name in KNOWN), f"a known class, not {name!r:.60}")
        demand(isinstance(told["params"], dict), f"parameters of {name}")
        demand(not fitted or told["fitted"] is not None, f"a fitted {name}")
        self.depth += 1
        demand(self.depth <= DEEPEST + 1, f"steps nested at most {DEEPEST} deep")
        estimator = self._model(told, name) if name in MODELS else self._step(told, name)
        self.depth -= 1
        if told["fitted"] is not None:
            self.fitted[id(estimator)] = estimator
        return estimator

    def _model(self, told: Any, name: str) -> Any:
        kind = MODELS[name]
        if told["fitted"] is None:
            model = self._made(kind.ESTIMATOR, told["params"], ())
            kind.check_choices(model)
            return model
        prefix, header = told["fitted"]["arrays"], told["fitted"]["model"]
        demand(isinstance(prefix, str) and header["class"] == name, f"a {name}")
        arrays = {key.removeprefix(prefix): array for key, array in self.arrays.items() if key.startswith(prefix)}
        return kind.read(header, arrays)

    def _step(self, told: Any, name: str) -> Any:
        step, kind = found(name)
        if told["fitted"] is not None:
            demand(isinstance(told["fitted"], dict), f"what a {name} has learned")
            state = {str(key): read_value(value, self.arrays, self._learned) for key, value in told["fitted"].items()}
            if step.build is not None:
                return step.build(**state)
        estimator = self._made(kind, told["params"], step.holds)
        checked_params(estimator, step)
        if "output" in told:
            output = read_value(told["output"], {})
            demand(is_output(output), "an output that is known")
            setattr(estimator, OUTPUT, output)
        if told["fitted"] is None:
            return estimator
        unknown = state.keys() - step.fitted.keys() - COMMON.keys()
        if unknown:
            raise self._other_version(name, sorted(unknown)[0])
        estimator.__dict__ |= state
        checked_state(estimator, step, state)
        if step.derive is not None:
            step.derive(estimator)
        for held in step.learned(estimator):
            for label, child in children(getattr(estimator, held)):
                demand(id(child) in self.fitted, f"a fitted {label or type(child).__name__}")
        return estimator

    def _learned(self, told: Any) -> Any:
        return self.node(told, fitted=True)

    def _made(self, kind: Any, params: dict[str, Any], holds: tuple[str, ...]) -> Any:
        unknown = params.keys() - defaults(kind).keys()
        if unknown:
            raise self._other_version(kind.__name__, sorted(unknown)[0])
        return kind(
            **{
                name: read_value(value, self.arrays, self.node if name in holds else None)
                for name, value in params.items()
            }
        )

    def _other_version(self, kind: str, name: str) -> Exception:
        if _minor(self.version) == _minor(sklearn.__version__):
            return ValueError(f"a {kind} has no {name}")
        return OtherVersionError(
            f"was saved with scikit-learn {self.version}, whose {kind} has {name!r}, and scikit-learn "
            f"{sklearn.__version__} does not know it: install scikit-learn {'.'.join(_minor(self.version))}."
        )


def defaults(kind: Any) -> dict[str, Any]:
    """The parameters of a class, with their defaults."""
    parameters = signature(kind.__init__).parameters
    return {name: one.default for name, one in parameters.items() if name != "self" and one.kind != one.VAR_KEYWORD}


def usable() -> str:
    """The names of what a pipeline may be made of."""
    return ", ".join(sorted(name for name, step in KNOWN.items() if not step.part)) + " and " + ", ".join(MODELS)
