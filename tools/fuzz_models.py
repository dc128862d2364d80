"""Forge model files of every kind, pipelines among them, with a right checksum, and use whatever loads.

    PERCEPTRONS_BOUNDSCHECK=1 python -m tools.fuzz_models --seconds 600 --seed 0

A finding is anything but a refusal: `load` raises something else than ModelFileError, or a loaded model fails by an
error that the library did not raise itself, takes more than 20 seconds, is refused after it was saved again, or ends
the process. Steps of scikit-learn with forged arrays may raise ordinary errors of Python when they are used. Each
finding is printed with its seed; `--seed THAT --cases 1` does it again.
"""

import contextlib
import io
import json
import sys
import traceback
from pathlib import Path
from typing import Any

import numpy as np

import perceptrons
from perceptrons import ModelFileError, modelfile
from perceptrons.cli import main as command
from perceptrons.modelfile.pipeline import is_pipeline
from tools.forging import SAMPLES, Classes, Sample, forged
from tools.forging_pipelines import PIPELINES, forged_pipeline
from tools.forging_pipelines import uses as uses_of_pipeline
from tools.fuzzing import Case, Cases, FoundError, is_refusal, run, told

ALL = SAMPLES | PIPELINES
ERRORS_OF_STEPS = (ArithmeticError, AttributeError, LookupError, MemoryError, TypeError, ValueError)
WIDEST = 10_000  # columns of rows that are made for a model


def used(sample: Sample, path: Path) -> bool:
    """Load a file and do everything with the model; False if it was refused. Raises FoundError."""
    try:
        model: Any = perceptrons.load(path)
    except ModelFileError:
        return False
    except BaseException as error:
        raise FoundError(f"load: {told(error)}") from error
    if sample.model.__class__.__name__ == "StructuredPerceptron":
        model.set_params(model=Classes())
    X, y = (None, None) if is_pipeline(model) else examples(sample, model)
    uses = {
        "repr": lambda: (repr(model), model._repr_html_() if hasattr(model, "_repr_html_") else None),
        "attributes": lambda: [getattr(model, name, None) for name in dir(model) if name.endswith("_")],
        "inspect": lambda: inspected(path),
        "save": lambda: saved_again(model, path),
    }
    if is_pipeline(model):
        uses |= uses_of_pipeline(model, sample)
    if X is not None:
        uses |= {
            "predict": lambda: model.predict(X),
            "decision_function": lambda: model.decision_function(X) if hasattr(model, "decision_function") else None,
            "predict_one": lambda: [model.predict_one(x) for x in X[:3]],
            "explain": lambda: [str(model.explain(x)) for x in X[:2]] if hasattr(model, "explain") else None,
            "learn_one": lambda: [model.learn_one(x, label) for x, label in zip(X[:4], y[:4], strict=True)],
            "partial_fit": lambda: model.partial_fit(X, y),
            "predict after learning": lambda: (model.predict(X), model.predict_one(X[0])),
            "save after learning": lambda: saved_again(model, path),
        }
    for name, use in uses.items():
        try:
            use()
        except FoundError as error:
            raise FoundError(f"{name}: {error}") from error
        except BaseException as error:
            if not is_refusal(error) and not (is_pipeline(model) and is_error_of_step(error)):
                raise FoundError(f"{name}: {told(error)}") from error
    return True


def is_error_of_step(error: BaseException) -> bool:
    """Return whether this may come from a step with forged arrays: also a failed assertion, if scikit-learn made it."""
    if isinstance(error, AssertionError):
        raised_in = traceback.extract_tb(error.__traceback__)[-1].filename
        return "sklearn" in Path(raised_in).parts
    return isinstance(error, ERRORS_OF_STEPS)


def examples(sample: Sample, model: Any) -> tuple[Any, Any]:
    """Examples for a model: those of its sample, or rows as wide as it says it wants."""
    n = getattr(model, "n_features_in_", None)
    if sample.X is not None and (not hasattr(sample.X, "shape") or sample.X.shape[1] == n):
        return sample.X, sample.y
    if not isinstance(n, int) or not 0 < n <= WIDEST:
        return None, None
    rows = np.zeros((6, n))
    rows[:, :: max(1, n // 7)] = 1.0
    rows[:3] *= -1
    labels = model.classes_.tolist() if hasattr(model, "classes_") else [0]
    return rows, [labels[k % len(labels)] for k in range(6)]


def inspected(path: Path) -> None:
    """`perceptrons inspect`, in words and as JSON: it ends with 0 or 2."""
    for more in ([], ["--json"]):
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()) as complaint:
            code = command(["inspect", str(path), *more])
        if code not in (0, 2) or complaint.getvalue().count("\n") > 1:
            raise FoundError(f"exit code {code}: {complaint.getvalue()[-200:]}")


def saved_again(model: Any, path: Path) -> None:
    again = path.with_name("again")
    perceptrons.save(model, again)
    try:
        perceptrons.load(again)
    except ModelFileError as error:
        raise FoundError(f"it was saved, but is refused: {error}") from error


def begin(folder: Path) -> Cases:
    samples: dict[str, Any] = {}
    path = folder / "model"

    def case(draw: np.random.Generator) -> Case:
        name = list(ALL)[int(draw.integers(len(ALL)))]
        if name not in samples:
            made = ALL[name]()
            samples[name] = made, modelfile.kind_of(made.model).contents(made.model)
        sample, contents = samples[name]
        header, arrays, said = (forged_pipeline if is_pipeline(sample.model) else forged)(draw, *contents)
        path.write_bytes(modelfile.sealed(json.dumps(header), arrays))
        return Case(f"{name}: {'; '.join(said)}", lambda: used(sample, path))

    return case


if __name__ == "__main__":
    sys.exit(run("tools.fuzz_models", __doc__, "files", begin))
