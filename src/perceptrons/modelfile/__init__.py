"""Saves models to safe files: safetensors with a JSON header and a checksum, without pickle."""

import errno
import hashlib
import json
import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save as to_bytes

from perceptrons.engine.training.memory import TooLargeError
from perceptrons.kernel import KernelPerceptron
from perceptrons.linear import Perceptron
from perceptrons.modelfile import kernel, linear, pipeline, sequence, structured
from perceptrons.modelfile.contents import finite_number
from perceptrons.modelfile.whole_files import write_whole
from perceptrons.sequence import SequencePerceptron
from perceptrons.structured import StructuredPerceptron

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

FORMAT = 2
PLACE = "place."  # how the arrays of a checkpoint's place are called
KEY = "perceptrons"  # of the one metadata entry: safetensors writes several in random order
UNSOUND = (KeyError, IndexError, TypeError, ValueError, AttributeError, RecursionError, ArithmeticError)
AnyModel = Perceptron | KernelPerceptron | SequencePerceptron | StructuredPerceptron
KINDS: dict[str, Any] = {kind.ESTIMATOR.__name__: kind for kind in (linear, kernel, sequence, structured)}


class ModelFileError(ValueError):
    """The file is not a complete and valid model file of a supported version."""


def save(model: "AnyModel | BaseEstimator", path: str | os.PathLike[str]) -> None:
    """Save a fitted model or pipeline to one file. A loaded model can keep training as if it had never stopped.

    The file is written completely or not at all; an existing file is replaced. It contains no code: a model whose
    kernel is a function cannot be saved, and a loaded `StructuredPerceptron` must be given its model again.

    A scikit-learn `Pipeline`, `CalibratedClassifierCV`, `GridSearchCV` or ensemble is saved with everything in it, if
    all parts are of classes that this library trusts: scalers, encoders, imputers, `PCA`, `TfidfVectorizer`,
    `ColumnTransformer`, `HashedText` and more. Any other part raises a TypeError that names it.

    Examples
    --------
    >>> import perceptrons, pathlib, tempfile
    >>> model = perceptrons.Perceptron().fit([[0.0], [1.0]], ["no", "yes"])
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "model.perceptron"
    >>> perceptrons.save(model, path)
    >>> perceptrons.load(path).predict([[1.0]]).tolist()
    ['yes']
    """
    kind = kind_of(model)
    if kind is None:
        raise TypeError(f"Only a {' or a '.join((*KINDS, 'Pipeline'))} can be saved, not {type(model).__name__}.")
    path = Path(os.path.realpath(os.fsdecode(path)))  # a link is followed, not replaced
    if not path.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "the folder does not exist: create it first", str(path.parent))
    if path.exists() and not path.is_file():
        raise ModelFileError(f"{path}: this is a folder or a device, not a regular file: give another name.")
    write_whole(path, as_bytes(model))


def kind_of(model: Any) -> Any:
    """The module that writes and reads models of this type; None if they cannot be saved."""
    kind = KINDS.get(type(model).__name__)
    if kind is not None and type(model) is kind.ESTIMATOR:
        return kind
    return pipeline if pipeline.is_pipeline(model) else None


def as_bytes(model: Any, place: dict[str, Any] | None = None) -> bytes:
    """A model as the bytes of its file. place: for a checkpoint, where the run has come to; its arrays are kept too."""
    kind = kind_of(model)
    kind.check_goes_on(model)
    header, arrays = kind.contents(model)
    if place is not None:
        arrays |= {PLACE + name: value for name, value in place.items() if isinstance(value, np.ndarray)}
        header |= {"place": {name: value for name, value in place.items() if not isinstance(value, np.ndarray)}}
    return sealed(json.dumps(header, sort_keys=True, allow_nan=False), arrays)


def load(path: str | os.PathLike[str]) -> "AnyModel | BaseEstimator":
    """Load a model written by `save`, without running any code of the file. Raises ModelFileError for anything else."""
    return load_with_header(path)[0]


def load_with_header(path: str | os.PathLike[str]) -> tuple[Any, dict[str, Any]]:
    """`load`, and all that the header says."""
    path = Path(os.fsdecode(path))
    try:
        check_ordinary(path)
        with safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
            if KEY not in metadata:
                raise ModelFileError(f"{path}: this is a safetensors file, but not a model of perceptrons.")
            seal = json.loads(metadata[KEY])
            if seal["format"] != FORMAT:
                raise ModelFileError(
                    f"{path}: format version {seal['format']!r}, but this library reads version {FORMAT}: "
                    "use the version of perceptrons that wrote it."
                )
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (safe_open is no dict)
    except FileNotFoundError:
        raise
    except (SafetensorError, OSError, *UNSOUND) as error:
        if isinstance(error, ModelFileError):
            raise
        advice = "give a file that perceptrons.save or train -o wrote"
        raise ModelFileError(f"{path}: not a model file, or a truncated one ({error}): {advice}.") from error
    try:
        header = str(seal["header"])
        if seal["sha256"] != _checksum(header, arrays):
            raise ModelFileError(f"{path}: the checksum does not match: the file was altered or damaged.")
        content = json.loads(header, parse_constant=finite_number, parse_float=finite_number)
        kind = pipeline if "sklearn" in content else KINDS.get(content["class"])
        if kind is None:
            raise ValueError(f"unknown class {content['class']!r}")
        of_place = {name.removeprefix(PLACE): arrays.pop(name) for name in list(arrays) if name.startswith(PLACE)}
        if of_place:
            content["place"] = dict(content["place"]) | of_place
        return kind.read(content, arrays), content
    except ModelFileError:
        raise
    except (TooLargeError, pipeline.OtherVersionError) as error:
        raise ModelFileError(f"{path}: {error}") from error
    except UNSOUND as error:
        why = " ".join(str(error).split())  # scikit-learn has reasons of several lines
        raise ModelFileError(f"{path}: the contents do not fit together ({why}).") from error
    except MemoryError as error:
        raise ModelFileError(f"{path}: the model needs more memory than there is.") from error


def check_ordinary(path: Path) -> None:
    """Raise ModelFileError for a folder, or for a pipe or device, which might never answer."""
    kind = path.stat().st_mode
    if stat.S_ISDIR(kind):
        raise ModelFileError(f"{path}: this is a folder, not a model file.")
    if not stat.S_ISREG(kind):
        raise ModelFileError(f"{path}: this is a pipe or a device, not a model file. Copy the model to a file first.")


def sealed(header: str, arrays: dict[str, np.ndarray]) -> bytes:
    """The bytes of a file: the arrays, and as metadata format version, header and a checksum over header and arrays."""
    seal = {"format": FORMAT, "header": header, "sha256": _checksum(header, arrays)}
    return to_bytes(arrays, metadata={KEY: json.dumps(seal, sort_keys=True)})


def _checksum(header: str, arrays: dict[str, np.ndarray]) -> str:
    digest = hashlib.sha256(header.encode())
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        digest.update(f"{name} {array.dtype.str} {array.shape}".encode())
        digest.update(array.data if array.size else b"")
    return digest.hexdigest()
