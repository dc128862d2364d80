"""Saves models to safe files: safetensors with a JSON header and a checksum, without pickle."""

import errno
import hashlib
import json
import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save as to_bytes

from perceptrons.engine.training.memory import TooLargeError
from perceptrons.kernel import KernelPerceptron
from perceptrons.linear import Perceptron
from perceptrons.modelfile import kernel, linear, pipeline, sequence, structured
from perceptrons.modelfile.contents import Codec, Content, Header, finite_number
from perceptrons.modelfile.whole_files import write_whole
from perceptrons.sequence import SequencePerceptron
from perceptrons.structured import StructuredPerceptron

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

FORMAT = 2
PLACE = "place."  # prefix of the arrays that say where a checkpoint is in the data
KEY = "perceptrons"  # of the only metadata entry, because safetensors writes several in random order
INVALID_FILE = (KeyError, IndexError, TypeError, ValueError, AttributeError, RecursionError, ArithmeticError)
AnyModel = Perceptron | KernelPerceptron | SequencePerceptron | StructuredPerceptron
KINDS: dict[str, Codec] = {
    "Perceptron": linear, "KernelPerceptron": kernel, "SequencePerceptron": sequence,
    "StructuredPerceptron": structured,
}  # fmt: skip


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


def kind_of(model: object) -> Codec | None:
    """Return the module that writes and reads models of this type, or None if they cannot be saved."""
    if type(model) in get_args(AnyModel):
        return KINDS[type(model).__name__]
    return pipeline if pipeline.is_pipeline(model) else None


def as_bytes(model: Any, place: Header | None = None) -> bytes:
    """Return a model as the bytes of its file. place: the position of a checkpoint in the data."""
    kind = kind_of(model)
    assert kind is not None
    header, arrays = kind.contents(model)
    if place is not None:
        arrays |= {PLACE + name: value for name, value in place.items() if isinstance(value, np.ndarray)}
        header |= {"place": {name: value for name, value in place.items() if not isinstance(value, np.ndarray)}}
    return sealed(json.dumps(header, sort_keys=True, allow_nan=False), arrays)


def load(path: str | os.PathLike[str]) -> "AnyModel | BaseEstimator":
    """Load a model written by `save`, without running any code of the file. Raises ModelFileError for anything else."""
    return load_with_header(path)[0]


def load_with_header(path: str | os.PathLike[str]) -> tuple[Any, Header]:
    """Load a model, and return it with the header of its file."""
    path = Path(os.fsdecode(path))
    try:
        check_regular_file(path)
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
    except (SafetensorError, OSError, *INVALID_FILE) as error:
        if isinstance(error, ModelFileError):
            raise
        advice = "give a file that perceptrons.save or train -o wrote"
        raise ModelFileError(f"{path}: not a model file, or a truncated one ({error}): {advice}.") from error
    try:
        header = str(seal["header"])
        if seal["sha256"] != _checksum(header, arrays):
            raise ModelFileError(f"{path}: the checksum does not match: the file was altered or damaged.")
        fields = json.loads(header, parse_constant=finite_number, parse_float=finite_number)
        kind = pipeline if "sklearn" in fields else KINDS.get(fields["class"])
        if kind is None:
            raise ValueError(f"unknown class {fields['class']!r}")
        place_arrays = {name.removeprefix(PLACE): arrays.pop(name) for name in list(arrays) if name.startswith(PLACE)}
        if place_arrays:
            fields["place"] = dict(fields["place"]) | place_arrays
        return kind.read(Content(fields, arrays)), fields
    except ModelFileError:
        raise
    except (TooLargeError, pipeline.OtherVersionError) as error:
        raise ModelFileError(f"{path}: {error}") from error
    except INVALID_FILE as error:
        reason = " ".join(str(error).split())  # of scikit-learn, it may have several lines
        raise ModelFileError(f"{path}: the contents do not fit together ({reason}).") from error
    except MemoryError as error:
        raise ModelFileError(f"{path}: the model needs more memory than there is.") from error


def check_regular_file(path: Path) -> None:
    """Raise ModelFileError for a folder, or for a pipe or device, which might block."""
    mode = path.stat().st_mode
    if stat.S_ISDIR(mode):
        raise ModelFileError(f"{path}: this is a folder, not a model file.")
    if not stat.S_ISREG(mode):
        raise ModelFileError(f"{path}: this is a pipe or a device, not a model file. Copy the model to a file first.")


def sealed(header: str, arrays: dict[str, np.ndarray]) -> bytes:
    """Return the bytes of a file: the arrays, and as metadata the format version, the header and a checksum of both."""
    seal = {"format": FORMAT, "header": header, "sha256": _checksum(header, arrays)}
    return to_bytes(arrays, metadata={KEY: json.dumps(seal, sort_keys=True)})


def _checksum(header: str, arrays: dict[str, np.ndarray]) -> str:
    digest = hashlib.sha256(header.encode())
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        digest.update(f"{name} {array.dtype.str} {array.shape}".encode())
        digest.update(array.data if array.size else b"")
    return digest.hexdigest()
